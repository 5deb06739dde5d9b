"""The account of a session's contexts: its parts are the bill, whatever the log."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.context import ContextAccount, account, together
from agentsim.context.context_alternatives import cut_results, deferred_definitions, fresh_subagents
from agentsim.core.additions import Addition, SinceParent
from agentsim.core.session import Lane, Request, Session, Usage
from agentsim.rules.prices import default_book
from agentsim.traces.format_registry import read
from tests.traces.format_samples import BY_MODULE

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
MODEL = "claude-sonnet-4-5"
FRESH, WRITE, READ, OUTPUT = 3_000_000, 3_750_000, 300_000, 15_000_000
"""Picodollars a token of that model."""


def accounted(given_session: Session, growths: dict[str, SinceParent] | None = None) -> ContextAccount:
    """The account of a session, of which the parts are the bill, and no part is below zero."""
    found = account(given_session, growths)
    book = default_book()
    paid = [
        book.price(r)[0] for r in given_session.requests if r.counted and r.usage is not None and r.usage.total_input
    ]
    assert found.bill == sum(cost for cost in paid if cost is not None)
    assert found.input + found.output == found.bill
    assert sum(group.cost for group in found.groups()) == found.input
    for block in found.blocks:
        assert min(block.tokens, block.rows, block.reads, block.again, block.read, block.written, block.fresh) >= 0
        assert block.reads + block.again <= block.rows
        assert block.left is None or block.left >= block.since
    return found


@pytest.mark.parametrize("name", sorted(BY_MODULE))
def test_the_parts_are_the_bill_in_every_format(tmp_path: Path, name: str) -> None:
    path = BY_MODULE[name](tmp_path)
    for session in read([str(path if name != "raw_bodies" else tmp_path)], []):
        accounted(session)


@pytest.mark.parametrize("folder", ["claude-code", "codex", "opencode", "pi", "claude-trace", "openhands-llm-log"])
def test_the_parts_are_the_bill_in_real_logs(folder: str) -> None:
    if not (DATA / folder).is_dir():
        pytest.skip("no shared data here")
    for session in read([str(DATA / folder)], []):
        accounted(session)


def session(*requests: Request) -> Session:
    lanes = tuple(Lane(id=lane, title=lane) for lane in dict.fromkeys(request.lane for request in requests))
    return Session(id="s", format="test", completeness="usage", lanes=lanes, requests=requests)


def request(number: int, usage: Usage, parent: int | None = None, **more: object) -> Request:
    return Request(
        id=f"r{number}",
        lane="main",
        model=MODEL,
        start=1_760_000_000_000_000_000 + number * 10**9,
        usage=usage,
        parent=None if parent is None else f"r{parent}",
        **more,  # type: ignore[arg-type]
    )


def piece(kind: str, tokens: int | None, **more: object) -> Addition:
    return Addition(kind=kind, tokens=tokens, **more)  # type: ignore[arg-type]


def test_a_piece_is_paid_at_the_price_of_its_place() -> None:
    growths = {
        "r1": SinceParent(additions=(piece("user", 100),)),
        "r2": SinceParent(additions=(piece("text", 10, replied=True), piece("result", 190, name="Bash"))),
        "r3": SinceParent(additions=(piece("result", 50, name="Read"),)),
    }
    found = accounted(
        session(
            request(1, Usage(write_short=1000, fresh=100, read=0, output=10)),
            request(2, Usage(write_short=290, fresh=10, read=1000, output=0), 1),
            request(3, Usage(write_short=1350, fresh=0, read=0, output=5), 2),
        ),
        growths,
    )
    by_kind = {(block.kind, block.name): block for block in found.blocks}
    head, bash = by_kind["rest", None], by_kind["result", "Bash"]
    assert (head.tokens, head.written, head.read, head.again) == (1000, 1000 * 2 * WRITE, 1000 * READ, 1)
    user = by_kind["user", None]
    assert (user.fresh, user.written) == (100 * FRESH, 200 * WRITE)
    assert (bash.tokens, bash.written, bash.fresh, bash.rows, bash.again) == (190, 370 * WRITE, 10 * FRESH, 2, 1)
    assert found.output == 15 * OUTPUT


def test_a_summary_lets_everything_leave_but_the_head() -> None:
    growths = {
        "r1": SinceParent(additions=(piece("user", 100),)),
        "r2": SinceParent(additions=(piece("result", 900),)),
        "r3": SinceParent(additions=(piece("summary", 80), piece("user", 20)), anew=True),
    }
    found = accounted(
        session(
            request(1, Usage(write_short=500, read=0)),
            request(2, Usage(write_short=900, read=500), 1),
            request(3, Usage(write_short=100, read=400), 2),
        ),
        growths,
    )
    assert {(block.kind, block.tokens, block.left) for block in found.blocks} == {
        ("rest", 400, None),
        ("user", 100, 2),
        ("result", 900, 2),
        ("summary", 80, None),
        ("user", 20, None),
    }


def test_a_cleared_result_leaves_before_others() -> None:
    growths = {
        "r1": SinceParent(additions=(piece("result", 300, call="old"), piece("result", 300, call="new"))),
        "r2": SinceParent(additions=(piece("user", 10),), cleared=frozenset({"new"})),
    }
    found = accounted(
        session(request(1, Usage(write_short=600)), request(2, Usage(write_short=322, read=0), 1)), growths
    )
    rows = {block.call: block.written // WRITE for block in found.blocks if block.call}
    assert rows == {"old": 600, "new": 312}


def test_a_rewind_comes_back_to_what_was_there() -> None:
    growths = {f"r{n}": SinceParent(additions=(piece("user", 100, line=n),)) for n in (1, 2, 3)}
    found = accounted(
        session(
            request(1, Usage(write_short=100)),
            request(2, Usage(write_short=100, read=100), 1),
            request(3, Usage(write_short=100, read=100), 1),
        ),
        growths,
    )
    assert [(b.line, b.left, b.rows) for b in sorted(found.blocks, key=lambda b: b.since)] == [
        (1, None, 3),
        (2, 2, 1),
        (3, None, 1),
    ]


counts = st.integers(min_value=0, max_value=3000)
pieces = st.lists(
    st.builds(
        piece, st.sampled_from(["user", "result", "thinking", "text", "call", "file"]), st.none() | st.integers(0, 2000)
    ),
    max_size=4,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(counts, counts, counts, counts, pieces, st.booleans(), st.integers(0, 9)), max_size=9))
def test_the_parts_are_the_bill_whatever_a_log_claims(
    rows: list[tuple[int, int, int, int, list[Addition], bool, int]],
) -> None:
    requests, growths = [], {}
    for number, (fresh, write, read_, output, added, anew, parent) in enumerate(rows):
        usage = Usage(fresh=fresh, write_short=write // 2, write_long=write - write // 2, read=read_, output=output)
        requests.append(request(number, usage, parent if parent < number else None))
        if parent % 3:
            growths[f"r{number}"] = SinceParent(additions=tuple(added), anew=anew)
    accounted(session(*requests), growths)


def test_several_sessions_are_the_sum_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from agentsim.cli import main

    one = accounted(session(request(1, Usage(write_short=1000, output=7))))
    two = accounted(session(request(1, Usage(fresh=300)), request(2, Usage(read=100, fresh=250), 1)))
    both = together([one, two])
    assert (both.bill, both.output, both.requests) == (one.bill + two.bill, one.output, 3)
    assert sum(group.cost for group in both.groups()) + both.output == both.bill
    for name in ("claude_code", "pi"):
        (tmp_path / name).mkdir()
        BY_MODULE[name](tmp_path / name)
    assert main(["context", str(tmp_path)]) == 0
    page = capsys.readouterr().out
    assert page.startswith("2 sessions")
    assert "most spent on" in page


def test_results_are_cut_by_their_length() -> None:
    growths = {"r1": SinceParent(additions=(piece("result", 1000, name="Bash", characters=4000),))}
    found = accounted(session(request(1, Usage(write_short=1000))), growths)
    cuts = {cut.characters: cut for cut in cut_results(found, (4000, 3999, 1000))}
    assert (cuts[4000].results, cuts[3999].results) == (0, 1)
    assert cuts[1000].shell_saves == cuts[1000].saves == 1000 * WRITE * 3000 // 4000


def test_definitions_are_deferred_until_they_are_called() -> None:
    samples = Path(__file__).resolve().parents[3] / "traces" / "samples"
    (trace,) = read([str(samples / "atlas-14.jsonl")], [])
    found = accounted(trace)
    deferred = deferred_definitions(found)
    assert deferred is not None
    tools = sum(block.cost for block in found.blocks if block.kind == "tools")
    assert (deferred.never, deferred.never_cost) == (0, 0)
    assert 0 < deferred.later_cost <= tools


def test_a_subagent_pays_where_much_stood_before_a_long_turn() -> None:
    growths = {
        "r1": SinceParent(additions=(piece("user", 100),)),
        "r2": SinceParent(additions=(piece("user", 90_000),)),
        **{f"r{n}": SinceParent(additions=(piece("result", 3000),)) for n in range(3, 9)},
        "r9": SinceParent(additions=(piece("user", 100),)),
    }
    usages = [Usage(write_short=1000), Usage(write_short=90_000, read=1000)]
    usages += [Usage(write_short=3000, read=91_000 + 3000 * n) for n in range(6)]
    usages += [Usage(write_short=100, read=109_000)]
    requests = [request(n, usage, n - 1 or None) for n, usage in enumerate(usages, 1)]
    asked = msgspec.structs.replace(session(*requests))
    from agentsim.core.session import Event

    events = tuple(Event(kind="prompt_submitted", time=None, lane="main", before=f"r{n}") for n in (1, 2, 3, 9))
    found = accounted(msgspec.structs.replace(asked, events=events), growths)
    (best, *_) = fresh_subagents(found)
    assert (best.turn.first, best.turn.last, best.turn.before, best.turn.work) == (3, 8, 91_000, 18_000)
    assert best.stays_out == 5 * (91_000 - best.turn.head) * READ


def test_json_and_page_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from agentsim.cli import main

    path = BY_MODULE["claude_code"](tmp_path)
    assert main(["context", str(path), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["sessions"]
    assert main(["context", str(path)]) == 0
    page = capsys.readouterr().out
    assert one["id"] in page
    assert "the bill" in page
    from decimal import Decimal

    assert sum(Decimal(group["cost"]) for group in one["groups"]) + Decimal(one["output"]) == Decimal(one["bill"])


def test_a_row_costs_what_it_adds_and_not_what_was_there() -> None:
    """3,000 turns of a growing conversation: minutes, were the whole stack looked at in each."""
    import time

    from agentsim.core.session import Event

    requests, growths, events = [], {}, []
    for number in range(1, 3001):
        usage = Usage(read=60 * (number - 1), write_short=60, output=10)
        requests.append(request(number, usage, number - 1 or None))
        growths[f"r{number}"] = SinceParent(
            additions=(piece("text", 10, replied=True), piece("result", 50, name="Bash"))
        )
        events.append(Event(kind="prompt_submitted", time=None, lane="main", before=f"r{number}"))
    began = time.process_time()
    found = accounted(msgspec.structs.replace(session(*requests), events=tuple(events)), growths)
    assert time.process_time() - began < 5
    assert len(found.turns) == 3000


def test_without_prices_there_are_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from agentsim.cli import main
    from agentsim.traces.samples.claude_log import ClaudeLog

    log = ClaudeLog("one", model="claude-nobody-knows-9")
    log.user()
    log.call(0, 4_000, output=10)
    assert main(["context", str(log.save(tmp_path / "one.jsonl"))]) == 0
    page = capsys.readouterr().out
    assert "Not priced, and in no sum: 1 request (claude-nobody-knows-9)." in " ".join(page.split())
    assert re.search(r"not in the log +1 +4,00\d", page)
    assert "$" not in page
