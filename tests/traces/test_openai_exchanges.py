"""Captured calls of OpenAI's APIs: prompts with their breakpoints and keys, counters without overlap, and verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.simulate import replay
from agentsim.core.session import Problem, Session, Usage
from agentsim.diagnose import diagnose
from agentsim.rules.prices import default_book
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import har, pairs
from agentsim.traces.readers.agentsim1 import read_sessions, write
from agentsim.traces.readers.agentsim1.fingerprints import fingerprint
from agentsim.whatif.comparison import compare
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged

RESPONSES = "https://api.openai.com/v1/responses"
CHAT = "https://api.openai.com/v1/chat/completions"
MODEL = "gpt-5.6-sol"
SYSTEM = "alpha bravo charlie delta echo foxtrot golf hotel " * 400
MARK = {"mode": "explicit"}
often = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


def call(second: int, asked: dict[str, Any], answered: dict[str, Any] | str, url: str = RESPONSES) -> dict[str, Any]:
    """An entry of an archive: one call, two seconds long."""
    text = answered if isinstance(answered, str) else json.dumps(answered)
    return {
        "startedDateTime": f"2026-11-20T10:{second // 60:02}:{second % 60:02}.000Z",
        "time": 2000,
        "timings": {"send": 0, "wait": 500, "receive": 1500},
        "request": {"url": url, "headers": [], "postData": {"text": json.dumps(asked)}},
        "response": {"status": 200, "headers": [], "content": {"text": text}},
    }


def asked(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "instructions": SYSTEM, "input": list(items), "prompt_cache_key": "chat", **more}


def said(id: str, text: str, read: int, written: int, fresh: int = 2, output: int = 6, **more: Any) -> dict[str, Any]:
    """A response whose counters include what was read and written."""
    counters: dict[str, Any] = {
        "input_tokens": fresh + read + written,
        "input_tokens_details": {
            "cached_tokens": read,
            "cache_write_tokens": written,
            "cache_write_tokens_details": {"ttl_30m_tokens": written, "ttl_12h_tokens": 0},
        },
        "output_tokens": output,
    }
    item = {
        "id": f"msg_{id}",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }
    return {"id": id, "model": MODEL, "status": "completed", "output": [item], "usage": counters, **more}


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "input_text", "text": text, **more}]}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "output_text", "text": text}]}


def read(folder: Path, *entries: dict[str, Any], told: list[Problem] | None = None) -> list[Session]:
    path = folder / "calls.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "creator": {"name": "test"}, "entries": list(entries)}}))
    return list(har.read_sessions([str(path)], told))


# The four turns of a public test (2026-09-05): written 3679, 21, 22, 22; 2 tokens are neither read nor written.
HISTORY = [user("one"), assistant("a"), user("two"), assistant("b"), user("three"), assistant("c"), user("four")]
I14 = [
    call(0, asked(*HISTORY[:1]), said("r1", "a", 0, 3_679, output=5)),
    call(20, asked(*HISTORY[:3]), said("r2", "b", 3_679, 21)),
    call(40, asked(*HISTORY[:5]), said("r3", "c", 3_700, 22)),
    call(60, asked(*HISTORY[:7]), said("r4", "d", 3_722, 22)),
]


def test_i14_from_the_capture_to_the_verdicts_and_the_bill(tmp_path: Path) -> None:
    (session,) = read(tmp_path, *I14)
    usages = [request.usage for request in session.requests]
    assert usages == [
        Usage(fresh=2, read=0, write_short=3_679, write_long=0, output=5),
        Usage(fresh=2, read=3_679, write_short=21, write_long=0, output=6),
        Usage(fresh=2, read=3_700, write_short=22, write_long=0, output=6),
        Usage(fresh=2, read=3_722, write_short=22, write_long=0, output=6),
    ]
    assert [request.provider for request in session.requests] == ["openai"] * 4
    assert [request.parent for request in session.requests] == [None, "r1", "r2", "r3"]
    # The blocks add up to what was kept: 3,679; the two tokens behind them belong to none.
    assert [request.prompt.tokens for request in session.requests if request.prompt] == [3_679, 3_700, 3_722, 3_744]
    ledger = replay(session, RoutedProvider())
    rows = [(row.usage.fresh, row.usage.read, row.usage.write) for row in ledger.rows]
    assert rows == [(2, 0, 3_679), (2, 3_679, 21), (2, 3_700, 22), (2, 3_722, 22)], "the model says what was reported"
    verdicts = diagnose(session).verdicts
    assert [verdict.kind for verdict in verdicts] == ["first", "hit", "hit", "hit"]
    assert [verdict.prediction for verdict in verdicts[1:]] == ["exact"] * 3
    # $4, $0.40, $5, $20 a million: 2x4 + 3679x5 + 5x20; 2x4 + 3679x0.4 + 21x5 + 6x20; ...3700...22...; ...3722...22...
    costs = [default_book().price(request)[0] for request in session.requests]
    assert costs == [18_503_000_000, 1_704_600_000, 1_718_000_000, 1_726_800_000]


def test_comparing_policies_works_on_such_a_trace(tmp_path: Path) -> None:
    sessions = read(tmp_path, *I14)
    found = compare(sessions)
    assert found is not None


def test_a_changed_system_text_is_named_with_its_place(tmp_path: Path) -> None:
    changed = asked(*HISTORY[:3], instructions="Now. " + SYSTEM)
    (session,) = read(tmp_path, I14[0], call(20, changed, said("r2", "b", 0, 3_702)))
    verdict = diagnose(session).verdicts[1]
    assert (verdict.kind, verdict.cause, verdict.evidence, verdict.lost) == ("miss", "AS110", "proved", 3_679)
    assert verdict.place is not None
    assert verdict.place.address == "system[0]"
    # 3,679 tokens written at $5 instead of read at $0.40 a million: 3,679 x 4.6 millionths.
    assert verdict.lost_cost == 3_679 * 4_600_000


def test_breakpoints_and_keys_survive_reading_writing_and_blinding(tmp_path: Path) -> None:
    options = {"mode": "explicit", "ttl": "12h"}
    first = asked(
        user("one", prompt_cache_breakpoint=MARK),
        user("two", prompt_cache_breakpoint={"mode": "explicit", "ttl": "30m"}),
        prompt_cache_options=options,
        reasoning={"effort": "low"},
    )
    details: dict[str, Any] = {
        "cached_tokens": 0,
        "cache_write_tokens": 3_000,
        "cache_write_tokens_details": {"ttl_30m_tokens": 100, "ttl_12h_tokens": 2_900},
    }
    answered = said("r1", "a", 0, 0)
    answered["usage"] = {"input_tokens": 3_002, "input_tokens_details": details, "output_tokens": 5}
    (session,) = read(tmp_path, call(0, first, answered))
    again = tmp_path / "again.jsonl"
    write([session], str(again))
    (read_again,) = read_sessions([str(again)])
    blind = fingerprint(session)
    for one in (session, read_again, blind):
        request = one.requests[0]
        assert request.prompt is not None
        assert [(mark.position, mark.ttl) for mark in request.prompt.breakpoints] == [(1, 43_200), (2, 1_800)]
        told = dict(request.settings)
        assert (told["prompt_cache_mode"], told["prompt_cache_ttl"], told["effort"]) == ('"explicit"', '"12h"', '"low"')
        assert request.usage == Usage(fresh=2, read=0, write_short=100, write_long=2_900, output=5)
    assert dict(session.requests[0].settings)["prompt_cache_key"] == '"chat"'
    assert "chat" not in dict(blind.requests[0].settings)["prompt_cache_key"]


def test_a_history_that_the_server_holds_is_put_together_again(tmp_path: Path) -> None:
    (sent,) = read(tmp_path, *I14[:2])
    continued = call(20, asked(user("two"), previous_response_id="r1"), said("r2", "b", 3_679, 21))
    (held,) = read(tmp_path, I14[0], continued)
    prompts = [[request.prompt for request in session.requests] for session in (sent, held)]
    assert [prompt.digest for prompt in prompts[0] if prompt] == [prompt.digest for prompt in prompts[1] if prompt]
    assert diagnose(held).verdicts[1].kind == "hit"


def test_a_history_that_is_not_in_the_capture_is_told(tmp_path: Path) -> None:
    told: list[Problem] = []
    lost = call(20, asked(user("two"), previous_response_id="elsewhere"), said("r2", "b", 3_679, 21))
    (session,) = read(tmp_path, I14[0], lost, told=told)
    assert len(session.requests) == 1
    assert session.accounting.skipped == (("prompt unknown", 1),)


def stream(id: str, text: str, read: int, written: int) -> str:
    whole = said(id, text, read, written)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_text.delta", "delta": text},
        {"type": "response.completed", "response": whole},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def test_a_stream_tells_the_same(tmp_path: Path) -> None:
    continued = asked(user("two"), previous_response_id="r1")
    (whole,) = read(tmp_path, *I14[:2])
    (streamed,) = read(
        tmp_path,
        call(0, asked(*HISTORY[:1]), stream("r1", "a", 0, 3_679)),
        call(20, continued, stream("r2", "b", 3_679, 21)),
    )
    assert [one.usage for one in streamed.requests][1:] == [one.usage for one in whole.requests][1:]
    assert streamed.requests[1].prompt == whole.requests[1].prompt


def chat(messages: list[dict[str, Any]], id: str, read: int, written: int, second: int) -> dict[str, Any]:
    details = {"cached_tokens": read, "cache_write_tokens": written}
    usage = {"prompt_tokens": read + written + 2, "prompt_tokens_details": details, "completion_tokens": 6}
    answer = {"id": id, "model": MODEL, "choices": [{"finish_reason": "stop"}], "usage": usage}
    return call(second, {"model": MODEL, "messages": messages, "prompt_cache_key": "chat"}, answer, CHAT)


def test_chat_completions_know_one_lifetime(tmp_path: Path) -> None:
    messages = [{"role": "developer", "content": SYSTEM}, {"role": "user", "content": "one"}]
    more = [*messages, {"role": "assistant", "content": "a"}, {"role": "user", "content": "two"}]
    (session,) = read(tmp_path, chat(messages, "c1", 0, 3_679, 0), chat(more, "c2", 3_679, 21, 20))
    assert session.requests[1].usage == Usage(fresh=2, read=3_679, write_short=21, write_long=0, output=6)
    assert [verdict.kind for verdict in diagnose(session).verdicts] == ["first", "hit"]


@pytest.mark.parametrize(
    ("sent", "reason", "missed"),
    [
        ({"type": "cache_miss", "reason": "tools_changed", "cache_missed_tokens": 3_000}, "tools_changed", 3_000),
        ({"type": "cache_hit"}, None, None),
        ({"type": "comparison_response_not_found"}, "previous_message_not_found", None),
        ({"type": "unavailable"}, "unavailable", None),
    ],
)
def test_the_providers_own_word(tmp_path: Path, sent: dict[str, Any], reason: str | None, missed: int | None) -> None:
    (session,) = read(tmp_path, call(0, asked(user("one")), said("r1", "a", 0, 3_679, prompt_cache_diagnostics=sent)))
    told = session.requests[0].diagnosis
    assert (told.reported, told.reason, told.missed_tokens) == (True, reason, missed)


def test_cached_tokens_are_never_counted_as_fresh_and_more_than_all_is_refused(tmp_path: Path) -> None:
    told: list[Problem] = []
    broken: dict[str, Any] = said("r1", "a", 0, 3_679)
    broken["usage"]["input_tokens"] = 3_000
    assert not read(tmp_path, call(0, asked(user("one")), broken), told=told)
    assert "read" in told[0].reason or "counter" in told[0].reason


def test_older_models_report_no_writes(tmp_path: Path) -> None:
    answer = said("r1", "a", 2_944, 0, fresh=735)
    del answer["usage"]["input_tokens_details"]["cache_write_tokens_details"]
    body = asked(user("one"), model="gpt-5.1")
    answer["model"] = "gpt-5.1"
    (session,) = read(tmp_path, call(0, body, answer))
    assert session.requests[0].usage == Usage(fresh=735, read=2_944, output=6)


@pytest.mark.parametrize("policy", ["ttl-5m", "ttl-1h"])
def test_lifetimes_that_the_provider_does_not_offer_are_not_tried(tmp_path: Path, policy: str) -> None:
    marked = asked(user("one", prompt_cache_breakpoint=MARK))
    sessions = read(tmp_path, call(0, marked, said("r1", "a", 0, 3_679)))
    reasons = [str(left.reason) for left in compare(sessions, [policy]).not_tried]
    assert any("1,800 s or 43,200 s" in reason for reason in reasons)


def pair(folder: Path, *rows: dict[str, Any]) -> list[Session]:
    path = folder / "calls.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = detect(str(path))
    assert found is not None
    assert found.name == "pairs"
    return list(pairs.read_sessions([str(path)]))


def of(entry: dict[str, Any], *, events: bool = False) -> dict[str, Any]:
    """The call of an archive as a row of a logger."""
    text = entry["response"]["content"]["text"]
    told = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")] if events else text
    return {"request": json.loads(entry["request"]["postData"]["text"]), "response": told}


@pytest.mark.parametrize("events", [False, True])
def test_rows_of_a_logger_say_the_same_as_an_archive(tmp_path: Path, events: bool) -> None:
    whole = pair(tmp_path, *(of(entry) for entry in I14))[0]
    assert [request.usage for request in whole.requests] == [
        request.usage for request in read(tmp_path, *I14)[0].requests
    ]
    assert [verdict.kind for verdict in diagnose(whole).verdicts] == ["first", "hit", "hit", "hit"]
    first = call(0, asked(*HISTORY[:1]), stream("r1", "a", 0, 3_679))
    continued = call(20, asked(user("two"), previous_response_id="r1"), stream("r2", "b", 3_679, 21))
    (streamed,) = pair(tmp_path, *(of(entry, events=events) for entry in (first, continued)))
    assert [request.prompt for request in streamed.requests] == [request.prompt for request in whole.requests][:2]


def test_chat_rows_are_told_by_their_counters(tmp_path: Path) -> None:
    messages = [{"role": "developer", "content": SYSTEM}, {"role": "user", "content": "one"}]
    (session,) = pair(tmp_path, of(chat(messages, "c1", 0, 3_679, 0)))
    assert session.requests[0].provider == "openai"
    assert session.requests[0].usage == Usage(fresh=2, read=0, write_short=3_679, write_long=0, output=6)


def archive_of(*entries: dict[str, Any]) -> bytes:
    log = {"version": "1.2", "creator": {"name": "test"}, "entries": list(entries)}
    return json.dumps({"log": log}, indent=1).encode()


WHOLE = archive_of(
    I14[0],
    call(20, asked(user("two", prompt_cache_breakpoint=MARK), previous_response_id="r1"), stream("r2", "b", 3_679, 21)),
    chat([{"role": "developer", "content": SYSTEM}, {"role": "user", "content": "one"}], "c1", 0, 3_679, 40),
)
ROWS = "".join(json.dumps(of(entry)) + "\n" for entry in I14).encode()


@often
@given(damage=damages)
def test_a_damaged_archive(tmp_path: Path, damage: Any) -> None:
    check_damaged(har, tmp_path / "x.har", damaged(WHOLE, damage))


@often
@given(damage=damages)
def test_damaged_rows(tmp_path: Path, damage: Any) -> None:
    check_damaged(pairs, tmp_path / "x.jsonl", damaged(ROWS, damage))
