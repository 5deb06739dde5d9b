"""The bundled session of fourteen requests: made by its module, byte for byte, and true to the provider's rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import replay
from agentsim.traces.readers.agentsim1 import read_sessions, write
from agentsim.traces.samples import make_atlas
from agentsim.traces.samples.make_atlas import ROWS, atlas_session, usage_session

FOLDER = Path(make_atlas.__file__).parent


@pytest.mark.parametrize(("name", "make"), [("atlas-14.jsonl", atlas_session), ("atlas-14.usage.jsonl", usage_session)])
def test_the_bundled_file_is_what_the_module_makes(name, make, tmp_path):
    write([make()], tmp_path / "made.jsonl")
    assert (tmp_path / "made.jsonl").read_bytes() == (FOLDER / name).read_bytes()
    (read,) = read_sessions([str(FOLDER / name)])
    assert [one.usage for one in read.requests] == [one.usage for one in make().requests]


def test_replaying_the_bodies_gives_the_reported_rows_to_the_token():
    ledger = replay(atlas_session(), ModeledProvider())
    assert [(row.usage.write, row.usage.read) for row in ledger.rows] == [row[3:] for row in ROWS]
    assert [row.usage for row in ledger.rows] == [row.request.usage for row in ledger.rows]


def test_the_sums_are_those_of_the_worked_example():
    rows = replay(atlas_session(), ModeledProvider()).rows
    written = sum(row.usage.write or 0 for row in rows)
    read = sum(row.usage.read or 0 for row in rows)
    assert (len(rows), written, read) == (14, 280_420, 311_760)
    assert round(10_000 * read / (read + written)) == 5_265  # 52.65 %
    # 280,420 x 1.25 + 311,760 x 0.1
    assert sum(row.equivalents or 0 for row in rows) == 381_701 * 10**6


def test_the_file_without_content_has_no_content():
    session = usage_session()
    assert session.completeness == "usage"
    assert all(one.prompt is None and not one.settings for one in session.requests)
    assert dict(session.requests[0].section_tokens) == {"messages": 1_500, "system": 1_800, "tools": 5_200}
    assert not any(one.section_tokens for one in session.requests[1:])
    assert b"invoice" not in (FOLDER / "atlas-14.usage.jsonl").read_bytes().lower()


def test_row_11_puts_the_old_end_at_position_26():
    old, new = (atlas_session().requests[row - 1].prompt for row in (10, 11))
    assert old is not None
    assert new is not None
    assert new.common_length(old) == len(old)
    # The last block of the new prompt is position 1, so the last one of the old prompt is one more than what was added.
    assert len(new) - len(old) + 1 == 26
