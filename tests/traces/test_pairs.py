"""Requests beside their responses, under whatever names."""

from __future__ import annotations

import json

import pytest

from agentsim.core.session import Usage
from agentsim.diagnose import diagnose
from agentsim.traces.hostile_records import TraceError
from agentsim.traces.readers.pairs import read_sessions
from tests.traces.captures import START, body, conversation, jsonl, response, sse, stream, usage, user

ASKED = body(user("hi"))
ANSWERED = response("m", usage(fresh=3, write=10, read=20, output=4))
EXPECTED = Usage(fresh=3, write_short=10, write_long=0, read=20, output=4)
STREAM = stream("m", usage(fresh=3, write=10, read=20, output=1), {"output_tokens": 4})


def read_all(folder, *rows):
    path = folder / "pairs.jsonl"
    path.write_bytes(jsonl(*rows))
    return list(read_sessions([str(path)]))


@pytest.mark.parametrize(
    "row",
    [
        {"request": ASKED, "response": ANSWERED},
        {"request": {"body": ASKED}, "response": {"body": ANSWERED, "status": 200}},
        {"request": {"body": json.dumps(ASKED)}, "response": {"body": json.dumps(ANSWERED)}},
        {"request_body": json.dumps(ASKED), "response_body": json.dumps(ANSWERED)},
        {"requestBody": ASKED, "responseBody": ANSWERED},
        {"body": ASKED, "response": sse(*STREAM)},
        {"request": ASKED, "response": {"body_raw": sse(*STREAM)}},
        {"request": ASKED, "response": STREAM},
        {"request": ASKED, "response": {"content": STREAM}},
        {"request": ASKED, "usage": ANSWERED["usage"]},
        {"request": ASKED, "response": None, "usage": ANSWERED["usage"]},
        {**ASKED, "response": ANSWERED},
        {**ASKED, "usage": ANSWERED["usage"]},
    ],
    ids=lambda row: "+".join(row)[:40],
)
def test_a_pair_is_found_under_usual_names(tmp_path, row):
    (session,) = read_all(tmp_path, row)
    assert session.accounting.used == 1
    (request,) = session.requests
    assert request.usage == EXPECTED
    assert len(request.prompt) == len(ASKED["tools"]) + 1 + 1


@pytest.mark.parametrize(
    ("names", "first_token"),
    [
        ({"start": START + 0.5, "end": START + 2}, None),
        ({"timestamp": f"{START}.5", "end": START}, None),
        ({"startTime": (START * 1000) + 500, "endTime": (START + 2) * 1000}, None),
        (
            {
                "start_time": "2026-05-28T20:26:40.5Z",
                "end_time": "2026-05-28T20:26:42Z",
                "completionStartTime": "2026-05-28T20:26:41Z",
            },
            START + 1,
        ),
    ],
)
def test_times_are_taken_in_usual_forms(tmp_path, names, first_token):
    (session,) = read_all(tmp_path, {"request": ASKED, "response": ANSWERED, **names})
    (request,) = session.requests
    if "timestamp" in names:
        # A number in a string is no time stamp, and an end alone is one.
        assert (request.start, request.end) == (None, START * 10**9)
        return
    assert (request.start, request.end) == (START * 10**9 + 500_000_000, (START + 2) * 10**9)
    assert request.first_token == (None if first_token is None else first_token * 10**9)


def test_without_times_the_order_is_that_of_the_file(tmp_path):
    rows = [{"request": asked, "response": response(f"m{n}")} for n, asked in enumerate(conversation(3))]
    (session,) = read_all(tmp_path, *rows)
    assert [request.parent for request in session.requests] == [None, "m0", "m1"]
    assert {request.start for request in session.requests} == {None}


def test_rows_of_several_sessions_are_told_apart(tmp_path):
    rows = [{"request": ASKED, "response": response(f"m{n}"), "session_id": name} for n, name in enumerate("aba")]
    assert [(session.id, len(session.requests)) for session in read_all(tmp_path, *rows)] == [("a", 2), ("b", 1)]


