from typing import Any

import msgspec

from agentsim.budget.recording_changes import Changes, compare
from agentsim.core.session import Session
from agentsim.diagnose import diagnose
from agentsim.traces.readers.agentsim1 import fingerprint
from agentsim.traces.samples.make_atlas import atlas_session
from tests.agentsim.budget.recorded import LOST, after, before, rows_only, with_requests


def compared(old: Session, new: Session) -> Changes:
    return compare(diagnose(old), diagnose(new))


def test_the_block_that_broke_the_prefix_is_named_where_it_first_does() -> None:
    changes = compared(before(), after())
    told = {pair.new.number: pair.place for pair in changes.pairs if pair.new and pair.place}
    assert list(told) == [7], "requests 8 to 12 differ in the same block"
    assert (told[7].address, told[7].name, told[7].change) == ("tools[0]", "fetch_page", "reordered")
    assert {pair.new.number: pair.cost for pair in changes.pairs if pair.new and pair.cost} == {7: LOST}
    seventh = changes.pairs[6]
    assert seventh.new is not None
    assert seventh.old is not None
    assert (seventh.old.verdict.kind, seventh.new.verdict.kind, seventh.new.verdict.cause) == ("hit", "miss", "AS103")


def test_a_recording_is_equal_to_itself() -> None:
    changes = compared(after(), after())
    assert len(changes.pairs) == 12
    assert all(pair.cost == 0 and pair.place is None and not pair.settings for pair in changes.pairs)


def test_requests_that_only_one_recording_has() -> None:
    shorter = before(requests=before().requests[:10])
    longer = compared(shorter, before())
    assert [pair.old is None for pair in longer.pairs] == [False] * 10 + [True] * 2
    last = longer.pairs[-1]
    assert last.new is not None
    assert last.cost == last.new.row.cost, "a request that came costs all it costs"
    gone = compared(before(), shorter)
    assert [pair.new is None for pair in gone.pairs] == [False] * 10 + [True] * 2
    assert (gone.pairs[-1].cost or 0) < 0


def test_lanes_correspond_by_purpose_and_order_whatever_their_ids() -> None:
    session = atlas_session()
    names = {lane.id: f"other-{lane.id}" for lane in session.lanes}

    def renamed(value: Any) -> Any:
        return names.get(value, value)

    other = msgspec.structs.replace(
        session,
        lanes=tuple(
            msgspec.structs.replace(lane, id=renamed(lane.id), parent=renamed(lane.parent)) for lane in session.lanes
        ),
        requests=tuple(msgspec.structs.replace(one, lane=renamed(one.lane)) for one in session.requests),
    )
    changes = compared(session, other)
    assert [pair.lane for pair in changes.pairs] == ["main"] * 11 + ["subagent", "subagent 2", "subagent 3"]
    assert all(pair.old and pair.new and pair.cost == 0 for pair in changes.pairs)


def test_settings_that_differ_are_named_once() -> None:
    changed = with_requests(before(), settings=(("thinking", "on"),))
    changes = compared(before(), changed)
    assert ["thinking" in pair.settings for pair in changes.pairs] == [True] + [False] * 11


def test_rows_without_prompts_are_compared_by_their_counters() -> None:
    changes = compared(rows_only(before()), rows_only(after()))
    assert all(pair.place is None for pair in changes.pairs)
    assert sum(pair.cost or 0 for pair in changes.pairs) == LOST


def test_fingerprints_under_two_keys_cannot_be_compared_block_by_block() -> None:
    old, new = (fingerprint(session) for session in (before(), after()))
    changes = compared(old, new)
    assert not changes.comparable
    assert all(pair.place is None for pair in changes.pairs)
    key = b"k" * 32
    same = compared(fingerprint(before(), key), fingerprint(after(), key))
    assert same.comparable
    assert [pair.new.number for pair in same.pairs if pair.new and pair.place] == [7]


def test_a_price_that_is_not_known_makes_no_difference_of_money() -> None:
    changes = compared(before(), with_requests(before(), model="a-model-of-nobody"))
    assert all(pair.cost is None for pair in changes.pairs)
