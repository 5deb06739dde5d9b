"""The pair of recordings for the gate: what its script makes is what is bundled, and what the provider's rules give."""

from pathlib import Path

import pytest

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import replay
from agentsim.traces.readers.agentsim1 import lines
from agentsim.traces.samples import make_gate


@pytest.mark.parametrize("moved", [False, True])
def test_the_files_are_what_the_script_makes(moved: bool) -> None:
    file = Path(make_gate.__file__).with_name("gate-after.jsonl" if moved else "gate-before.jsonl")
    assert file.read_bytes() == b"".join(lines(make_gate.session(moved)))


@pytest.mark.parametrize("moved", [False, True])
def test_what_was_read_is_what_the_rules_give(moved: bool) -> None:
    session = make_gate.session(moved)
    ledger = replay(session, ModeledProvider())
    assert [(row.usage.write, row.usage.read) for row in ledger.rows] == [
        (request.usage.write, request.usage.read) for request in session.requests if request.usage is not None
    ]


def test_only_the_order_of_the_tools_differs() -> None:
    before, after = (make_gate.session(moved).requests[6].prompt for moved in (False, True))
    assert before is not None
    assert after is not None
    assert [block.name for block in before][:4] == ["fetch_page", "open_ticket", "read_order", "search_manual"]
    assert [block.name for block in after][:4] == ["read_order", "search_manual", "fetch_page", "open_ticket"]
    assert sorted(block.digest for block in before) == sorted(block.digest for block in after)
