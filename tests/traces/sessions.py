"""Sessions drawn by Hypothesis, and small ones made by hand."""

from __future__ import annotations

import string
from typing import get_args

import msgspec
from hypothesis import strategies as st

from agentsim.core.prompt import Block, Breakpoint, CountOrigin, Prompt, Section, Shape
from agentsim.core.session import (
    Accounting,
    Completeness,
    Event,
    EventKind,
    Problem,
    ProviderDiagnosis,
    Purpose,
    Request,
    Source,
    Usage,
)
from agentsim.traces.hostile_records import Tally
from agentsim.traces.session_assembly import Assembly

words = st.text(max_size=12)
ids = st.text(string.ascii_letters + string.digits + "~-_é\n", min_size=1, max_size=8)
counts = st.integers(0, 2**53)
maybe_count = st.none() | counts
times = st.none() | st.integers(-(10**18), 4 * 10**18)
sections = st.sampled_from(get_args(Section))


def one_of(literal):
    return st.sampled_from(get_args(literal))


usages = st.builds(
    Usage,
    fresh=maybe_count,
    write_short=maybe_count,
    write_long=maybe_count,
    write_other=maybe_count,
    read=maybe_count,
    output=maybe_count,
)
blocks = st.builds(
    Block,
    section=sections,
    kind=st.sampled_from(["text", "tool_use", "a kind"]),
    digest=st.integers(0, 7).map(lambda n: bytes([n]) * 16),
    role=st.none() | st.sampled_from(["user", "assistant"]),
    tokens=st.none() | st.integers(0, 10**6),
    origin=one_of(CountOrigin),
    name=st.none() | words,
    message=st.none() | st.integers(0, 3),
    part=st.none() | st.integers(0, 3),
    shape=st.none() | one_of(Shape),
    text=st.none() | words,
)
ORDER = ("tools", "system", "messages")


@st.composite
def prompts(draw, earlier):
    """A prompt that grew from an earlier one, or from nothing."""
    base = draw(st.sampled_from(earlier)) if earlier and draw(st.booleans()) else Prompt.of(())
    keep = draw(st.integers(0, len(base)))
    first = ORDER.index(base[keep - 1].section) if keep else 0
    new = draw(st.lists(blocks, max_size=5))
    new = sorted(
        (block for block in new if ORDER.index(block.section) >= first), key=lambda block: ORDER.index(block.section)
    )
    prompt = base.replace_after(keep, new)
    if not len(prompt):
        return prompt
    markers = st.builds(Breakpoint, st.integers(0, len(prompt) - 1), st.sampled_from([300, 3600]))
    return prompt.with_breakpoints(draw(st.lists(markers, max_size=4)))


@st.composite
def sessions(draw):
    """Any session that keeps the rules, as what puts sessions together keeps them: ids of requests are unique."""
    assembly = Assembly(draw(ids), draw(words), Tally("drawn"))
    assembly.states_lifetimes = assembly.states_links = True
    lane_ids = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    for lane in lane_ids:
        assembly.lane(lane, title=draw(words), purpose=draw(one_of(Purpose)), parent=draw(st.none() | ids))
    request_ids = draw(st.lists(ids, max_size=6, unique=True))
    requests: list[Request] = []
    for request_id in request_ids:
        before = [request.id for request in requests]  # a parent stands before its children
        earlier = [request.prompt for request in requests if request.prompt is not None]
        requests.append(
            Request(
                id=request_id,
                lane=draw(st.sampled_from(lane_ids)),
                model=draw(words),
                start=draw(times),
                provider=draw(st.sampled_from(["anthropic", "openai"])),
                parent=draw(st.none() | st.sampled_from(before)) if before else None,
                purpose=draw(one_of(Purpose)),
                first_token=draw(times),
                end=draw(times),
                prompt=draw(st.none() | prompts(earlier)),
                settings=draw(st.lists(st.tuples(words, words), max_size=2).map(tuple)),
                usage=draw(st.none() | usages),
                iterations=draw(st.lists(usages, max_size=2).map(tuple)),
                diagnosis=draw(
                    st.builds(
                        ProviderDiagnosis, reported=st.booleans(), reason=st.none() | words, missed_tokens=maybe_count
                    )
                ),
                stop_reason=draw(st.none() | words),
                service_tier=draw(st.none() | words),
                speed=draw(st.none() | words),
                region=draw(st.none() | words),
                harness_version=draw(st.none() | words),
                appended_blocks=draw(maybe_count),
                section_tokens=draw(st.lists(st.tuples(words, counts), max_size=2).map(tuple)),
                output_final=draw(st.booleans()),
                counted=draw(st.booleans()),
                source=draw(st.none() | st.builds(Source, words, counts)),
            )
        )
    events = st.builds(
        Event,
        kind=one_of(EventKind),
        time=times,
        lane=st.sampled_from(lane_ids),
        before=st.none() | st.sampled_from(request_ids or ["none"]),
        detail=st.none() | words,
    )
    for request in requests:
        assembly.add(request)
    for event in draw(st.lists(events, max_size=3)):
        assembly.keep(event)
    assembly.files += draw(st.lists(words, max_size=2))
    assembly.harness = draw(st.none() | words)
    assembly.title = draw(st.none() | words)
    problem = st.builds(Problem, file=words, line=counts, reason=words, remedy=words)
    assembly.tally.problems = draw(st.lists(problem, max_size=2))
    accounting = Accounting(rows=9, used=4, duplicate=2, not_billable=1, skipped=(("bad counter", 2),))
    return msgspec.structs.replace(assembly.build(draw(one_of(Completeness))), accounting=accounting)


def text_block(text, section="messages", **fields):
    """A block whose digest follows from its text."""
    return Block(section=section, kind="text", digest=(text.encode() * 16)[:16], text=text, **fields)
