"""Sessions of one request, and scenarios that do one thing: no page says "1 requests"."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.traces.samples.claude_log import ClaudeLog

PLURALS = (
    "answers|attempts|blocks|bytes|calls|causes|changes|combinations|entries|exchanges|figures|files|formats|groups|heads|"
    "lanes|layers|limits|lines|losses|misses|models|points|policies|problems|providers|questions|requests|returns|rows|"
    "rules|runs|seconds|sessions|shards|steps|tasks|times|tokens|traces|turns|words"
)
ONE = re.compile(rf"(?<![\d,.])1 +(?:[A-Za-z/-]+ )?(?:{PLURALS})\b")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A session that can be judged: a request of one token in, one out, and nothing that was cached."""
    monkeypatch.chdir(tmp_path)
    log = ClaudeLog("one", model="claude-nobody-knows-9")
    log.user()
    log.call(0, 1, fresh=1, output=1)
    return str(log.save(tmp_path / "one.jsonl"))


def test_the_pattern() -> None:
    assert ONE.search("in 1 requests")
    assert ONE.search("1 input tokens")
    assert not ONE.search("1 request, 11 requests, 0.1 rows, 1 of 2 rows")


@pytest.mark.parametrize(
    "arguments",
    [
        ("summary", "FILE"),
        ("replay", "FILE"),
        ("compare", "FILE", "--policy", "ttl-1h"),
        ("diff", "FILE", "FILE", "--all"),
        ("check", "FILE", "--max-cost", "1", "--min-hit-rate", "0.5"),
        ("check", "FILE", "--max-cost", "1", "--format", "markdown"),
        ("baseline", "write", "FILE"),
        ("agree", "FILE"),
        ("live", "FILE"),
        ("serving", "FILE"),
        ("calibrate", "FILE"),
        ("fit", "FILE"),
        ("run", "atlas-14", "--set", "model.name=nobody"),
        ("size", "--layers", "1", "--heads", "1", "--head-dim", "1", "--tokens", "1"),
        ("granularity", "--document", "1", "--prefix", "1", "--groups", "1", "--requests", "1"),
    ],
    ids=" ".join,
)
def test_one_is_no_plural(file: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    main([file if word == "FILE" else word for word in arguments])
    out, err = capsys.readouterr()
    found = ONE.search(" ".join((out + err).split()))
    assert found is None, found
    assert out or err
    assert not re.search(r"\d%", out), "a share has a space before its sign"


def test_a_fleet_of_one(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")
    pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")
    assert main(["sweep", file, "--out", "fleet", "--policy", "ttl-1h", "--workers", "0"]) == 0
    assert main(["report", "fleet", "--html", "-"]) == 0
    found = ONE.search(re.sub(r"<[^>]*>", "|", capsys.readouterr().out))
    assert found is None, found
