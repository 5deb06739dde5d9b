"""The bundled session of fourteen requests, as the command line shows it: figures to the token, and the whole page.

The session: tools and system of 7,000 tokens, a task of 1,500; tool rounds of 1,500 each; a tool inserted (5); a pause
of five minutes and a half (7); a forced tool_choice (9) undone (10); 24 blocks at once (11); three subagents (12-14).
"""

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "golden"
FULL, USAGE = "traces/samples/atlas-14.jsonl", "traces/samples/atlas-14.usage.jsonl"

ROWS = [  # total, written, read
    (8_500, 8_500, 0),
    (10_000, 1_500, 8_500),
    (11_500, 1_500, 10_000),
    (32_800, 21_300, 11_500),
    (34_650, 34_650, 0),
    (36_150, 1_500, 34_650),
    (37_650, 37_650, 0),
    (39_150, 1_500, 37_650),
    (40_650, 33_300, 7_350),
    (42_150, 3_000, 39_150),
    (51_870, 44_520, 7_350),
    (82_370, 30_500, 51_870),
    (82_370, 30_500, 51_870),
    (82_370, 30_500, 51_870),
]


def agentsim(*arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "agentsim", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100", "TZ": "UTC"},
        check=True,
    ).stdout


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    return {path: json.loads(agentsim("replay", path, "--json")) for path in (FULL, USAGE)}


@pytest.mark.parametrize("path", [FULL, USAGE])
def test_rows_to_the_token(documents: dict[str, Any], path: str) -> None:
    usages = [row["usage"] for row in documents[path]["rows"]]
    assert [(usage["total_input"], usage["written"], usage["read"]) for usage in usages] == ROWS


@pytest.mark.parametrize("path", [FULL, USAGE])
def test_totals(documents: dict[str, Any], path: str) -> None:
    totals = documents[path]["totals"]
    written, read = sum(row[1] for row in ROWS), sum(row[2] for row in ROWS)
    assert (written, read) == (280_420, 311_760)
    assert totals["tokens"]["written"] == written
    assert totals["tokens"]["read"] == read
    # A write counts 1.25 tokens of ordinary input, a read 0.1.
    assert Decimal(totals["input_equivalents"]) == written * Decimal("1.25") + read * Decimal("0.1") == 381_701


def test_the_page_says_the_same() -> None:
    page = agentsim("replay", FULL)
    assert "14 requests: written 280,420, read 311,760, fresh 0" in page
    assert "hit rate 52.65 %" in page
    assert "381,701 input equivalents" in page


def test_five_causes_proved_by_bodies(documents: dict[str, Any]) -> None:
    verdicts = {row["number"]: row["verdict"] for row in documents[FULL]["rows"]}
    misses = {number: verdict["cause"] for number, verdict in verdicts.items() if verdict["kind"] == "miss"}
    assert misses == {5: "AS101", 7: "AS201", 9: "AS401", 11: "AS301", 13: "AS502", 14: "AS502"}
    assert {verdicts[number]["evidence"] for number in misses} == {"proved"}
    assert verdicts[5]["place"]["name"] == "db_query"
    assert verdicts[5]["place"]["change"] == "inserted"


def test_usage_alone_separates_what_is_sure_from_what_is_not(documents: dict[str, Any]) -> None:
    verdicts = {row["number"]: row["verdict"] for row in documents[USAGE]["rows"]}
    for number in (5, 7, 9, 11):
        assert verdicts[number]["kind"] == "miss"
        assert verdicts[number]["evidence"] != "proved"
        assert verdicts[number]["established"]
        assert verdicts[number]["to_check"]
    assert verdicts[7]["cause"] == "AS201"
    assert verdicts[10]["kind"] == "recovered"


def test_bodies_can_be_ignored(documents: dict[str, Any]) -> None:
    blind = json.loads(agentsim("replay", FULL, "--usage-only", "--json"))
    assert blind["judged_by"] == "rows"
    assert [row["verdict"]["cause"] for row in blind["rows"]] == [
        row["verdict"]["cause"] for row in documents[USAGE]["rows"]
    ]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("atlas-14", ["replay", FULL]),
        ("atlas-14.usage", ["replay", USAGE]),
        ("atlas-14.misses", ["replay", FULL, "--rows", "misses", "--lane", "main"]),
    ],
)
def test_whole_pages(name: str, arguments: list[str]) -> None:
    golden = GOLDEN / f"{name}.txt"
    hint = f"renew it with: COLUMNS=100 TZ=UTC agentsim {' '.join(arguments)} > {golden.relative_to(ROOT)}"
    assert agentsim(*arguments) == golden.read_text(encoding="utf-8"), hint


@pytest.mark.parametrize("picture", ["replay", "usage-only"])
def test_pictures_show_what_is_printed(picture: str) -> None:
    text = (ROOT / "docs" / "pictures" / f"{picture}.svg").read_text(encoding="utf-8")
    assert "381,701 input equivalents" in text
    assert "52.65 %" in text
