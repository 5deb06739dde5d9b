"""A prompt that is built on its parent's is the one that is built from nothing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request, Session
from agentsim.whatif.policies import parse
from agentsim.whatif.policies.block_insertions import InsertedBlocks, laid_out
from agentsim.whatif.policies.session_rewriting import Regrown
from tests.agentsim.whatif.policies.small import block, request, session, tool

SYSTEM = block("system", 100, "system")


def whole(prompt: Prompt | None) -> tuple[list[Block], list[tuple[int, int]]]:
    assert prompt is not None
    return list(prompt), [(marker.position, marker.ttl) for marker in prompt.breakpoints]


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[Request, InsertedBlocks]]:
    """Requests that grow, and now and then go back, with layouts whose insertions grow with them."""
    found = []
    history: list[Block] = []
    inserted: list[tuple[int, tuple[Block, ...]]] = []
    for number in range(draw(st.integers(2, 6))):
        if draw(st.integers(0, 4)) == 0:
            history = history[: draw(st.integers(0, len(history)))]
            inserted = [entry for entry in inserted if entry[0] <= len(history)]
        history = [*history, *(block(f"{number}.{part}", 10) for part in range(draw(st.integers(0, 3))))]
        for one in range(draw(st.integers(0, 2))):
            inserted = [*inserted, (len(history), (block(f"late {number}.{one}", 5),))]
        tools = [tool(f"t{n}", 10) for n in range(draw(st.sampled_from([2, 2, 2, 3])))]
        front = (tool("front", 7),) * draw(st.sampled_from([1, 1, 1, 2]))
        blocks = [*tools, SYSTEM, *history]
        marks = tuple(draw(st.sets(st.integers(0, len(blocks) - 1), min_size=1, max_size=3)))
        sent = request(f"r{number}", 10 * number, blocks, marks)
        found.append((sent, InsertedBlocks(front=front, inserted=tuple(inserted), behind=draw(st.booleans()))))
    return found


@settings(max_examples=150)
@given(drawn=conversations())
def test_building_on_the_parent_changes_nothing(drawn: list[tuple[Request, InsertedBlocks]]) -> None:
    grown = Regrown()
    parent: Request | None = None
    before: InsertedBlocks | None = None
    for sent, layout in drawn:
        alone = laid_out(Regrown(), sent, layout, None, None)
        assert whole(laid_out(grown, sent, layout, parent, before)) == whole(alone)
        parent, before = sent, layout


def test_what_is_inserted_stands_where_it_was_put() -> None:
    sent = request("r1", 0, [tool("a", 1), SYSTEM, block("m1", 1), block("m2", 1)], (1, 2, 3))
    late = (block("late", 1),)
    for behind, markers in ((True, [1, 3, 4]), (False, [1, 2, 4])):
        layout = InsertedBlocks(front=(tool("x", 1),), inserted=((1, late),), behind=behind)
        prompt = laid_out(Regrown(), sent, layout, None, None)
        assert [b.name for b in prompt] == ["x", "system", "m1", "late", "m2"]
        assert [m.position for m in prompt.breakpoints] == markers


def turns(count: int) -> Session:
    """A long conversation whose tools change once, whose results are cleared, and that grows in bursts."""
    history: list[Block] = []
    requests = []
    for number in range(count):
        parts = 25 if number % 7 == 3 else 2
        history = [*history, *(block(f"{number}.{p}", 400, message=number, part=p) for p in range(parts))]
        if number > 4:
            history[number - 5] = block(f"cleared {number - 5}", 5)
        tools = (
            [tool("a", 600), tool("b", 600)] if number < count // 2 else [tool("c", 9), tool("a", 600), tool("b", 600)]
        )
        parent = f"r{number - 1}" if number else None
        requests.append(request(f"r{number}", 30 * number, [*tools, SYSTEM, *history], (2, -1), parent=parent))
    return session(*requests)


def test_prompts_without_their_parents_come_out_the_same() -> None:
    given_session = turns(16)
    for spec in ("deferred-tools", "fixed-entries", "prune-batched", "combine-blocks"):
        found = parse(spec)
        assert found.applies(given_session) is None
        rewritten = found.rewrite(given_session)
        for sent in rewritten.requests:
            blocks, markers = whole(sent.prompt)
            again = Prompt.of(blocks, sent.prompt.breakpoints if sent.prompt is not None else ())
            # Shared fronts hold what they should: digests and sizes are those of the blocks.
            assert sent.prompt == again
            assert sent.prompt is not None
            assert sent.prompt.tokens == sum(b.tokens or 0 for b in blocks)
            assert all(0 <= position < len(blocks) for position, _ in markers)
