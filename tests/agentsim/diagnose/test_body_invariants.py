"""What holds of every verdict by bodies, whatever a client sends and whatever a provider says that it read."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.relax import judge_bodies
from tests.agentsim.prompts import block, prompt, request, session

HEAD = (block("tool", 1_500, "tools"), block("rules", 2_500, "system", role=None))

STEP = 128
"""Tokens in which reads of the automatic cache are counted."""

UNSEEN = frozenset({"AS503", "AS501"})
"""Causes outside the model: another host's cache, another request in flight."""


class Turn(NamedTuple):
    """What a client does before a request, and what the provider says that it read."""

    pause: int
    change: str
    at: int
    marked: bool
    model: str
    effort: str | None
    read: str


turns = st.lists(
    st.builds(
        Turn,
        pause=st.sampled_from([5, 60, 299, 301, 4_000]),
        change=st.sampled_from(["grow"] * 6 + ["edit", "remove", "insert", "swap", "cut", "head", "tool"]),
        at=st.integers(0, 12),
        marked=st.sampled_from([True] * 6 + [False]),
        model=st.sampled_from(["main"] * 8 + ["other"]),
        effort=st.sampled_from([None] * 6 + ['"high"']),
        read=st.sampled_from(["by the rules"] * 5 + ["nothing", "the head", "all before", "something"]),
    ),
    min_size=2,
    max_size=10,
)


def changed(blocks: list[Block], turn: Turn, number: int) -> list[Block]:
    """The blocks after what a client did to them; a new turn of two blocks is added in any case."""
    found = list(blocks)
    at = len(HEAD) + turn.at % max(1, len(found) - len(HEAD))
    if turn.change == "head":
        found[1] = block(f"rules {number}", 2_600, "system", role=None)
    elif turn.change == "tool":
        found.insert(1, block(f"tool {number}", 700, "tools"))
    elif at < len(found) and found[at].section == "messages":
        if turn.change == "edit":
            found[at] = block(f"edited {number}", 650)
        elif turn.change == "remove":
            del found[at]
        elif turn.change == "insert":
            found.insert(at, block(f"inserted {number}", 300))
        elif turn.change == "swap" and at + 1 < len(found):
            found[at], found[at + 1] = found[at + 1], found[at]
        elif turn.change == "cut":
            del found[at:]
    return [*found, block(f"said {number}", 400, role="assistant"), block(f"asked {number}", 800)]


def lived(asked: list[Turn], models: dict[str, str], provider: str) -> Session:
    """A conversation whose counters are what each turn says, within what can be counted."""
    requests: list[Request] = []
    blocks, at, warm, before = list(HEAD), 0, 0, 0
    for number, turn in enumerate(asked):
        at += turn.pause
        blocks = changed(blocks, turn, number)
        marks = [len([one for one in blocks if one.section != "messages"]) - 1, len(blocks) - 1]
        body = prompt(blocks, *(marks if turn.marked and provider == "anthropic" else ()))
        plain = request(f"r{number}", at, body, model=models[turn.model], lasts=4)
        plain = msgspec.structs.replace(
            plain,
            provider=provider,
            parent=f"r{number - 1}" if number else None,
            settings=(("effort", turn.effort),) if turn.effort else (),
        )
        told = judge_bodies(session([*requests, plain]))[-1].predicted or 0
        total = body.tokens
        front = requests[-1].prompt.common_length(body) if requests and requests[-1].prompt is not None else 0
        read = {
            "by the rules": told,
            "nothing": 0,
            "the head": 4_000 if front >= 2 else 0,
            "all before": min(warm, total),
            "something": min(before + 700, total),
        }[turn.read]
        read = min(read, total)
        write = total - read if turn.marked and provider == "anthropic" else 0
        usage = Usage(fresh=total - read - write, write_short=write if provider == "anthropic" else None, read=read)
        requests.append(msgspec.structs.replace(plain, usage=usage))
        warm, before = (read + write) or warm, read
    return session(requests)


def left_of(old: Prompt, new: Prompt) -> int:
    """Tokens of blocks of one prompt that are in the other."""
    mine = Counter(old[at].digest for at in range(len(old)))
    kept = 0
    for at in range(len(new)):
        if mine[new[at].digest] > 0:
            mine[new[at].digest] -= 1
            kept += new[at].tokens or 0
    return kept


def holds(found: Session, verdicts: tuple[Verdict, ...], marked: bool) -> None:
    by_id = {one.id: one for one in found.requests}
    for one, verdict in zip(found.requests, verdicts, strict=True):
        usage, body = one.usage, one.prompt
        assert usage is not None
        assert body is not None
        read = usage.read or 0
        told = f"{one.id}: {verdict}"
        assert 0 <= verdict.lost <= (usage.write or 0) + (usage.fresh or 0), told
        if verdict.kind not in ("miss", "recovered"):
            continue
        before = by_id[verdict.compared_with or ""]
        assert before.prompt is not None
        replaced = 2_600 if verdict.place is not None and verdict.place.section != "messages" else 0
        assert verdict.lost <= max(left_of(before.prompt, body), replaced), told
        if marked and before.usage is not None and before.prompt.common_length(body) == len(before.prompt):
            warm = (before.usage.read or 0) + (before.usage.write or 0)
            assert read < warm or not warm, f"all that was left was read: {told}"
        assert verdict.evidence != "implied" or not verdict.alternatives, told
        assert verdict.cause not in verdict.alternatives, told
        if verdict.evidence == "proved" and verdict.cause not in UNSEEN and marked:
            assert verdict.predicted is not None
            assert abs(verdict.predicted - read) * 100 <= read, told
        if not marked:
            common = before.prompt.common_length(body)
            if common == len(before.prompt):
                assert read < before.prompt.tokens - STEP, f"all that was left was read: {told}"
            if verdict.evidence == "proved":
                # What stands in front of the change, or what the model of the cache says: to a step, and its end.
                foretold = (verdict.predicted or 0, before.prompt.tokens_until(common))
                assert min(abs(one - read) for one in foretold) <= 2 * STEP, told


@given(turns)
def test_breakpoints(asked: list[Turn]) -> None:
    found = lived(asked, {"main": "claude-opus-4-8", "other": "claude-opus-5"}, "anthropic")
    holds(found, judge_bodies(found), marked=True)


@given(turns)
def test_automatic_caches(asked: list[Turn]) -> None:
    found = lived(asked, {"main": "gpt-5.1", "other": "gpt-5.4"}, "openai")
    holds(found, judge_bodies(found), marked=False)


@pytest.mark.parametrize("change", ["model", "effort", "host", "pause"])
def test_a_request_that_reads_all_that_was_left_is_never_a_miss(change: str) -> None:
    blocks = [*HEAD, block("asked", 800)]
    one = request("r0", 0, prompt(blocks, 1, 2), usage=Usage(fresh=2, write_short=4_800, read=0))
    more = prompt([*blocks, block("said", 400, role="assistant"), block("more", 800)], 1, 4)
    two = request("r1", 4_000 if change == "pause" else 20, more, usage=Usage(fresh=2, write_short=1_200, read=4_800))
    fields: dict[str, dict[str, Any]] = {
        "model": {"model": "claude-opus-5"},
        "effort": {"settings": (("effort", '"high"'),)},
        "host": {"host": "b"},
    }
    one = msgspec.structs.replace(one, host="a")
    two = msgspec.structs.replace(two, host="a", parent="r0")
    two = msgspec.structs.replace(two, **fields.get(change, {}))
    assert judge_bodies(session([one, two]))[1].kind == "hit"
