"""A model without a price: every report says that nothing is known of its cost, and none that it cost nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.traces.samples.claude_log import ClaudeLog

NOBODY = "claude-nobody-knows-9"
ZERO = re.compile(r"\$0\.0+(?![0-9])")


def log(session: str, model: str = NOBODY, *, begun: float = 0, lost: bool = True, other: str | None = None) -> str:
    """Four calls, of which the last one reads nothing of 26,000 tokens; ``other`` is the model of the second."""
    made = ClaudeLog(session, model=model)
    made.now += begun
    made.user("Begin.")
    made.call(0, 20_000)
    for number, size in enumerate((25_000, 26_000, 27_000)):
        made.results()
        if lost and number == 2:
            made.label("system_changed").call(0, size)
        else:
            made.call(size - 1_000 if number else 20_000, 1_000 if number else 5_000, model=None if number else other)
    return "".join(line + "\n" for line in made.lines)


@pytest.fixture
def nobody(tmp_path: Path) -> str:
    file = tmp_path / "nobody.jsonl"
    file.write_text(log("nobody"))
    return str(file)


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(arguments) in (0, 1, 3)
    return capsys.readouterr().out


def test_the_pattern_finds_zeros_and_no_small_amounts() -> None:
    assert ZERO.search("cost $0.00 ")
    assert ZERO.search("$0.0000")
    assert not ZERO.search("$0.0001, $0.05, $10.00")


@pytest.mark.parametrize(
    "arguments",
    [
        ("summary", "FILE"),
        ("replay", "FILE"),
        ("replay", "FILE", "--savings"),
        ("compare", "FILE", "--policy", "ttl-1h", "--combine"),
        ("diff", "FILE", "FILE", "--all"),
        ("check", "FILE", "--max-lost-cost", "0.1", "--format", "terminal"),
        ("check", "FILE", "--max-lost-cost", "0.1", "--format", "markdown"),
        ("check", "FILE", "--max-lost-cost", "0.1", "--format", "junit"),
        ("check", "FILE", "--max-lost-cost", "0.1", "--format", "github"),
    ],
    ids=" ".join,
)
def test_no_page_says_that_it_cost_nothing(
    nobody: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    page = out(capsys, *(nobody if word == "FILE" else word for word in arguments))
    assert not ZERO.search(page.replace("&#36;", "$")), page
    assert re.search(r"not priced|no price|–", page)


def test_documents_for_programs_hold_null(nobody: str, capsys: pytest.CaptureFixture[str]) -> None:
    summary = json.loads(out(capsys, "summary", nobody, "--json"))
    assert summary["not_priced"] == {NOBODY: 4}
    (session,) = summary["worst_sessions"]
    (loss,) = summary["losses"]
    for amount in (summary["cost"], summary["input_equivalents"], summary["lost_cost"]):
        assert amount is None
    for amount in (session["cost"], session["lost_cost"], loss["cost"], loss["input_equivalents"]):
        assert amount is None
    totals = json.loads(out(capsys, "replay", nobody, "--json"))["totals"]
    assert (totals["cost"], totals["lost_cost"], totals["not_priced"]) == (None, None, 4)
    (trace,) = json.loads(out(capsys, "check", nobody, "--max-cost", "1", "--format", "json"))["traces"]
    assert (trace["cost"], trace["lost_cost"], trace["not_priced"]) == (None, None, 4)
    more = json.loads(out(capsys, "diff", nobody, nobody, "--json"))["more"]
    assert (more["cost"], more["misses"]) == (None, 0)
    recorded, *_ = json.loads(out(capsys, "compare", nobody, "--policy", "ttl-1h", "--json"))["policies"]
    assert (recorded["cost"], recorded["saving"], recorded["not_priced"]) == (None, None, 4)


def test_of_a_session_priced_in_part_the_rest_is_counted_beside_the_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Claude Haiku 4.5 on 2026-09-21: $1.25 for a million tokens written, $1 fresh, $5 of output. The call of 20,000
    # written, 2 fresh and 100 of output costs 2.5 + 0.0002 + 0.05 cents.
    file = tmp_path / "part.jsonl"
    made = ClaudeLog("part", model="claude-haiku-4-5")
    made.user("Begin.")
    made.call(0, 20_000)
    made.results()
    made.call(20_000, 5_000, model=NOBODY)
    made.save(file)
    assert json.loads(out(capsys, "summary", str(file), "--json"))["cost"] == "0.025502"
    page = out(capsys, "summary", str(file))
    assert re.search(r"cost +\$0\.0255  .*; 1 request not priced\n", page)


def test_a_session_that_lost_nothing_lost_zero_whatever_its_price(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "well.jsonl"
    file.write_text(log("well", lost=False))
    document = json.loads(out(capsys, "summary", str(file), "--json"))
    assert (document["cost"], document["lost_cost"]) == (None, "0")


def test_a_sweep_its_reports_and_the_watch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")
    pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")
    (tmp_path / "logs").mkdir()
    for number in range(12):  # six sessions in one week, six in the next, which lose more
        name = f"s{number:02d}"
        text = log(name, begun=3600 * number + (7 * 86_400 if number > 5 else 0), lost=number > 5)
        (tmp_path / "logs" / f"{name}.jsonl").write_text(text)
    fleet, page = str(tmp_path / "fleet"), tmp_path / "page.html"
    told = out(capsys, "sweep", str(tmp_path / "logs"), "--out", fleet, "--policy", "ttl-1h", "--workers", "0")
    assert not ZERO.search(told), told
    report = out(capsys, "report", fleet, "--html", str(page), "--json")
    document = json.loads(report)
    assert (document["total"]["cost"], document["total"]["lost_cost"]) == (None, None)
    assert document["lost_interval"] == [None, None]
    assert {(line["cost"], line["saving"], line["refused"]) for line in document["policies"]} == {(None, None, 0)}
    tiles = re.search('class="tiles">(.*)</div>', page.read_text())
    assert tiles is not None
    assert "$0.00" not in tiles[1]
    header, row = out(capsys, "report", fleet, "--csv", "-", "--by", "cause").splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["lost_cost"] == ""
    seen = json.loads(out(capsys, "watch", fleet, "--json"))
    everything = next(change for change in seen["changes"] if change["dimension"] == "all")
    assert everything["flag"] == "worse"
    assert (everything["excess"], everything["causes"][0]["lost_cost"]) == (None, None)
    assert not ZERO.search(out(capsys, "watch", fleet))
    assert "agentsim_excess_dollars{" not in out(capsys, "watch", fleet, "--prometheus", "-")


def test_losses_without_a_price_in_a_fleet_that_has_some(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")
    pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")
    file = tmp_path / "logs" / "s.jsonl"
    file.parent.mkdir()
    file.write_text(log("s", other="claude-haiku-4-5"))
    fleet = str(tmp_path / "fleet")
    out(capsys, "sweep", str(file), "--out", fleet, "--policy", "ttl-1h", "--workers", "0")
    total = json.loads(out(capsys, "report", fleet, "--json"))["total"]
    assert (total["requests"], total["unpriced"], total["misses"]) == (4, 3, 1)
    assert float(total["cost"]) > 0
    assert total["lost_cost"] is None
