"""Sessions as no harness would send them: a comparison answers, or says in words why it cannot."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.session import Lane, Request, Session, Usage
from agentsim.whatif.comparison import compare
from agentsim.whatif.policies import every_policy
from agentsim.whatif.policy_simulation import CannotSimulate
from tests.agentsim.whatif.policies.small import TEN, block, tool

COUNTS = st.one_of(st.none(), st.sampled_from([0, 1, 20_000, 10**15]))
TIMES = st.one_of(st.none(), st.sampled_from([0, TEN, TEN + 1, TEN + 400 * 10**9, 10**20, -(10**18)]))
KINDS = [
    tool("read", 600),
    tool("", 0),
    block("system", 1_800, "system"),
    block("text", 5_000, message=1),
    block("more", 5_000, message=1),
    block("call", 10, kind="tool_use", name="read"),
    msgspec.structs.replace(block("unknown", 0), tokens=None, role=None, text=None),
]


@st.composite
def requests(draw: st.DrawFn) -> Request:
    blocks: list[Block] = draw(st.lists(st.sampled_from(KINDS), max_size=30))
    prompt = None
    if draw(st.integers(0, 5)):
        count = len(blocks)
        places = draw(st.lists(st.integers(0, count - 1), max_size=6)) if count else []
        prompt = Prompt.of(blocks, [Breakpoint(p, draw(st.sampled_from([0, 300, 3_600, 10**9]))) for p in places])
    usage = Usage(fresh=draw(COUNTS), write_short=draw(COUNTS), read=draw(COUNTS), output=draw(COUNTS))
    return Request(
        id=draw(st.sampled_from(["a", "b", "c", "d", "\x1b[2J"])),
        lane=draw(st.sampled_from(["main", "x"])),
        parent=draw(st.sampled_from([None, "a", "b", "nobody"])),
        model=draw(st.sampled_from(["claude-opus-4-8"] * 5 + ["claude-haiku-4-5", "gpt-5.4", "nobody-1"])),
        provider=draw(st.sampled_from(["anthropic"] * 30 + ["openai", "nobody"])),
        purpose=draw(st.sampled_from(["main", "main", "subagent", "summary", "helper"])),
        start=draw(TIMES),
        first_token=draw(TIMES),
        end=draw(TIMES),
        prompt=prompt,
        usage=draw(st.sampled_from([usage, usage, None])),
        settings=draw(st.sampled_from([(), (("tool_choice", '{"type":"any"}'),), (("effort", "{"),)])),
        counted=draw(st.booleans()),
        stop_reason=draw(st.sampled_from([None, "tool_use", "?"])),
    )


@settings(max_examples=100)
@given(
    drawn=st.lists(requests(), max_size=7),
    completeness=st.sampled_from(["full", "full", "messages", "usage"]),
)
def test_nothing_in_a_session_ends_a_comparison_in_a_crash(drawn: list[Request], completeness) -> None:
    lanes = (Lane(id="main", title="main"), Lane(id="x", title="x", purpose="subagent"))
    given_session = Session(id="s", format="agentsim/1", completeness=completeness, lanes=lanes, requests=tuple(drawn))
    try:
        comparison = compare(given_session, combine=True)
    except CannotSimulate:
        return
    assert len(comparison.outcomes) + len(comparison.not_tried) == len(every_policy())
    comparison.to_csv()
