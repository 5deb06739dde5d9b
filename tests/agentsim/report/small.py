"""A judged session of four requests, small enough to check by hand, on which reports are tried.

Prices are those of a model at $5 a million input tokens: write 6.25, read 0.50.
"""

from __future__ import annotations

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Lane, Request, Row, Session, Source, Usage
from agentsim.core.verdict import Divergence, Verdict
from agentsim.diagnose import Diagnosis
from agentsim.diagnose.diagnosis_totals import add_up

TEN = 1_767_607_200 * SECOND  # 2026-01-05 10:00:00 UTC
WRITE, READ, FRESH = 6_250_000, 500_000, 5_000_000  # picodollars a token


def row(id: str, start: int, took: int, written: int, read: int, **more: object) -> Row:
    """A row that starts ``start`` seconds after ten and takes ``took`` tenths of a second."""
    begin = TEN + start * SECOND
    usage = Usage(fresh=0, write_short=written, read=read, output=300)
    cost = written * WRITE + read * READ
    request = Request(
        id=id,
        lane="main",
        model="claude-opus-4-5",
        start=begin,
        end=begin + took * SECOND // 10,
        usage=usage,
        source=Source("small.jsonl", 1),
    )
    request = msgspec.structs.replace(request, **more)
    # Micro-tokens of ordinary input: picodollars over picodollars a token, times a million.
    return Row(
        request=request,
        usage=usage,
        start=request.start,
        first_token=None,
        end=request.end,
        cost=cost,
        equivalents=cost * 10**6 // FRESH,
    )


MISS = Verdict(
    request="r3",
    kind="miss",
    cause="AS101",
    evidence="proved",
    place=Divergence(
        section="tools", block=7, address="tools[7]", name="db_query", change="inserted", after="{secret}"
    ),
    expected=10_000,
    predicted=10_000,
    prediction="wrong",
    lost=10_000,
    lost_cost=10_000 * (WRITE - READ),
    lost_equivalents=10_000 * (WRITE - READ) * 10**6 // FRESH,
    established=("The first seven tools are the same as before.",),
    to_check=("Whether the tool was there from the start.",),
    fix="Load the tool later, through deferred discovery.",
)


def diagnosis(rows: list[Row], verdicts: list[Verdict], **session: object) -> Diagnosis:
    """A judged session of these rows."""
    requests = tuple(row.request for row in rows)
    whole = Session(
        id="small", format="agentsim/1", completeness="full", lanes=(Lane(id="main", title=""),), requests=requests
    )
    return Diagnosis(
        session=msgspec.structs.replace(whole, **session),
        rows=tuple(rows),
        verdicts=tuple(verdicts),
        totals=add_up(requests, rows, verdicts, 0),
        by_bodies=True,
    )


def small() -> Diagnosis:
    """The session of the golden files."""
    rows = [
        row("r1", 0, 200, 8_500, 0),
        row("r2", 30, 150, 1_500, 8_500),
        row("r3", 65, 1_500, 11_850, 0),
        row("r4", 365, 52, 150, 11_850),
    ]
    verdicts = [
        Verdict(request="r1", kind="first"),
        Verdict(request="r2", kind="hit"),
        MISS,
        Verdict(request="r4", kind="hit"),
    ]
    return diagnosis(rows, verdicts)