def test_an_error_response_is_not_billable(tmp_path):
    rows = [{"request": ASKED, "response": ANSWERED}, {"request": ASKED, "response": {"status": 429, "body": {}}}]
    (session,) = read_all(tmp_path, *rows)
    assert (session.accounting.used, session.accounting.not_billable) == (1, 1)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"response": ANSWERED}, "not a Messages request"),
        ({"request": {"messages": 3}, "response": ANSWERED}, "not a Messages request"),
        ({"request": ASKED, "response": {"usage": {"input_tokens": "3"}}}, "bad counter"),
        ({"request": ASKED, "response": {"usage": {"prompt_tokens": 3}}}, "other provider"),
        ({"request": ASKED, "response": {"usage": None}}, "no usage"),
    ],
)
def test_a_bad_row_is_skipped_with_its_reason(tmp_path, row, reason):
    (session,) = read_all(tmp_path, {"request": ASKED, "response": ANSWERED}, row)
    assert session.accounting.skipped == ((reason, 1),)
    assert session.accounting.adds_up
    with pytest.raises(TraceError, match=reason):
        read_all(tmp_path, row)


def test_copies_without_ids_count_once_or_are_told(tmp_path):
    said = {name: value for name, value in ANSWERED.items() if name != "id"}
    timed = {"request": ASKED, "response": said, "start": START}
    (session,) = read_all(tmp_path, timed, timed, {**timed, "start": START + 1})
    assert (session.accounting.used, session.accounting.duplicate) == (2, 1)
    assert not session.problems
    bare = {"request": ASKED, "response": said}
    (session,) = read_all(tmp_path, bare, bare)
    assert session.accounting.used == 2
    (problem,) = session.problems
    assert problem.note
    assert "perhaps a copy" in problem.reason


def test_a_row_may_say_who_answered_and_whose_account_it_was(tmp_path):
    row = {"request": ASKED, "response": ANSWERED, "provider": "Bedrock", "host": "east-1", "account": "mine"}
    (session,) = read_all(tmp_path, row)
    (request,) = session.requests
    assert (request.provider, request.host, request.account) == ("bedrock", "east-1", "mine")


def test_a_server_that_is_not_the_vendors_says_so(tmp_path):
    asked = {**ASKED, "model": "kimi-k3"}
    (session,) = read_all(tmp_path, {"request": asked, "response": {**ANSWERED, "model": "kimi-k3"}})
    assert session.requests[0].provider == "moonshotai"
    (problem,) = session.problems
    assert problem.note
    assert "not Anthropic's" in problem.reason


def test_a_cache_key_is_no_session(tmp_path):
    usage = {"prompt_tokens": 2000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0}}
    rows = [
        {"request": {"model": "gpt-5.5", "messages": [{"role": "user", "content": "x"}], "prompt_cache_key": key},
         "response": {"id": f"r{n}", "model": "gpt-5.5", "choices": [], "usage": usage}}
        for n, key in enumerate(("a", "b", "c"))
    ]  # fmt: skip
    (session,) = read_all(tmp_path, *rows)
    assert session.accounting.used == 3


def test_chat_completions_with_markers_are_read_as_written(tmp_path):
    text = {"type": "text", "text": "You are an agent. " * 900, "cache_control": {"type": "ephemeral"}}
    rows = []
    for n, counts in enumerate(({"cache_write_tokens": 5000}, {"cached_tokens": 5000, "cache_write_tokens": 0})):
        messages = [{"role": "system", "content": [text]}, {"role": "user", "content": f"q{n}"}]
        usage = {"prompt_tokens": 5010, "completion_tokens": 5, "prompt_tokens_details": counts}
        said: dict[str, object] = {
            "id": f"gen-{n}",
            "provider": ("Anthropic", "Google")[n],
            "choices": [],
            "usage": usage,
        }
        rows.append({"request": {"model": "anthropic/claude-sonnet-4.6", "messages": messages}, "response": said})
    (session,) = read_all(tmp_path, *rows)
    first, second = session.requests
    assert (first.usage.write_short, second.usage.read) == (5000, 5000)
    assert [(request.provider, request.host) for request in session.requests] == [
        ("openrouter", "Anthropic"), ("openrouter", "Google")
    ]  # fmt: skip
    assert [marker.ttl for marker in first.prompt.breakpoints] == [300]
    assert first.prompt[0].digest == second.prompt[0].digest


