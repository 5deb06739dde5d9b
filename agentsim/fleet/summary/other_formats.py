"""Sessions of other formats than Claude Code's in a summary: read, judged and priced one by one, as a replay is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from agentsim.core.dates import has_date
from agentsim.core.session import Problem, Session
from agentsim.diagnose import Diagnosis, diagnose
from agentsim.diagnose.loss_findings import kinds_of
from agentsim.fleet.summary.heads_of_sessions import Beginning, beginnings
from agentsim.fleet.summary.summary_shape import UnitLoss, UnitReport
from agentsim.traces.format_registry import in_order
from agentsim.traces.hostile_records import ReadProblems


def reports_on(
    groups: Mapping[str, Sequence[str]], problems: list[Problem], begun: list[Beginning]
) -> Iterator[UnitReport]:
    """A report on each session in these files, which are grouped by the module of their format. How conversations
    began is put into ``begun``."""
    for format in in_order(groups):
        told = ReadProblems()
        for session in format.reader.read_sessions(groups[format.module], told):
            diagnosis = diagnose(session)
            begun += beginnings(diagnosis)
            yield report_of(diagnosis)
        problems += told


def report_of(diagnosis: Diagnosis) -> UnitReport:
    """What a judged session adds to a summary. Requests without counters are counted, and add nothing else."""
    session = diagnosis.session
    sums = [0] * 6
    unpriced: dict[str, int] = {}
    kinds: dict[str, int] = {}
    losses: list[UnitLoss] = []
    kinds_of_loss = kinds_of(diagnosis)
    number = 0
    requests = unreported = unlogged = bare = 0
    for request, row, verdict in zip(session.requests, diagnosis.rows, diagnosis.verdicts, strict=True):
        number += 1
        if not request.counted:
            continue
        requests += 1
        kinds[verdict.kind] = kinds.get(verdict.kind, 0) + 1
        usage = request.usage
        if usage is None or usage.total_input is None or verdict.kind == "unreported":
            unreported += 1
        if usage is None:
            bare += 1
            continue
        unlogged += verdict.unlogged is not None
        if row.cost is None:
            model = request.model or "no model"
            unpriced[model] = unpriced.get(model, 0) + 1
        counts = (usage.fresh, usage.write, usage.read, usage.output, row.cost, row.equivalents if row.cost else 0)
        sums = [total + (count or 0) for total, count in zip(sums, counts, strict=True)]
        if verdict.kind == "miss":
            source = request.source
            losses.append(
                UnitLoss(
                    request=request.id,
                    stamp=_stamp(request.end if request.end is not None else request.start),
                    cause=verdict.code,
                    tokens=verdict.lost,
                    cost=verdict.lost_cost,
                    equivalents=verdict.lost_equivalents,
                    file=source.file if source is not None else "",
                    line=source.line if source is not None else 0,
                    kind=kinds_of_loss[request.id][0],
                    what=kinds_of_loss[request.id][1],
                    row=number,
                )
            )
    first, last = _times(session)
    accounting = session.accounting
    return UnitReport(
        session=session.id,
        project=os.path.basename(os.path.dirname(session.files[0])) if session.files else "",
        files=session.files,
        first_stamp=_stamp(first) or "",
        last_stamp=_stamp(last) or "",
        key_hashes=b"",
        packed_keys=b"",
        requests=requests,
        fresh=sums[0],
        written=sums[1],
        read=sums[2],
        output=sums[3],
        cost=sums[4],
        equivalents=sums[5],
        unpriced=unpriced,
        unreported=unreported,
        kinds=kinds,
        unlogged=unlogged,
        unlogged_cost=diagnosis.totals.unlogged_cost,
        losses=losses,
        rows=accounting.rows,
        duplicate=accounting.duplicate,
        not_billable=accounting.not_billable,
        skipped=dict(accounting.skipped),
        problems=list(session.problems),
        format=session.format,
        bare=bare,
    )


def _times(session: Session) -> tuple[int | None, int | None]:
    """The first and the last date; nothing where a trace counts from its own beginning."""
    known = [time for request in session.requests for time in (request.start, request.end) if time is not None]
    times = [time for time in known if has_date(time)]
    return min(times, default=None), max(times, default=None)


def _stamp(time: int | None) -> str | None:
    """A time as logs write it, to the millisecond."""
    if time is None:
        return None
    try:
        moment = datetime.fromtimestamp(time // 10**9, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time // 10**6 % 1000:03}Z"
