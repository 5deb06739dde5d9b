"""The status line: what it says, what it keeps, and that nothing can hurt it."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.guard import cache_words, private_files
from agentsim.guard.light_json import NotJson, dumps, loads
from agentsim.guard.model_prices import PriceFile
from agentsim.guard.status_line import line_of
from agentsim.guard.transcript_tail import newest_main, read_on, spent
from tests.agentsim.guard.sessions_of_claude import NOW, cache, document, reply


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTSIM_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def line(data: bytes, now: int = NOW) -> str:
    return line_of(data, now, colour=False)


def test_what_the_harness_says_with_the_price_of_it() -> None:
    # 412,000 tokens written for five minutes at $6.25 a million.
    assert line(document(prompt_cache=cache())) == "cache 94 % · warm 4:12 · 412k cold = $2.58"


def test_an_hour_is_priced_as_an_hour() -> None:
    assert line(document(prompt_cache=cache(ttl="1h", expires_at=NOW + 3_725))).endswith(
        "warm 1:02:05 · 412k cold = $4.12"
    )


def test_the_last_second_is_warm_and_the_next_is_cold() -> None:
    said = document(prompt_cache=cache(expires_at=NOW + 1))
    assert "warm 0:01" in line(said)
    assert "cold since 0 s · 412k to write" in line(said, NOW + 1)
    assert "cold since 7 min" in line(said, NOW + 1 + 440)


def test_a_miss_with_its_cause_and_its_price(tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text(reply(1, NOW - 60, 0, 200_000) + reply(2, NOW - 40, 200_000, 500))
    line(document(transcript, prompt_cache=cache()))
    with transcript.open("a") as file:
        file.write(reply(3, NOW - 5, 20_500, 181_000))
    missed = cache(
        misses=1,
        miss_recache_tokens=181_000,
        last_miss_at=NOW - 5,
        last_miss_cause={"causes": ["tools_changed"], "tools_added": 5},
        requests=6,
    )
    # 200,500 tokens were warm and 20,500 read: 180,000 at $6.25 in the place of $0.50 a million.
    assert line(document(transcript, prompt_cache=missed)).endswith("last miss: tools (+5), $1.04")
    assert pytest.approx(1.035) == (180_000 * 5_750_000) / 10**12


def test_without_the_harness_s_own_word_the_transcript_is_enough(tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text(reply(1, NOW - 60, 0, 20_000) + reply(2, NOW - 48, 20_000, 500))
    # 20,000 of 40,500 tokens were read; the entry of 20,500 lives for 300 s from its time.
    assert line(document(transcript)) == "cache 49 % · warm 4:12 · 20.5k cold = $0.13"


def test_colours_and_their_absence() -> None:
    said = document(prompt_cache=cache())
    assert "\x1b[32m94 %\x1b[0m" in line_of(said, NOW, colour=True)
    assert "\x1b" not in line_of(said, NOW, colour=False)


def test_only_what_was_appended_is_read(tmp_path: Path) -> None:
    lines = [reply(n, NOW + n, 1_000 * n, 1_000) for n in range(1, 40)]
    whole: dict[str, object] = {}
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text("".join(lines))
    read_on(whole, str(transcript), PriceFile(patient=True))
    transcript.unlink()
    piecewise: dict[str, object] = {}
    data = "".join(lines).encode()
    draw, at = random.Random(3), 0
    while at < len(data):
        step = draw.randint(1, 900)
        with transcript.open("ab") as file:
            file.write(data[at : at + step])
        at += step
        read_on(piecewise, str(transcript), PriceFile(patient=True))
    for tail in (whole, piecewise):
        tail.pop("inode")
    assert piecewise == whole
    prices = PriceFile(patient=True)
    # Rows 1 to 39: 780,000 read, 39,000 written, 3,900 of output.
    assert spent(whole, prices)[0] == 780_000 * 500_000 + 39_000 * 6_250_000 + 3_900 * 25_000_000


def test_lines_of_one_reply_count_once_with_the_final_output(tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text(reply(1, NOW, 0, 5_000, output=3) + reply(1, NOW + 2, 0, 5_000, output=400))
    tail: dict[str, object] = {}
    prices = PriceFile(patient=True)
    read_on(tail, str(transcript), prices)
    assert newest_main(tail)["output"] == 400
    assert spent(tail, prices)[0] == 5_000 * 6_250_000 + 400 * 25_000_000


def test_a_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text(reply(1, NOW, 0, 5_000) + reply(2, NOW, 5_000, 700))
    tail: dict[str, object] = {}
    prices = PriceFile(patient=True)
    read_on(tail, str(transcript), prices)
    transcript.unlink()
    transcript.write_text(reply(9, NOW, 0, 300))
    read_on(tail, str(transcript), prices)
    assert newest_main(tail)["id"] == "msg_9"


def test_each_change_is_kept_once_and_figures_alone(state: Path, tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text(reply(1, NOW, 0, 5_000))
    words = {"causes": ["tools_changed", "PINEAPPLE"], "tools_added": 5, "why": "PINEAPPLE", "system_char_delta": -120}
    said = cache(misses=1, last_miss_cause=words, last_miss_at=NOW, ttl="PINEAPPLE", secret="PINEAPPLE")
    data = document(
        transcript, prompt_cache=said, rate_limits={"five_hour": {"used_percentage": 41.7, "x": "PINEAPPLE"}}
    )
    for _ in range(3):
        line(data)
    line(document(transcript, prompt_cache=cache(requests=6)))
    kept = (state / "claude-code" / "s1.kept.jsonl").read_text()
    first, second = map(json.loads, kept.splitlines())
    assert first["causes"] == ["tools_changed"]
    assert (first["added"], first["system"], first["five_hour"], first["cold"]) == (5, -120, 41, 412_000)
    assert second["requests"] == 6
    for path in state.rglob("*"):
        if path.is_file():
            assert "PINEAPPLE" not in path.read_text()
            assert "secret" not in path.read_text()
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_kept_file_does_not_grow_for_ever(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsim.guard.kept_words.LARGEST", 4_000)
    for number in range(100):
        line(document(prompt_cache=cache(requests=number)))
    kept = state / "claude-code" / "s1.kept.jsonl"
    assert kept.stat().st_size <= 4_000
    assert json.loads(kept.read_text().splitlines()[-1])["requests"] == 99


HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
KEYS = ("session_id", "transcript_path", "prompt_cache", "model", "effort", "cost", "rate_limits", "hook_event_name")


PIECES = [b'"', b"[" * 3000, b"1e999", b"-", b"\xff", b"null", b"{}", b"9" * 400]


@pytest.mark.parametrize("block", range(4))
def test_a_thousand_malformed_documents_are_harmless(block: int, tmp_path: Path, state: Path) -> None:
    draw = random.Random(block)
    good = document(
        tmp_path / "none.jsonl", prompt_cache=cache(misses=1, last_miss_cause={"causes": ["tools_changed"]})
    )
    for _ in range(250):
        data = bytearray(good)
        for _ in range(draw.randint(1, 12)):
            place = draw.randrange(len(data))
            way = draw.randrange(4)
            if way == 0:
                data[place] = draw.randrange(256)
            elif way == 1:
                del data[place : place + draw.randrange(1, 40)]
            elif way == 2:
                data[place:place] = draw.choice(
                    [b'"', b"[" * 3000, b"1e999", b"-", b"\xff", b"null", b"{}", b"9" * 400]
                )
            else:
                data = data[:place] or bytearray(b"{")
            data = data or bytearray(b"x")
        found = line(bytes(data))
        assert "\n" not in found
        assert found.isprintable()
    assert not (state / "failures.jsonl").exists()


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), HOSTILE, max_size=6))
def test_any_values_in_any_place_are_harmless(found: dict[str, object]) -> None:
    made = {**json.loads(document(prompt_cache=cache())), **found}
    try:
        data = json.dumps(made).encode()
    except ValueError:
        return
    assert line(data).isprintable()


@settings(max_examples=200, deadline=None)
@given(HOSTILE)
def test_the_light_scanner_reads_what_json_reads(value: object) -> None:
    text = json.dumps(value)
    assert repr(loads(text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["", "{", "[1,]", "nul", '{"a":1}x', "[" * 100_000, "9" * 5_000, "\ud800"])
def test_what_is_no_document_is_one_kind_of_error(text: str) -> None:
    with pytest.raises(NotJson):
        loads(text)


def test_tables_are_written_as_json() -> None:
    value = {"a": [1, None, True, "ü\x1b"], "b": {}}
    assert json.loads(dumps(value)) == value


def run(*words: str, data: bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "agentsim", *words],
        input=data,
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_the_program_wraps_the_line_that_was_there(tmp_path: Path) -> None:
    done = run("statusline", "--wrap", "echo mine; cat > /dev/null", data=document(prompt_cache=cache()), NO_COLOR="1")
    assert done.returncode == 0
    first, second = done.stdout.decode().splitlines()
    assert first == "mine"
    assert second.startswith("cache 94 % · ")


@pytest.mark.parametrize("command", ["exit 7", "sleep 0.1; echo late", "kill -9 $$", "nonexistent-command 2>/dev/null"])
def test_a_wrapped_line_that_fails_costs_only_itself(command: str) -> None:
    done = run("statusline", "--wrap", command, data=document(prompt_cache=cache()), NO_COLOR="1")
    assert done.returncode == 0
    assert done.stdout.decode().splitlines()[-1].startswith("cache 94 %")


def test_a_folder_that_cannot_be_written_costs_the_line_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("statusline", data=document(prompt_cache=cache()), AGENTSIM_STATE=str(tmp_path / "file" / "x"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_failure_is_told_to_us_alone(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    private_files.note_failure("statusline", ValueError("PINEAPPLE"), NOW)
    text = (state / "failures.jsonl").read_text()
    assert json.loads(text)["what"] == "ValueError"
    assert "PINEAPPLE" not in text


def test_it_starts_without_what_it_does_not_need() -> None:
    line(document(prompt_cache=cache()))  # the prices of the day are there now
    code = (
        "import sys; sys.argv = ['agentsim', 'statusline'];"
        "import agentsim.__main__ as m, os; os._exit = lambda code: None; m.run();"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=document(prompt_cache=cache()),
        capture_output=True,
        check=True,
    )
    loaded = set(done.stderr.decode().split())
    assert not loaded & {"click", "msgspec", "typing", "re", "subprocess", "threading", "agentsim.rules.prices"}


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1k"),
        (19_901, "19.9k"),
        (99_999, "100k"),
        (412_345, "412k"),
        (999_499, "999k"),
        (1_250_000, "1.3M"),
    ],
)
def test_tokens_in_few_letters(number: int, words: str) -> None:
    assert cache_words.tokens(number) == words


@pytest.mark.parametrize(
    ("pico", "words"),
    [(4_680_000_000_000, "$4.68"), (99_949_999_999, "$0.0999"), (100_000_000_000, "$0.10"), (50_000_000, "$0.0001")],
)
def test_dollars_in_few_letters(pico: int, words: str) -> None:
    assert cache_words.dollars(pico) == words