def test_each_session_accounts_for_its_own_rows_and_the_first_for_those_of_none(tmp_path):
    def row(session, n, **more):
        answered = response(f"{session}-{n}", usage())
        return {
            "request": ASKED,
            "response": answered,
            "session": session,
            "start": START + n,
            "end": START + n,
            **more,
        }

    failed = row("two", 4, response={"status": 529, "body": {"error": {}}})
    one, two = read_all(tmp_path, row("one", 1), row("two", 2), row("two", 3), failed, row("two", 5), row("two", 5), {})
    told = [session.accounting for session in (one, two)]
    assert all(accounting.adds_up for accounting in told)
    assert [(one.rows, one.used, one.duplicate, one.not_billable) for one in told] == [(2, 1, 0, 0), (5, 3, 1, 1)]
    assert one.problems
    assert not two.problems
    (error,) = two.events
    assert (error.kind, error.before) == ("api_error", "two-5"), "an error belongs to the request that comes after it"


def test_a_capture_tells_another_model_as_a_log_does(tmp_path):
    models = ("claude-opus-5", "claude-haiku-4-5")
    rows = [
        {"request": {**asked, "model": model}, "response": response(model, usage(), model=model)}
        for asked, model in zip(conversation(2), models, strict=True)
    ]
    (session,) = read_all(tmp_path, *rows)
    (change,) = session.events
    assert (change.kind, change.before) == ("model_change", "claude-haiku-4-5")


READS, SILENT = {"cached_tokens": 70}, {"cached_tokens": 0}
BOTH = {"cached_tokens": 0, "cache_write_tokens": 0}


@pytest.mark.parametrize(
    ("details", "beside", "words"),
    [
        (SILENT, {"cache_read_input_tokens": 70}, "cached_tokens says 0 and cache_read_input_tokens 70"),
        (READS, {"cache_read_input_tokens": 0}, "cache_read_input_tokens says 0"),
        (READS, {"cache_read_input_tokens": 70}, None),
        (SILENT, {"cache_read_input_tokens": 0}, None),
        ({"cached_tokens": 70, "cache_write_tokens": 9}, {}, None),
        (BOTH, {"cache_creation_input_tokens": 9}, "cache_write_tokens says 0 and cache_creation_input_tokens 9"),
    ],
)
def test_counters_that_contradict_each_other_are_told_once(tmp_path, details, beside, words):
    asked = {"model": "claude-opus-5", "messages": [{"role": "system", "content": "x"}]}
    counters = {"prompt_tokens": 100, "completion_tokens": 3, "prompt_tokens_details": details, **beside}
    rows = [{"request": asked, "response": {"id": f"c{n}", "usage": counters}, "start": START + n} for n in (0, 1)]
    (session,) = read_all(tmp_path, *rows)
    told = [problem.reason for problem in session.problems if "contradictory counters" in problem.reason]
    assert len(told) == (words is not None)
    assert words is None or words in told[0]


CODEX, GROK = "https://chatgpt.com/backend-api/codex/responses", "https://api.x.ai/v1/responses"


@pytest.mark.parametrize(
    ("url", "headers", "key", "cause"),
    [
        (CODEX, {"user-agent": "x"}, None, "AS503"),
        (CODEX, {"Session_ID": "a"}, None, "AS902"),
        (CODEX, None, None, "AS902"),  # no headers were recorded
        (CODEX, {"user-agent": "x"}, "k", "AS902"),
        (GROK, {"user-agent": "x"}, None, "AS503"),
        (GROK, {"x-grok-conv-id": "a"}, None, "AS902"),
        ("https://api.openai.com/v1/responses", {"user-agent": "x"}, None, "AS902"),
    ],
)
def test_a_header_that_leads_back_to_a_machine_and_was_not_sent(tmp_path, url, headers, key, cause):
    asked = {"model": "grok-4.5" if url == GROK else "gpt-5.4", "instructions": "be brief " * 9_000, "input": "go on"}
    if key is not None:
        asked["prompt_cache_key"] = key
    counters = {"input_tokens": 20_000, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 3}
    rows = [
        {
            "url": url,
            "request": {"body": asked, **({} if headers is None else {"headers": headers})},
            "response": {"id": f"r{number}", "usage": counters},
            "start": START + 50 * number,
            "end": START + 50 * number + 2,
        }
        for number in (0, 1)
    ]
    (session,) = read_all(tmp_path, *rows)
    verdict = diagnose(session).verdicts[1]
    assert (verdict.kind, verdict.cause) == ("miss", cause)
    assert (verdict.fix is not None and "with every request" in verdict.fix) is (cause == "AS503")
