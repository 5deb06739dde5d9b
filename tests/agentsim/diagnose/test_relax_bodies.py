"""Whole request bodies, judged: public reports by number, a real capture, and anything that fits together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentsim.bodies import MessagesReader
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.core.session import Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.relax import judge_bodies
from agentsim.traces.readers.claude_trace import read_sessions
from tests.agentsim.prompts import block, request, session

MARK = {"cache_control": {"type": "ephemeral"}}
LONG = "The rules of the house. " * 800
"""A system text of some 4,000 tokens: above every minimum that matters here."""


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def judge(*bodies: dict[str, Any], gap: int = 20) -> tuple[Verdict, ...]:
    """The verdicts on bodies sent one after the other in one lane, with estimated sizes and without reported usage."""
    reader = MessagesReader()
    requests = []
    before: Prompt | None = None
    for number, body in enumerate(bodies):
        read = reader.read({"model": "claude-opus-4-8", "system": [text(LONG, **MARK)], **body}, before)
        before = read.prompt
        one = request(str(number), gap * number, read.prompt, settings=dict(read.settings))
        requests.append(one)
    return judge_bodies(session(requests))


def turns(*messages: tuple[str, Any]) -> dict[str, Any]:
    """A body whose last message carries a breakpoint."""
    found = [{"role": role, "content": content} for role, content in messages]
    last = found[-1]["content"]
    blocks = [text(last)] if isinstance(last, str) else list(last)
    blocks[-1] = {**blocks[-1], **MARK}
    return {"messages": [*found[:-1], {**found[-1], "content": blocks}]}


def test_c24_a_context_block_that_moves_on_with_every_turn():
    ask, answer = "What is in the file? " * 50, "Nothing. " * 50
    first = turns(("user", [text(ask), text("ctx 10:01")]))
    second = turns(("user", [text(ask)]), ("assistant", [text(answer)]), ("user", [text(ask + "2"), text("ctx 10:02")]))
    verdict = judge(first, second)[1]
    assert (verdict.kind, verdict.cause, verdict.alternatives) == ("miss", "AS306", ("AS123",)), (
        "the marker stood on it"
    )
    assert verdict.place is not None
    assert verdict.place.address == "messages[0].content[1]"
    assert verdict.predicted is not None
    assert verdict.predicted > 0  # the system text is read all the same


def test_c25_the_hash_that_a_client_puts_in_front_is_no_difference_for_anthropic():
    talk = [("user", "question"), ("assistant", "answer"), ("user", "more")]
    bodies = [
        {**turns(*talk[:length]), "system": [text(f"x-client: 1; cch={cch}; {LONG}", **MARK)]}
        for length, cch in ((1, "36ee5"), (3, "0aaa9"))
    ]
    assert [v.kind for v in judge(*bodies)] == ["first", "hit"]


def test_c37_one_early_message_edited_in_place():
    pad = "scratchpad: step number one. " + "note " * 1_000
    history = [("assistant", "I go on. " * 200), ("user", "Do so. " * 200)] * 20
    verdict = judge(
        turns(("user", "task " * 100), ("assistant", pad), *history[1:], ("user", "go")),
        turns(
            ("user", "task " * 100), ("assistant", pad.replace("one", "two")), *history[1:], ("user", "go"), *history
        ),
    )[1]
    assert (verdict.kind, verdict.cause) == ("miss", "AS120")
    assert verdict.place is not None
    assert (verdict.place.address, verdict.place.offset) == ("messages[1].content", pad.index("one"))
    assert verdict.lost > 0.8 * (verdict.expected or 0) - (verdict.predicted or 0)


def test_c38_white_space_is_lost_when_the_breakpoint_moves_on():
    rows = "file1\nfile2\n" * 40
    first = turns(("user", [text(rows)]))
    second = turns(("user", rows.strip()), ("assistant", "Two files. " * 40), ("user", "Which? " * 40))
    verdict = judge(first, second)[1]
    assert (verdict.kind, verdict.cause) == ("miss", "AS128")
    assert verdict.place is not None
    assert (verdict.place.change, verdict.place.section) == (
        "whitespace",
        "messages",
    )


def test_c40_another_provider_has_another_cache():
    reader = MessagesReader()
    prompt = reader.prompt({"model": "m", "system": [text(LONG, **MARK)], **turns(("user", "hello"))})
    one = request("a", 0, prompt)
    two = request("b", 20, prompt)
    two = type(two)(**{f: getattr(two, f) for f in two.__struct_fields__ if f != "provider"}, provider="openrouter")
    verdict = judge_bodies(session([one, two]))[1]
    assert (verdict.kind, verdict.cause, verdict.lost) == ("miss", "AS503", prompt.tokens)


def test_a_summary_call_with_other_tools_and_the_first_request_after_it(shared_data: Path):
    """In this capture request 34 sends the conversation with 1 tool instead of 17: nothing is read, 12,072 written."""
    (path,) = (shared_data / "claude-trace").glob("*.jsonl")
    (found,) = read_sessions([str(path)])
    verdicts = dict(zip([one.id for one in found.requests], judge_bodies(found), strict=True))
    main = [one for one in found.requests if one.lane == "main" and one.usage is not None]
    summary = next(one for one in main if one.usage is not None and one.usage.write == 12_072)
    verdict = verdicts[summary.id]
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", "AS102", "proved")
    assert verdict.place is not None
    assert (verdict.place.address, verdict.place.name) == ("tools[0]", "Task")
    after = next(one for one in main if one.usage is not None and one.usage.write == 8_284)
    assert verdicts[after.id].kind == "compaction"
    # Nothing else was lost in the main lane, and every other read was foretold to the token.
    rest = [verdicts[one.id] for one in main if one.id not in (summary.id, after.id)]
    assert {(v.kind, v.prediction) for v in rest} == {("first", "none"), ("hit", "exact")}


steps = st.lists(
    st.tuples(
        st.integers(0, 400),  # seconds since the one before
        st.lists(st.sampled_from("abcdefg"), max_size=8),  # blocks
        st.lists(st.tuples(st.integers(0, 8), st.sampled_from([300, 3600])), max_size=5),  # breakpoints
        st.sampled_from(["main", "side"]),
        st.sampled_from(["claude-opus-4-8", "claude-fable-5-1", "gpt-9", ""]),
        st.sampled_from([None, "string", "list"]),  # shape
        st.sampled_from([None, '"low"', '"high"']),  # effort
        st.none() | st.tuples(*[st.none() | st.integers(0, 9_000)] * 3),  # reported fresh, written, read
    ),
    max_size=12,
)


@given(steps=steps)
def test_whatever_comes_gets_a_verdict_that_adds_up(steps):
    requests, at = [], 0
    for number, (pause, names, markers, lane, model, shape, effort, counters) in enumerate(steps):
        at += pause
        usage = None
        if counters is not None:
            usage = Usage(fresh=counters[0], write_short=counters[1], read=counters[2])
        body = Prompt.of(
            [block(name, 900, shape=shape, message=0, text=f"text {name}") for name in names],
            [Breakpoint(min(p, len(names) - 1), ttl) for p, ttl in markers if names],
        )
        settings = {} if effort is None else {"effort": effort}
        requests.append(
            request(str(number), at, body, model=model, lane=lane, settings=settings, usage=usage, lasts=pause or None)
        )
    found = session(requests)
    verdicts = judge_bodies(found)
    assert [v.request for v in verdicts] == [one.id for one in requests]
    assert judge_bodies(found) == verdicts
    for one, verdict in zip(requests, verdicts, strict=True):
        assert verdict.lost >= 0
        assert verdict.kind != "miss" or (verdict.cause and verdict.evidence and verdict.lost > 0)
        assert verdict.kind not in ("hit", "first", "shorter", "extended") or verdict.lost == 0
        if one.usage is None and verdict.predicted is not None and one.prompt is not None:
            assert verdict.predicted + verdict.lost <= one.prompt.tokens
            assert verdict.prediction == "none"
        assert one.start is not None
        assert one.start % SECOND == 0


def test_a_parent_that_reported_nothing_cached_loses_nothing_without_breakpoints() -> None:
    first, second = (
        request(
            name,
            at,
            Prompt.of([block("a", 3_000), block("b", 3_000)], markers),
            usage=Usage(fresh=6_000, write_short=0, read=0),
        )
        for name, at, markers in (("1", 0, [Breakpoint(1, 300)]), ("2", 20, []))
    )
    verdict = judge_bodies(session([first, second]))[1]
    assert (verdict.kind, verdict.lost) == ("uncached", 0)
