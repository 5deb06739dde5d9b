"""What holds for every policy on any session: drawn sessions of several lanes that grow, change and pause."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request, Session
from agentsim.whatif.comparison import compare
from agentsim.whatif.policies import NAMES, Policy, every_policy, policy
from agentsim.whatif.policy_simulation import in_order
from tests.agentsim.whatif.policies.small import block, request, rows, session, tool

FORCED = (("tool_choice", '{"name":"t","type":"tool"}'),)
LOW = (("effort", '"low"'),)


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    """Up to ten requests in up to three lanes."""
    requests: list[Request] = []
    histories: dict[str, list[Block]] = {}
    when = 0.0
    count = draw(st.integers(1, 10))
    for number in range(count):
        lane = draw(st.sampled_from(["main", "main", "main", "a", "b"]))
        when += draw(st.sampled_from([0, 1, 20, 60, 290, 320, 1_500, 4_000]))
        history = list(histories.get(lane, histories.get("main", []) if lane != "main" else []))
        change = draw(st.sampled_from(["grow"] * 6 + ["edit", "clear", "cut", "burst"]))
        if change == "edit" and history:
            place = draw(st.integers(0, len(history) - 1))
            history[place] = block(f"edited {number}", history[place].tokens or 0, text=f"a\nnow {number}\nb")
        elif change == "clear" and history:
            history[0] = block(f"cleared {number}", 5)
        elif change == "cut":
            history = [block(f"summary {number}", 700)]
        parts = 25 if change == "burst" else draw(st.integers(0, 3))
        for part in range(parts):
            tokens = draw(st.sampled_from([0, 40, 1_500, 9_000, 90_000]))
            kind = draw(st.sampled_from(["text", "text", "tool_use", "tool_result"]))
            name = draw(st.sampled_from(["read", "query", f"part {number}.{part}"]))
            history.append(block(f"{lane} {number} {part}", tokens, kind=kind, name=name, message=number, part=part))
        histories[lane] = history
        names = draw(st.sampled_from([["read", "edit"]] * 6 + [["edit", "read"], ["read", "query", "edit"], []]))
        system = block(f"system {draw(st.sampled_from(['x'] * 8 + ['y']))}", 1_800, "system", text="line\nand line")
        blocks = [*(tool(name, 600) for name in names), system, *history]
        marks = draw(st.sets(st.integers(0, len(blocks) - 1), max_size=3)) | {len(blocks) - 1}
        if draw(st.integers(0, 9)) == 0:
            marks = set()
        purpose = draw(st.sampled_from(["main", "main", "summary"])) if lane == "main" else "subagent"
        requests.append(
            request(
                f"r{number}",
                when,
                blocks,
                tuple(marks),
                lane=lane,
                ttl=draw(st.sampled_from([300, 300, 300, 3_600])),
                took=draw(st.sampled_from([2, 10, 150])),
                purpose=purpose,
                output=draw(st.integers(0, 500)),
                settings=draw(st.sampled_from([(), (), (), (), FORCED, LOW])),
                model=draw(st.sampled_from(["claude-opus-4-8"] * 9 + ["claude-haiku-4-5"])),
                stop_reason=draw(st.sampled_from(["tool_use", "end_turn"])),
            )
        )
    return session(*requests)


def shown(prompt: Prompt | None) -> list[bytes]:
    return [] if prompt is None else [one.digest for one in prompt]


def applied(name: str, drawn: Session) -> tuple[Policy, Session] | None:
    found = policy(name)
    return None if found.applies(drawn) is not None else (found, found.rewrite(drawn))


@settings(max_examples=40)
@given(drawn=sessions())
def test_a_policy_rewrites_the_workload_and_never_the_answer(drawn: Session) -> None:
    before = msgspec.structs.replace(drawn)
    digests = [shown(r.prompt) for r in drawn.requests]
    for name in NAMES:
        found = applied(name, drawn)
        if found is None:
            continue
        tried, rewritten = found
        kept = {r.id: r for r in rewritten.requests}
        for request_ in drawn.requests:
            if name == "compact-later" and request_.purpose == "summary":
                continue  # what is not compacted needs no summary
            after = kept[request_.id]
            # The answer, and who asked, stay as they were recorded.
            for field in ("usage", "iterations", "diagnosis", "stop_reason", "lane", "purpose", "counted", "source"):
                assert getattr(after, field) == getattr(request_, field)
            if tried.changes is None:
                assert shown(after.prompt) == shown(request_.prompt)
                assert (after.prompt or Prompt.of([])).tokens == (request_.prompt or Prompt.of([])).tokens
        # Extra requests have ids of their own.
        assert len(kept) == len(rewritten.requests)
    # The session given is as it was.
    assert drawn == before
    assert [shown(r.prompt) for r in drawn.requests] == digests


@settings(max_examples=40)
@given(drawn=sessions())
def test_what_a_policy_makes_can_be_sent_and_costs_something(drawn: Session) -> None:
    for name in NAMES:
        found = applied(name, drawn)
        if found is None:
            continue
        tried, rewritten = found
        for row in rows(rewritten):
            prompt = row.request.prompt
            assert prompt is not None
            assert row.usage.total_input == prompt.tokens  # refused requests would have consumed nothing
            assert row.cost is not None
            assert row.cost >= 0
            assert min(row.usage.fresh or 0, row.usage.read or 0, row.usage.write or 0) >= 0
        assert tried.rewrite(drawn) == rewritten  # again, the same


def cost_under(drawn: Session, policies: Sequence[Policy]) -> int:
    """What a session costs, rewritten by one policy after the other."""
    for tried in in_order(policies):
        if tried.applies(drawn) is None:
            drawn = tried.rewrite(drawn)
    return sum(row.cost or 0 for row in rows(drawn) if row.request.counted)


@settings(max_examples=15)
@given(drawn=sessions())
def test_a_combined_saving_is_simulated_and_not_summed(drawn: Session) -> None:
    names = [name for name in NAMES if name not in ("marker-best",)]
    comparison = compare(drawn, names, combine=True)
    combined = comparison.combined
    assert combined is not None
    policies = [step.policy for step in combined.steps]
    cost = cost_under(drawn, policies)
    assert combined.sums.cost == cost
    assert combined.saving == comparison.recorded.cost - cost
    # No step can be left out for less, though one may pay only with another; the last one's sum is all of it.
    for gone in policies:
        assert cost_under(drawn, [other for other in policies if other is not gone]) >= cost
    together = 0
    for step in combined.steps:
        assert step.added is not None
        together += step.added
        assert step.together == together
    assert together == combined.saving
    # No two decide the same.
    slots = [slot for step in combined.steps for slot in step.policy.slots]
    assert len(slots) == len(set(slots))
    # No single policy saves more than the best together.
    assert all((outcome.saving or 0) <= together for outcome in comparison.outcomes)


@settings(max_examples=10)
@given(drawn=sessions())
def test_the_same_comparison_twice(drawn: Session) -> None:
    assert compare(drawn, combine=True) == compare(drawn, combine=True)


@settings(max_examples=10)
@given(drawn=sessions())
def test_rows_without_bodies_can_be_compared_too(drawn: Session) -> None:
    bare = tuple(msgspec.structs.replace(r, prompt=None, settings=()) for r in drawn.requests)
    comparison = compare(msgspec.structs.replace(drawn, requests=bare, completeness="usage"))
    assert comparison.calibration.rebuilt == comparison.calibration.rows
    needy = {p.name for p in every_policy() if p.needs_bodies}
    assert not needy & {outcome.policy.name for outcome in comparison.outcomes}
