"""Hooks: a sentence where it is expensive, nothing where it is cheap, and never in the way."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentsim.core.file_problems import WrittenFileError
from agentsim.guard.guard_policy import load_policy
from agentsim.guard.hook_answer import LONGEST, MILLISECONDS, answer_to
from agentsim.guard.installation import command_line
from agentsim.guard.limits_file import compile_policy
from agentsim.guard.model_prices import PriceFile
from agentsim.guard.status_line import line_of
from tests.agentsim.guard.sessions_of_claude import MODEL, NOW, cache, document, reply


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSIM_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("AGENTSIM_GUARD", str(tmp_path / "guard.toml"))
    monkeypatch.setattr("agentsim.guard.hook_answer.limit", lambda *_: None)  # of the process that runs the tests
    for model in (MODEL, "claude-sonnet-4-6"):
        PriceFile(patient=True).of(model, 1)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    path.write_text(reply(1, NOW - 100, 0, 30_000) + reply(2, NOW - 50, 30_000, 370_000, effort="medium"))
    return path


def policy(tmp_path: Path, text: str) -> None:
    (tmp_path / "guard.toml").write_text(text)


def event(name: str, transcript: Path, now: int = NOW, **more: Any) -> dict[str, Any] | None:
    made = {"session_id": "s1", "transcript_path": str(transcript), "hook_event_name": name, **more}
    return answer_to(json.dumps(made).encode(), now)


def test_a_prompt_into_a_warm_cache_is_nobodys_business(transcript: Path) -> None:
    assert event("UserPromptSubmit", transcript, prompt="go on") is None


def test_a_prompt_into_a_cold_cache_is_told_with_its_price(transcript: Path) -> None:
    ends = NOW - 50 + 300
    assert event("UserPromptSubmit", transcript, ends) is None
    # 400,000 tokens and the reply of 100 at $6.25 a million; the first prompt was 30,000.
    assert event("UserPromptSubmit", transcript, ends + 7 * 60) == {
        "systemMessage": "agentsim: cold since 7 min: this prompt writes 400k tokens, $2.50; "
        "/clear first: $0.19, without the history"
    }


def test_what_the_harness_said_about_its_lifetime_counts(transcript: Path) -> None:
    line_of(document(transcript, prompt_cache=cache(ttl="1h", expires_at=NOW + 3_550)), NOW, colour=False)
    assert event("UserPromptSubmit", transcript, NOW + 3_550) is None
    answer = event("UserPromptSubmit", transcript, NOW + 3_551)
    assert answer is not None
    assert "400k tokens, $4.00" in answer["systemMessage"]


def test_cheap_stays_silent_at_the_limit_and_a_token_below(tmp_path: Path, transcript: Path) -> None:
    cold = NOW + 10_000
    policy(tmp_path, "[warn]\ntokens = 400_100\n")
    assert event("UserPromptSubmit", transcript, cold) is not None
    policy(tmp_path, "[warn]\ntokens = 400_101\n# longer")
    assert event("UserPromptSubmit", transcript, cold) is None
    policy(tmp_path, '[warn]\ndollars = "2.500625"\n')
    assert event("UserPromptSubmit", transcript, cold) is not None
    policy(tmp_path, '[warn]\ndollars = "2.500626"\n')
    assert event("UserPromptSubmit", transcript, cold) is None


def test_an_effort_that_was_changed_is_told_before_the_prompt(transcript: Path) -> None:
    line_of(document(transcript, effort={"level": "high"}), NOW, colour=False)
    answer = event("UserPromptSubmit", transcript)
    assert answer is not None
    assert "effort changed from medium to high: this prompt may write 400k tokens, $2.50" in answer["systemMessage"]


SWITCH: dict[str, Any] = {
    "from_model": MODEL,
    "to_model": "claude-sonnet-4-6",
    "context_tokens": 400_000,
    "prompt_cache_warm": True,
    "cache_ttl": "5m",
}


def test_a_switch_names_the_way_back_and_what_staying_costs(transcript: Path) -> None:
    # Sonnet 4.6 writes for $3.75 a million; Opus 4.8 reads for $0.50 and writes for $6.25.
    answer = event("PreModelSwitch", transcript, **SWITCH)
    assert answer == {
        "systemMessage": "agentsim: claude-sonnet-4-6 has nothing of this conversation: the next prompt writes 400k "
        "tokens, $1.50; staying reads all of it for $0.20, so does coming back within 5 min, later $2.50"
    }


def test_a_model_that_was_left_a_minute_ago_is_still_warm(tmp_path: Path, transcript: Path) -> None:
    with transcript.open("a") as file:
        file.write(reply(3, NOW - 10, 0, 401_000, model="claude-sonnet-4-6", effort="medium"))
    policy(tmp_path, "[warn]\ntokens = 1\n")
    back = {**SWITCH, "from_model": "claude-sonnet-4-6", "to_model": MODEL, "context_tokens": 401_100}
    answer = event("PreModelSwitch", transcript, **back)
    assert answer is not None
    # 400,000 read at $0.50 and 1,100 written at $6.25 a million.
    assert f"{MODEL} still reads 400k and writes 1.1k tokens, $0.21" in answer["systemMessage"]


@pytest.mark.parametrize(("level", "decision"), [("ask", "ask"), ("block", "deny")])
def test_a_switch_is_asked_about_or_refused(level: str, decision: str, tmp_path: Path, transcript: Path) -> None:
    policy(tmp_path, f'[{level}]\ndollars = "1.00"\n')
    answer = event("PreModelSwitch", transcript, **SWITCH)
    assert answer is not None
    assert answer["hookSpecificOutput"]["permissionDecision"] == decision


def test_a_prompt_is_asked_about_once(tmp_path: Path, transcript: Path) -> None:
    policy(tmp_path, '[ask]\ndollars = "1.00"\n')
    cold = NOW + 10_000
    first = event("UserPromptSubmit", transcript, cold)
    assert first is not None
    assert first["decision"] == "block"
    assert "Enter it again to go on" in first["reason"]
    assert event("UserPromptSubmit", transcript, cold + 5) is None
    assert event("UserPromptSubmit", transcript, cold + 6) is not None


def test_a_prompt_is_blocked_every_time(tmp_path: Path, transcript: Path) -> None:
    policy(tmp_path, '[block]\ndollars = "1.00"\n')
    for late in range(3):
        answer = event("UserPromptSubmit", transcript, NOW + 10_000 + late)
        assert answer is not None
        assert answer["decision"] == "block"


def test_a_summary_of_a_cold_cache(tmp_path: Path, transcript: Path) -> None:
    policy(tmp_path, '[block]\ndollars = "1.00"\n')
    assert event("PreCompact", transcript, trigger="manual") is None
    by_hand = event("PreCompact", transcript, NOW + 10_000, trigger="manual")
    by_itself = event("PreCompact", transcript, NOW + 10_000, trigger="auto")
    assert by_hand is not None
    assert by_itself is not None
    assert by_hand["decision"] == "block"
    assert "the summary writes 400k tokens, $2.50 (warm it would have read them for $0.20)" in by_hand["reason"]
    assert "systemMessage" in by_itself, "a harness that must compact is not stopped"


def test_a_resume_after_the_cache_has_gone(transcript: Path) -> None:
    more: dict[str, Any] = {
        "source": "resume",
        "model": MODEL,
        "context_tokens": 400_000,
        "seconds_since_last_response": 7_300,
    }
    answer = event("SessionStart", transcript, prompt_cache_likely_expired=True, **more)
    assert answer is not None
    assert "the last answer was 2 h ago" in answer["systemMessage"]
    assert "400k tokens, $2.50" in answer["systemMessage"]
    assert event("SessionStart", transcript, prompt_cache_likely_expired=False, **more) is None
    assert event("SessionStart", transcript, source="startup") is None


def test_a_budget_stops_prompts_and_tools(tmp_path: Path, transcript: Path) -> None:
    # 30,000 written and 100 of output, then 30,000 read, 370,000 written and 100 of output: $2.52.
    policy(tmp_path, '[budget]\nsession = "2.520001"\n')
    assert event("UserPromptSubmit", transcript) is None
    assert event("PostToolUse", transcript) is None
    policy(tmp_path, '[budget]\nsession = "2.52"\n')
    answer = event("UserPromptSubmit", transcript)
    assert answer is not None
    assert answer["decision"] == "block"
    assert "this session has cost $2.52 of $2.52" in answer["reason"]
    assert event("PostToolUse", transcript) == {
        "continue": False,
        "stopReason": "agentsim: this session has cost $2.52 of $2.52: stopped by the budget",
    }


def test_a_day_adds_up_over_sessions(tmp_path: Path, transcript: Path) -> None:
    policy(tmp_path, '[budget]\nday = "5.00"\n')
    assert event("UserPromptSubmit", transcript) is None
    answer = event("UserPromptSubmit", transcript, session_id="s2")
    assert answer is not None
    assert "today has cost $5.04 of $5.00" in answer["reason"]
    assert event("UserPromptSubmit", transcript, NOW + 86_400 * 2, session_id="s3") is None


def test_a_policy_that_is_wrong_is_told_to_us_and_the_usual_holds(tmp_path: Path, transcript: Path) -> None:
    policy(tmp_path, "[warn]\ndollars = -0.5\n")
    assert event("UserPromptSubmit", transcript, NOW + 10_000) is not None
    failures = tmp_path / "state" / "failures.jsonl"
    assert "WrittenFileError" in failures.read_text()
    failures.unlink()
    assert event("UserPromptSubmit", transcript, NOW + 10_000) is not None
    assert not failures.exists(), "the file is not read again, which would take longer than a hook may"
    with pytest.raises(WrittenFileError):
        load_policy()


@pytest.mark.parametrize(
    "text",
    [
        "[warn",
        "[stop]",
        "[warn]\nmoney = 1",
        '[warn]\ndollars = "-1"',
        '[warn]\ndollars = "1e3"',
        "[warn]\ntokens = -1",
        "warn = 3",
    ],
)
def test_mistakes_in_a_policy(text: str) -> None:
    with pytest.raises(WrittenFileError) as found:
        compile_policy(text, "guard.toml")
    assert found.value.first.place == f"guard.toml:{text.count(chr(10)) + 1}"


def test_a_mistake_in_a_policy_names_its_key_and_a_remedy() -> None:
    with pytest.raises(WrittenFileError) as found:
        compile_policy("[warn]\ntoken = 1\n[stop]\n", "guard.toml")
    assert [(one.line, one.key, one.remedy) for one in found.value.problems] == [
        (2, "warn.token", "did you mean tokens?"),
        (3, "stop", "there are warn, ask, block, budget"),
    ]


def test_exact_amounts_of_a_policy() -> None:
    text = '[warn]\ndollars = "0.000000000001"\ntokens = 7\n[budget]\nday = 3\nsession = 0.10\n'
    found = compile_policy(text, "guard.toml")
    assert found == {"warn": {"dollars": 1, "tokens": 7}, "budget": {"day": 3 * 10**12, "session": 10**11}}


def test_a_thousand_malformed_events_are_harmless(tmp_path: Path, transcript: Path) -> None:
    draw = random.Random(11)
    names = ["UserPromptSubmit", "PreModelSwitch", "SessionStart", "PreCompact", "PostToolUse", "Other"]
    values: list[object] = [
        None,
        True,
        -1,
        2**70,
        1.5,
        "x" * 500,
        "\x1b[31m",
        [],
        {},
        [[]],
        {"a": {}},
        "5m",
        MODEL,
        str(transcript),
    ]
    for number in range(1_000):
        made = {"session_id": "s1", "hook_event_name": draw.choice(names), "transcript_path": str(transcript), **SWITCH}
        for _ in range(draw.randint(1, 4)):
            made[draw.choice([*made, "source", "trigger", "context_tokens"])] = draw.choice(values)
        data = json.dumps(made).encode()
        if number % 3 == 0:
            data = data[: draw.randrange(len(data))]
        answer = answer_to(data, NOW + draw.choice([0, 10_000]))
        assert answer is None or isinstance(json.dumps(answer), str)


def started(transcript: Path, tmp_path: Path, data: bytes) -> subprocess.CompletedProcess[bytes]:
    """The hook as a harness starts it."""
    words = shlex.split(command_line("hook"))
    return subprocess.run(words, input=data, capture_output=True, env=dict(os.environ), check=False)


def test_the_program_that_is_installed_answers(tmp_path: Path, transcript: Path) -> None:
    policy(tmp_path, "[block]\ntokens = 1\n")
    made = {"session_id": "s1", "transcript_path": str(transcript), "hook_event_name": "PreModelSwitch", **SWITCH}
    done = started(transcript, tmp_path, json.dumps(made).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    for data in (b"", b"{", b"\xff" * 10, b"[" * 100_000, b"null", json.dumps({**made, "session_id": "../x"}).encode()):
        done = started(transcript, tmp_path, data)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_hook_that_is_late_says_nothing_and_is_told(tmp_path: Path) -> None:
    code = (
        "import time; from agentsim.guard import private_files, time_limit;"
        "time_limit.limit(50, lambda: private_files.note_failure('hook', TimeoutError(), 1)); time.sleep(30)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=dict(os.environ), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "TimeoutError" in (tmp_path / "state" / "failures.jsonl").read_text()


@pytest.mark.parametrize(
    ("text", "longest"),
    [('[warn]\ndollars = "1"\n', MILLISECONDS), ("[block]\ntokens = 1\n", LONGEST), ('[budget]\nday = "1"\n', LONGEST)],
)
def test_only_a_warning_may_be_left_out_for_want_of_time(
    text: str, longest: int, tmp_path: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [LONGEST]
    monkeypatch.setattr("agentsim.guard.hook_answer.limit", lambda milliseconds, _told: limits.append(milliseconds))
    policy(tmp_path, text)
    event("UserPromptSubmit", transcript)
    assert limits[-1] == longest
