"""Sessions in Python: the same figures as the commands, as records, frames, CSV and HTML."""

from __future__ import annotations

import csv
import io
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

import agentsim
import agentsim.traces.samples
from agentsim.core.money import dollars
from agentsim.diagnose import diagnose
from agentsim.report.python.loaded_sessions import ROW_COLUMNS, LoadedSessions
from agentsim.report.python.record_table import MOST_SHOWN, RecordTable
from agentsim.traces.format_registry import read
from tests.agentsim.hostile import ATTACK, claude_code_log

SAMPLES = Path(agentsim.traces.samples.__file__).parent
LOG = SAMPLES / "claude-code.jsonl"


@pytest.fixture(scope="module")
def loaded() -> LoadedSessions:
    return agentsim.load(LOG)


def test_public_names() -> None:
    assert agentsim.__all__ == sorted(agentsim.__all__)
    for name in agentsim.__all__:
        assert getattr(agentsim, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        agentsim.nothing  # noqa: B018


def test_a_record_for_each_counted_request(loaded: LoadedSessions) -> None:
    judged = [diagnose(session) for session in read([str(LOG)])]
    assert len(loaded.rows) == sum(request.counted for one in judged for request in one.session.requests)
    assert [tuple(record) for record in loaded.rows] == [ROW_COLUMNS] * len(loaded.rows)
    cost = sum(one.totals.cost for one in judged)
    assert loaded.diagnose().cost == dollars(cost)
    assert sum(record["cost"] for record in loaded.rows) == dollars(cost)
    assert sum(loss["lost_cost"] for loss in loaded.diagnose().losses) == loaded.diagnose().lost_cost
    assert len(loaded.diagnose().misses) == sum(one.totals.misses for one in judged) > 0


def test_rows_point_to_their_lines(loaded: LoadedSessions) -> None:
    lines = LOG.read_text().splitlines()
    for record in loaded.rows:
        assert record["id"].split("/")[0] in lines[record["line"] - 1]


def test_judged_once_unless_asked_otherwise(loaded: LoadedSessions) -> None:
    assert loaded.diagnose() is loaded.diagnose()
    assert loaded.diagnose(use_provider_diagnosis=False) is not loaded.diagnose()


def test_a_frame_and_csv_hold_the_records(loaded: LoadedSessions) -> None:
    frame = pytest.importorskip("pandas") and loaded.rows.to_pandas()
    assert list(frame.columns) == list(ROW_COLUMNS)
    assert frame["cost"].sum() == pytest.approx(float(loaded.diagnose().cost or 0))
    written = list(csv.DictReader(io.StringIO(loaded.rows.to_csv())))
    assert [row["id"] for row in written] == [record["id"] for record in loaded.rows]


def test_without_pandas_it_says_what_to_install(loaded: LoadedSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    for table in (loaded.rows, loaded.compare(["ttl-1h"])):
        with pytest.raises(ImportError, match=r"this needs pandas.*pip install 'agentsim-cache\[sweep\]'"):
            table.to_pandas()


def test_a_summary_has_the_same_sums(loaded: LoadedSessions) -> None:
    summed = agentsim.summary(LOG)
    assert (summed.cost, summed.lost_cost) == (loaded.diagnose().cost, loaded.diagnose().lost_cost)
    assert summed.losses.records() == loaded.diagnose().losses.records()
    grouped = agentsim.summary([LOG], by="model")
    assert sum(record["cost"] for record in grouped) == summed.cost
    assert agentsim.summary(LOG, since=date(2000, 1, 1), until=date(2000, 1, 2)).figures.total.requests == 0


def test_the_page_of_a_notebook_is_inert(tmp_path: Path) -> None:
    claude_code_log(tmp_path, word="<script>" + ATTACK)
    page = agentsim.load(tmp_path)._repr_html_() + agentsim.summary(tmp_path)._repr_html_()
    assert "<table>" in page
    assert "<script" not in page
    assert "\x1b" not in page


def test_a_long_table_says_how_much_more_there_is() -> None:
    def table(count: int) -> str:
        return RecordTable(("n",), [{"n": Decimal(number)} for number in range(count)])._repr_html_()

    assert "more" not in table(MOST_SHOWN)
    assert "and 1 more" in table(MOST_SHOWN + 1)


def test_nothing_there_is_an_error(tmp_path: Path, own_home: Path) -> None:
    with pytest.raises(OSError, match="no logs"):
        agentsim.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="no logs of a harness"):
        agentsim.load()


def test_a_chart_leaves_out_what_has_no_number_and_shows_text_inert() -> None:
    table = RecordTable(
        ("name", "cost", "kind"),
        [
            {"name": "<b>a</b>", "cost": Decimal("1.5"), "kind": "x"},
            {"name": "b", "cost": None, "kind": "y"},
            {"name": None, "cost": 3, "kind": True},
        ],
    )
    svg = table.chart("name", "cost", title="<i>")._repr_svg_()
    assert svg.count('class="bar"') == 2
    assert "&lt;b&gt;a" in svg
    assert "<i>" not in svg
    assert "$1.5000" in svg
    assert table.chart("name", "cost", most=1, upright=True).svg.count('class="bar"') == 1
    with pytest.raises(KeyError):
        table.chart("name", "price")
    with pytest.raises(TypeError, match="needs numbers"):
        table.chart("name", "kind")
