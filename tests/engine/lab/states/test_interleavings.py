"""Any order of taking in, cutting, copying and going back leaves what the remaining tokens alone would leave."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.engine.lab.states.layer_state import Snapshot, Unrestorable
from agentsim.engine.lab.states.state_kinds import KINDS, random_inputs

torch.set_num_threads(1)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4)),
        st.tuples(st.just("record"), st.integers(1, 4)),
        st.tuples(st.just("truncate"), st.integers(0, 6)),
        st.tuples(st.just("snapshot"), st.just(0)),
        st.tuples(st.just("restore"), st.integers(0, 3)),
    ),
    min_size=1,
    max_size=12,
)


@given(name=st.sampled_from(sorted(KINDS)), steps=STEPS, seed=st.integers(0, 2**32))
@settings(max_examples=150)
def test_what_remains_is_what_counts(name: str, steps: list[tuple[str, int]], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    made = KINDS[name](generator)
    seen = random_inputs(generator, 0)
    snapshots: list[tuple[Snapshot, torch.Tensor]] = []
    for what, number in steps:
        if what in ("append", "record"):
            new = random_inputs(generator, number)
            before = len(seen)
            seen = torch.cat((seen, new))
            if what == "record":
                made.state.record(new)
            else:
                _check(made.state.append(new), made.dense(seen)[before:])
        elif what == "truncate":
            length = max(0, len(seen) - number)
            held = made.state.bytes
            try:
                made.state.truncate(length)
            except Unrestorable:
                assert made.state.bytes == held, "a refusal changes nothing"
            else:
                seen = seen[:length]
                # What was copied beyond a cut may refer to records that are gone.
                snapshots = [each for each in snapshots if each[0].length <= length]
        elif what == "snapshot":
            snapshots.append((made.state.snapshot(), seen))
        elif snapshots:
            snapshot, tokens = snapshots[number % len(snapshots)]
            if torch.equal(tokens, seen[: len(tokens)]):
                made.state.restore(snapshot)
                seen = tokens
                snapshots = [each for each in snapshots if each[0].length <= len(tokens)]
        assert made.state.length == len(seen)
    last = random_inputs(generator, 2)
    _check(made.state.append(last), made.dense(torch.cat((seen, last)))[-2:])


def _check(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert ours.shape == theirs.shape
    scale = max(1.0, float(theirs.abs().max()))
    assert float((ours - theirs).abs().max()) <= 1e-9 * scale
