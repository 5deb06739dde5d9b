"""Reports for programs: JSON with sorted keys, the same bytes for the same input wherever and whenever it is written.

Money and input equivalents are exact decimals in strings, times are UTC text with nine digits, tokens are integers,
what is unknown is ``null``. The text is ASCII (everything else is escaped), so that it is inert on a terminal too.
Words of a conversation are left out unless they are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TextIO

from agentsim import __version__
from agentsim.core.session import Accounting, Event, Lane, Problem, Request, Row, Session, Usage
from agentsim.core.verdict import Divergence, Verdict
from agentsim.report.figures import exact, utc
from agentsim.report.piped_names import with_pipes_named

if TYPE_CHECKING:
    from agentsim.diagnose import Diagnosis
    from agentsim.diagnose.diagnosis_totals import Loss, Totals
    from agentsim.fleet.summary import MissLine, SessionLine, Summary
    from agentsim.fleet.summary.repeated_losses import LossLeads
    from agentsim.fleet.summary.worth_setting import SettingAdvice
    from agentsim.traces.format_registry import LogFormat
    from agentsim.trust.agreement import LabelAgreement

Document = dict[str, Any]

DOLLAR_DIGITS = 12
TOKEN_DIGITS = 6


def write_document(stream: TextIO, document: Mapping[str, Any]) -> None:
    """Write a document: a line for each key, and a line for each record of a list, so that a diff is easy to read."""
    lines = []
    for key in sorted(document):
        value = document[key]
        if isinstance(value, list) and value:
            body = "[\n" + ",\n".join(_text(item) for item in value) + "\n]"
        else:
            body = _text(value)
        lines.append(f"{_text(key)}: {body}")
    stream.write(with_pipes_named("{\n" + ",\n".join(lines) + "\n}\n"))


def replay_document(
    diagnosis: Diagnosis,
    *,
    rows: Literal["all", "misses"] = "all",
    row: int | None = None,
    lane: str | None = None,
    content: bool = False,
    problems: Iterable[Problem] = (),
) -> Document:
    """A judged session: its rows with their verdicts, its events, its totals, and where each line of input went.

    ``rows``, ``row`` and ``lane`` choose rows; numbers and totals stay those of the whole session. ``problems`` are
    those of the input beyond the session's own.
    """
    from agentsim.diagnose.loss_findings import findings_of
    from agentsim.diagnose.never_read import never_read
    from agentsim.report.json.findings_json import findings_document
    from agentsim.report.json.never_read_json import in_vain_document, in_vain_sums

    session = diagnosis.session
    in_vain = never_read(diagnosis.rows)
    numbered = zip(range(1, len(diagnosis.rows) + 1), diagnosis.rows, diagnosis.verdicts, in_vain, strict=True)
    return {
        **envelope("replay"),
        "session": _session(session, content),
        "judged_by": "bodies" if diagnosis.by_bodies else "rows",
        "rows": [
            {**_row(number, found, verdict, session, content), "never_read": in_vain_document(unread)}
            for number, found, verdict, unread in numbered
            if (rows == "all" or verdict.kind == "miss")
            and (lane is None or found.request.lane == lane)
            and row in (None, number)
        ],
        "events": [_event(event) for event in session.events],
        "totals": {**totals(diagnosis.totals), "never_read": in_vain_sums(in_vain)},
        "findings": findings_document(findings_of(diagnosis)),
        "accounting": accounting(session.accounting),
        "problems": problem_documents([*problems, *session.problems]),
    }


def summary_document(summary: Summary, advice: SettingAdvice | None = None, leads: LossLeads | None = None) -> Document:
    """Many sessions: sums, losses by cause and by kind with what stands in front of them, the sessions and misses that
    lost most, and what to set about it."""
    from agentsim.report.json.findings_json import kinds_document
    from agentsim.report.json.settings_json import advice_document

    return {
        **envelope("summary"),
        "sessions": summary.sessions,
        "files": summary.files,
        "formats": [
            {
                "format": line.format,
                "sessions": line.sessions,
                "requests": line.requests,
                "not_priced": line.unpriced,
                "cost": exact(line.cost, DOLLAR_DIGITS),
            }
            for line in summary.formats
        ],
        "requests": summary.requests,
        "duplicates": summary.duplicates,
        "first_time": utc(summary.first_time),
        "last_time": utc(summary.last_time),
        "tokens": {
            "fresh": summary.fresh,
            "written": summary.written,
            "read": summary.read,
            "output": summary.output,
        },
        "hit_rate": {"read": summary.hit_read, "total_input": summary.hit_total},
        "cost": exact(summary.cost, DOLLAR_DIGITS),
        "input_equivalents": exact(summary.equivalents, TOKEN_DIGITS),
        "not_priced": dict(summary.unpriced),
        "without_counters": summary.unreported,
        "lost_tokens": summary.lost_tokens,
        "lost_cost": exact(summary.lost_cost, DOLLAR_DIGITS),
        "losses": losses(summary.losses),
        "unlogged": {"at_least": summary.unlogged, "cost_at_least": exact(summary.unlogged_cost, DOLLAR_DIGITS)},
        "kinds": dict(summary.kinds),
        "findings": kinds_document(summary, leads),
        "worst_sessions": [_session_line(line) for line in summary.worst_sessions],
        "worst_misses": [_miss_line(miss) for miss in summary.worst_misses],
        "do_this": None if advice is None else advice_document(advice),
        "accounting": accounting(summary.accounting),
        "problems": problem_documents(summary.problems),
    }


def agreement_document(agreement: LabelAgreement, problems: Iterable[Problem] = ()) -> Document:
    """Blind verdicts beside the reasons that the provider recorded, and what of the input could not be used."""
    return {
        **envelope("agree"),
        "labelled": agreement.labelled,
        "exact": agreement.exact,
        "compatible": agreement.compatible,
        "contradicted": agreement.contradicted,
        "foreseen": {
            "requests": agreement.foreseen.requests,
            "logged": agreement.foreseen.logged,
            "unlogged": agreement.foreseen.unlogged,
            "losses": agreement.foreseen.losses,
            "others": agreement.foreseen.others,
        },
        "matrix": [
            {"reason": reason, "verdict": verdict, "grade": grade, "count": count}
            for reason, verdict, grade, count in agreement.matrix
        ],
        "rows": [
            {
                "session": row.session,
                "request": row.request,
                "reason": row.reason,
                "kind": row.kind,
                "cause": row.cause,
                "grade": row.grade,
                "by": row.by,
                "lost_tokens": row.lost,
            }
            for row in agreement.rows
        ],
        "problems": problem_documents(problems),
    }


def formats_document(
    formats: Iterable[LogFormat], detected: Iterable[tuple[str, LogFormat | None]] | None = None
) -> Document:
    """The formats that can be read, and the ones that files were found to have."""
    document = {
        **envelope("formats"),
        "formats": [{"name": f.name, "description": f.description, "verified": f.verified} for f in formats],
    }
    if detected is not None:
        document["files"] = [{"file": path, "format": found.name if found else None} for path, found in detected]
    return document


def totals(sums: Totals) -> Document:
    """Sums over rows."""
    read, whole = sums.hit_rate
    return {
        "requests": sums.requests,
        "tokens": {"fresh": sums.fresh, "written": sums.written, "read": sums.read, "output": sums.output},
        "hit_rate": {"read": read, "total_input": whole},
        "cost": exact(sums.known_cost, DOLLAR_DIGITS),
        "input_equivalents": exact(sums.known_equivalents, TOKEN_DIGITS),
        "not_priced": sums.unpriced,
        "without_counters": sums.unreported,
        "misses": sums.misses,
        "lost_tokens": sums.lost_tokens,
        "lost_cost": exact(sums.known_lost_cost, DOLLAR_DIGITS),
        "lost_input_equivalents": exact(sums.known_lost_equivalents, TOKEN_DIGITS),
        "losses": losses(sums.losses),
        "unlogged": {"at_least": sums.unlogged, "cost_at_least": exact(sums.known_unlogged_cost, DOLLAR_DIGITS)},
        "kinds": dict(sums.kinds),
        "predictions": dict(sums.predictions),
    }


def losses(items: Iterable[Loss]) -> list[Document]:
    """Losses by cause, the most expensive first."""
    return [
        {
            "cause": loss.cause,
            "count": loss.count,
            "tokens": loss.tokens,
            "cost": exact(loss.known_cost, DOLLAR_DIGITS),
            "input_equivalents": exact(loss.known_equivalents, TOKEN_DIGITS),
            "not_priced": loss.unpriced,
        }
        for loss in items
    ]


def accounting(sums: Accounting) -> Document:
    """Where each line of the input went."""
    return {
        "rows": sums.rows,
        "used": sums.used,
        "duplicate": sums.duplicate,
        "not_billable": sums.not_billable,
        "skipped": dict(sorted(sums.skipped)),
    }


def problem_documents(items: Iterable[Problem]) -> list[Document]:
    """Problems; ``note`` says that nothing was left out."""
    return [
        {"file": p.file, "line": p.line, "reason": p.reason, "remedy": p.remedy, **({"note": True} if p.note else {})}
        for p in items
    ]


def envelope(report: str) -> Document:
    """What every document begins with."""
    return {"agentsim": __version__, "report": report, "version": 1}


def _session(session: Session, content: bool) -> Document:
    document: Document = {
        "id": session.id,
        "format": session.format,
        "harness": session.harness,
        "completeness": session.completeness,
        "files": list(session.files),
        "lanes": [_lane(lane, content) for lane in session.lanes],
    }
    if content:
        document["title"] = session.title
    return document


def _session_line(line: SessionLine) -> Document:
    return {
        "session": line.session,
        "project": line.project,
        "requests": line.requests,
        "misses": line.misses,
        "cost": exact(line.cost, DOLLAR_DIGITS),
        "lost_cost": exact(line.lost_cost, DOLLAR_DIGITS),
        "hit_rate": {"read": line.hit_read, "total_input": line.hit_total},
        "first_time": line.first_stamp or None,
        "last_time": line.last_stamp or None,
    }


def _miss_line(miss: MissLine) -> Document:
    return {
        "session": miss.session,
        "request": miss.request,
        "time": utc(miss.time),
        "cause": miss.cause,
        "lost_tokens": miss.lost,
        "lost_cost": exact(miss.lost_cost, DOLLAR_DIGITS),
        "file": miss.file,
        "line": miss.line,
        "row": miss.row or None,
    }


def _lane(lane: Lane, content: bool) -> Document:
    document: Document = {"id": lane.id, "purpose": lane.purpose, "parent": lane.parent}
    if content:
        document["title"] = lane.title
    return document


def _row(number: int, row: Row, verdict: Verdict, session: Session, content: bool) -> Document:
    request = row.request
    return {
        "number": number,
        "id": request.id,
        "lane": request.lane,
        "parent": request.parent,
        "purpose": request.purpose,
        "provider": request.provider,
        "model": request.model,
        "counted": request.counted,
        "file": request.source.file if request.source else None,
        "line": request.source.line if request.source else None,
        "start": utc(row.start),
        "first_token": utc(row.first_token),
        "end": utc(row.end),
        "settings": dict(request.settings),
        "service_tier": request.service_tier,
        "speed": request.speed,
        "region": request.region,
        "harness_version": request.harness_version,
        "stop_reason": request.stop_reason,
        "usage": _usage(row.usage),
        "output_is_final": request.output_final,
        "cost": exact(row.cost, DOLLAR_DIGITS),
        "input_equivalents": exact(row.equivalents, TOKEN_DIGITS),
        "provider_diagnosis": (
            {"reason": request.diagnosis.reason, "missed_tokens": request.diagnosis.missed_tokens}
            if request.diagnosis.reported
            else None
        ),
        "verdict": _verdict(verdict, request, session, content),
        **_only_some(row),
    }


def _only_some(row: Row) -> Document:
    """What only some providers and logs have: storage at a price, several hosts, accounts, a cost of their own."""
    found: Document = {}
    if row.stored:
        found["stored_token_seconds"] = row.stored
        found["storage_cost"] = exact(row.storage_cost, DOLLAR_DIGITS)
    request = row.request
    host = row.host or request.host
    if host is not None:
        found["host"] = host
    if request.account is not None:
        found["account"] = request.account
    if request.logged_cost is not None:
        found["logged_cost"] = exact(request.logged_cost, DOLLAR_DIGITS)
    return found


def _usage(usage: Usage) -> Document:
    return {
        "total_input": usage.total_input,
        "written": usage.write,
        "write_5m": usage.write_short,
        "write_1h": usage.write_long,
        "write_other": usage.write_other,
        "read": usage.read,
        "fresh": usage.fresh,
        "output": usage.output,
    }


def _verdict(verdict: Verdict, request: Request, session: Session, content: bool) -> Document:
    from agentsim.diagnose.harness_settings import settings_of, suspects_of
    from agentsim.report.json.settings_json import setting_document

    return {
        "kind": verdict.kind,
        "cause": verdict.cause,
        "evidence": verdict.evidence,
        "alternatives": list(verdict.alternatives),
        "place": _place(verdict.place, content) if verdict.place is not None else None,
        "compared_with": verdict.compared_with,
        "expected_read": verdict.expected,
        "predicted_read": verdict.predicted,
        "prediction": verdict.prediction,
        "lost_tokens": verdict.lost,
        "lost_cost": exact(verdict.lost_cost, DOLLAR_DIGITS),
        "lost_input_equivalents": exact(verdict.lost_equivalents, TOKEN_DIGITS),
        "unlogged_tokens": verdict.unlogged,
        "established": list(verdict.established),
        "to_check": list(verdict.to_check),
        "fix": verdict.fix,
        "to_set": [setting_document(one) for one in settings_of(verdict, request, session.harness)],
        "suspects": list(suspects_of(verdict, session)),
    }


def _place(place: Divergence, content: bool) -> Document:
    document: Document = {
        "section": place.section,
        "block": place.block,
        "address": place.address,
        "name": place.name,
        "change": place.change,
        "offset": place.offset,
        "changed_characters": place.changed_characters,
    }
    if content:
        document |= {"before": place.before, "after": place.after}
    return document


def _event(event: Event) -> Document:
    return {
        "kind": event.kind,
        "time": utc(event.time),
        "lane": event.lane,
        "before": event.before,
        "detail": event.detail,
    }


def _text(value: object) -> str:
    # json leaves DEL as it is; nothing else in ASCII text is more than a picture on a terminal.
    return json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True).replace("\x7f", "\\u007f")
