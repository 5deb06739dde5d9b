"""What the harness said and no log holds comes back as evidence and as labels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentsim.diagnose import diagnose
from agentsim.guard.kept_words import CAUSES
from agentsim.guard.status_line import line_of
from agentsim.traces.format_registry import read
from agentsim.traces.readers.claude_code.claude_diagnoses import SAYS
from agentsim.trust.agreement import agree
from tests.agentsim.guard.sessions_of_claude import NOW, cache, document, reply

CAUSE_OF = {"tools_changed": "AS105", "system_prompt_changed": "AS112", "ttl_expired_5m": "AS201"}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSIM_STATE", str(tmp_path / "state"))


def session(tmp_path: Path, cause: str, *, late: int = 1, lost: bool = True) -> Path:
    """Three replies, of which the last lost its history, and the status line's documents after each."""
    log = tmp_path / "s1.jsonl"
    lines = [
        reply(1, NOW, 0, 40_000, parentUuid=None),
        reply(2, NOW + 60, 40_000, 500, parentUuid="u1"),
        reply(3, NOW + 120, 9_000 if lost else 40_500, 32_000, parentUuid="u2"),
    ]
    for number, text in enumerate(lines, 1):
        with log.open("a") as file:
            file.write(text)
        missed = number == 3 and lost
        said = cache(
            requests=number,
            misses=int(missed),
            last_miss_at=NOW + 120 + late if missed else None,
            miss_recache_tokens=32_000 if missed else 0,
            last_miss_cause={"causes": [cause], "tools_added": 5} if missed else None,
        )
        line_of(document(log, prompt_cache=said), NOW + 60 * number, colour=False)
    return log


@pytest.mark.parametrize(("cause", "code"), CAUSE_OF.items())
def test_the_harness_s_word_is_evidence(tmp_path: Path, cause: str, code: str) -> None:
    (found,) = read([str(session(tmp_path, cause))])
    verdict = diagnose(found).verdicts[-1]
    assert (verdict.kind, verdict.cause, verdict.evidence) == ("miss", code, "harness")
    assert f"The harness compared the two requests and says: {SAYS[cause]}".replace("_", " ") in verdict.established[-2]
    assert "By its estimate 32,000 tokens were written again." in verdict.established


def test_blind_verdicts_do_not_hear_it_and_agree_counts_it(tmp_path: Path) -> None:
    (found,) = read([str(session(tmp_path, "tools_changed"))])
    assert diagnose(found, use_provider_diagnosis=False).verdicts[-1].evidence != "harness"
    agreement = agree([found])
    assert [(row.reason, row.by) for row in agreement.rows] == [("tools_changed", "harness")]
    assert not agreement.contradicted


def test_unchanged_and_lost_is_the_provider_s_own_doing(tmp_path: Path) -> None:
    (found,) = read([str(session(tmp_path, "likely_server_side"))])
    assert found.requests[-1].diagnosis.reported
    assert found.requests[-1].diagnosis.reason is None
    assert agree([found]).rows[0].reason == "no difference found"


@pytest.mark.parametrize(("late", "heard"), [(20, True), (21, False)])
def test_a_word_that_fits_no_reply_in_time_is_left_out(tmp_path: Path, late: int, heard: bool) -> None:
    (found,) = read([str(session(tmp_path, "tools_changed", late=late))])
    assert found.requests[-1].diagnosis.reported is heard


def test_without_a_loss_nothing_is_said(tmp_path: Path) -> None:
    (found,) = read([str(session(tmp_path, "tools_changed", lost=False))])
    assert not any(request.diagnosis.reported for request in found.requests)


def test_a_damaged_file_is_passed_over_line_by_line(tmp_path: Path) -> None:
    log = session(tmp_path, "tools_changed")
    kept = tmp_path / "state" / "claude-code" / "s1.kept.jsonl"
    kept.write_bytes(b"\xff{\n[]\n" + kept.read_bytes() + b'{"misses": "x"}\n{"misses": -1}\n{"misses')
    (found,) = read([str(log)])
    assert found.requests[-1].diagnosis.by == "harness"


def test_the_provider_s_own_word_stays(tmp_path: Path) -> None:
    log = session(tmp_path, "tools_changed")
    lines = log.read_text().splitlines()
    record = json.loads(lines[-1])
    record["message"]["diagnostics"] = {"cache_miss_reason": {"type": "system_changed"}}
    log.write_text("\n".join([*lines[:-1], json.dumps(record)]) + "\n")
    (found,) = read([str(log)])
    assert (found.requests[-1].diagnosis.reason, found.requests[-1].diagnosis.by) == ("system_changed", "provider")


def test_every_cause_that_is_kept_is_understood_or_left_out_on_purpose() -> None:
    silent = {"unknown", "cache_scope_or_ttl_changed", "auto_mode_changed", "overage_changed"}
    assert set(SAYS) | silent == CAUSES
