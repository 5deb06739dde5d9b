"""What is written is read back, exactly; what is new in a prompt is all that is written of it."""

from __future__ import annotations

import io

import msgspec
import pytest
from hypothesis import given, settings

from agentsim.core.prompt import Prompt
from agentsim.core.session import Accounting, Lane, Problem, Request, Session, Source
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.hostile_records import TraceError
from agentsim.traces.readers.agentsim1 import lines, read_sessions, write
from agentsim.traces.readers.agentsim1.trace_wire import nanoseconds, seconds
from tests.traces.sessions import sessions, text_block


def written(*parts, **options):
    stream = io.BytesIO()
    write(parts, stream, **options)
    return stream.getvalue()


def read_back(folder, data, problems=None):
    path = folder / "trace.jsonl"
    path.write_bytes(data)
    return list(read_sessions([str(path)], problems))


@settings(max_examples=150, deadline=None)
@given(session=sessions())
def test_a_session_survives_to_the_last_field(tmp_path_factory, session):
    data = written(session)
    (read,) = read_back(tmp_path_factory.mktemp("trace"), data)
    assert read == session
    for mine, others in zip(read.requests, session.requests, strict=True):
        assert (mine.prompt is None) == (others.prompt is None)
        if mine.prompt is not None:
            # Equality of prompts is that of digests; the blocks must be equal in all their fields too.
            assert list(mine.prompt) == list(others.prompt)
    assert written(read) == data


def test_without_text_everything_else_is_kept(tmp_path):
    prompt = Prompt.of([text_block("canary")])
    session = small([Request(id="r", lane="main", model="m", start=1, prompt=prompt)])
    data = written(session, text=False)
    assert b"canary" not in data
    (read,) = read_back(tmp_path, data)
    assert read.requests[0].prompt == prompt
    assert read.requests[0].prompt[0].text is None


def test_a_file_grows_with_what_is_new_and_not_with_the_prompts():
    """100 requests that append one block each: 100 blocks are written, not 1 + 2 + … + 100 = 5,050."""
    prompt, requests = Prompt.of([]), []
    for number in range(100):
        prompt = prompt.extend([text_block(f"{number:03}")])
        requests.append(Request(id=f"r{number}", lane="main", model="m", start=number, prompt=prompt))
    assert written(small(requests)).count(b'"section"') == 100


def test_a_block_that_was_recounted_is_written_again():
    one = Prompt.of([text_block("a", tokens=1), text_block("b", tokens=1)])
    other = Prompt.of([text_block("a", tokens=1), text_block("b", tokens=7)])
    requests = [Request(id=str(n), lane="main", model="m", start=n, prompt=p) for n, p in enumerate((one, other))]
    *_, last = lines(small(requests))
    row = msgspec.json.decode(last)
    assert (row["prompt"]["grew_from"], row["prompt"]["keep"]) == ("0", 1)
    assert [block["tokens"] for block in row["prompt"]["blocks"]] == [7]


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "0"),
        (1, "0.000000001"),
        (1_748_554_707_332_000_000, "1748554707.332"),
        (-1_500_000_000, "-1.5"),
        (9_007_199_254_740_993, "9007199.254740993"),  # 2^53 + 1: a float could not hold it
        (None, None),
    ],
)
def test_times_are_exact_to_the_nanosecond(time, text):
    assert seconds(time) == text
    assert nanoseconds(text) == time


@pytest.mark.parametrize("text", ["", "1.", ".5", "1e3", "1.0000000001", " 1", "1\n", "+1", "١"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(BadRow):
        nanoseconds(text)


def test_several_sessions_in_one_file(tmp_path):
    one = small([Request(id="r", lane="main", model="m", start=1)], name="one")
    two = small([Request(id="r", lane="main", model="m", start=2)], name="two")
    assert [session.id for session in read_back(tmp_path, written(one, two))] == ["one", "two"]


def test_a_session_that_is_there_twice_counts_once(tmp_path):
    session = small([Request(id="r", lane="main", model="m", start=1)])
    problems: list[Problem] = []
    assert len(read_back(tmp_path, written(session, session), problems)) == 1
    assert "twice" in problems[0].reason


def test_the_accounting_is_that_of_the_log_and_of_the_rows_lost_since(tmp_path):
    session = small(
        [Request(id="a", lane="main", model="m", start=1), Request(id="b", lane="main", model="m", start=2)],
        accounting=Accounting(rows=10, used=7, not_billable=3),
    )
    header, first, second = written(session).splitlines(keepends=True)
    (read,) = read_back(tmp_path, header + first + first + b"{broken\n" + second)
    assert [request.id for request in read.requests] == ["a", "b"]
    assert read.accounting == Accounting(rows=12, used=7, duplicate=1, not_billable=3, skipped=(("broken JSON", 1),))
    assert (read.problems[0].line, read.problems[0].reason) == (4, "broken JSON")


def test_a_trace_made_by_hand_accounts_for_its_own_rows(tmp_path):
    (read,) = read_back(tmp_path, written(small([Request(id="a", lane="main", model="m", start=1)])))
    assert read.accounting == Accounting(rows=2, used=1, not_billable=1)


def test_losing_a_row_costs_later_rows_their_prompts_and_not_their_counters(tmp_path):
    prompt = Prompt.of([text_block("a")])
    requests = [
        Request(id="a", lane="main", model="m", start=1, prompt=prompt),
        Request(id="b", lane="main", model="m", start=2, prompt=prompt.extend([text_block("b")])),
    ]
    header, _, second = written(small(requests)).splitlines(keepends=True)
    (read,) = read_back(tmp_path, header + second)
    assert [(request.id, request.prompt) for request in read.requests] == [("b", None)]
    assert read.problems[0].reason.startswith("prompt unknown")
    assert read.accounting.adds_up


def test_names_that_are_not_unicode_can_be_written(tmp_path):
    source = Source("caf\udce9.jsonl", 1)
    session = small([Request(id="a", lane="main", model="m", start=1, source=source)])
    (read,) = read_back(tmp_path, written(session))
    assert read.requests[0].source == Source("caf\\udce9.jsonl", 1)


def test_a_newer_version_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(TraceError, match=r"trace\.jsonl:1: .*agentsim/2.*agentsim/1: update"):
        read_back(tmp_path, b'{"record":"session","format":"agentsim/2","new":1}\n')


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b'{"record":"request"}\n', b"nonsense"])
def test_a_file_without_a_session_is_an_error_that_names_it(tmp_path, data):
    with pytest.raises(TraceError, match=r"trace\.jsonl: no agentsim/1 session"):
        read_back(tmp_path, data)


def small(requests, name="s", accounting=Accounting()):  # noqa: B008 - immutable
    return Session(
        id=name,
        format="agentsim/1",
        completeness="full",
        lanes=(Lane(id="main", title="main"),),
        requests=tuple(requests),
        accounting=accounting,
    )


def test_a_file_that_was_cut_between_two_lines_is_told(tmp_path):
    requests = [Request(id=str(n), lane="main", model="m", start=n) for n in range(5)]
    (read,) = read_back(tmp_path, b"".join(written(small(requests)).splitlines(keepends=True)[:3]))
    assert len(read.requests) == 2
    assert [problem.reason for problem in read.problems] == ["cut short: 3 of 5 requests are missing"]


def test_an_accounting_that_does_not_add_up_is_not_believed(tmp_path):
    session = small([Request(id="a", lane="main", model="m", start=1)], accounting=Accounting(rows=10, used=7))
    (read,) = read_back(tmp_path, written(session))
    assert read.accounting == Accounting(rows=2, used=1, not_billable=1)
    assert read.problems[0].reason.startswith("bad accounting")
