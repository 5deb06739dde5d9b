"""Judges budgets: every limit against the sums of the sessions it applies to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import msgspec

from agentsim.budget.baseline_entries import Baseline, BaselineEntries
from agentsim.budget.budget_gate import Blame, Gate, GateMiss, JudgedTrace, Result, dearest_first, worst_first
from agentsim.budget.budget_limits import Budget, Limit, fits
from agentsim.budget.file_globs import pattern, relative_path
from agentsim.budget.recordings import Lines, Recording
from agentsim.budget.session_measures import Counts, Measures, certain_causes, measure, together
from agentsim.core.counts import plural
from agentsim.core.session import Problem
from agentsim.diagnose import diagnose
from agentsim.diagnose.harness_settings import settings_of
from agentsim.diagnose.never_read import CODE as NEVER_READ


def judge(
    recordings: Iterable[Recording],
    budgets: Sequence[Budget],
    *,
    root: str = ".",
    baseline: Baseline | None = None,
    problems: list[Problem] | None = None,
    config: str | None = None,
    all_must_match: bool = True,
) -> Gate:
    """Judge budgets on recorded sessions, which are read one at a time.

    ``root`` is the folder that patterns and keys are relative to. ``problems`` is the list that the reader of the
    recordings fills. With ``all_must_match`` a budget that applies to no session could not be judged.
    """
    patterns = {glob: pattern(glob) for budget in budgets for glob in budget.traces}
    traces: list[JudgedTrace] = []
    findings: list[GateMiss] = []
    applies: dict[str, list[JudgedTrace]] = {budget.name: [] for budget in budgets}
    unread = any(limit.cause == NEVER_READ for budget in budgets for limit in budget.limits)
    for recording in recordings:
        names = [relative_path(file, root) for file in recording.files]
        trace, found = look(recording, names[0], unread=unread)
        matching = [
            budget
            for budget in budgets
            if not budget.traces or any(patterns[glob].fullmatch(name) for glob in budget.traces for name in names)
        ]
        trace = msgspec.structs.replace(trace, budgets=len(matching))
        traces.append(trace)
        findings += found
        for budget in matching:
            applies[budget.name].append(trace)
    count = Counter(trace.path for trace in traces)
    for name, own in applies.items():
        applies[name] = [msgspec.structs.replace(trace, alone=count[trace.path] == 1) for trace in own]
    entries = BaselineEntries(baseline, (msgspec.structs.replace(one, alone=count[one.path] == 1) for one in traces))
    results = [result for budget in budgets for result in _results(budget, applies[budget.name], entries)]
    if all_must_match:
        results += [_unmatched(budget) for budget in budgets if not applies[budget.name]]
        results += [
            _unrecorded(budget, limit, key)
            for budget in budgets
            for key in entries.left_over()
            for limit in budget.limits
            if limit.kind == "max-growth" and applies[budget.name]
            if not budget.traces or any(patterns[glob].fullmatch(key.rpartition("#")[0]) for glob in budget.traces)
        ]
    return Gate(
        results=worst_first(results),
        findings=dearest_first(_blamed(findings, results)),
        traces=tuple(sorted(traces, key=lambda trace: trace.key)),
        problems=tuple(problems or ()),
        config=config,
    )


def look(recording: Recording, path: str, *, unread: bool = False) -> tuple[JudgedTrace, list[GateMiss]]:
    """Diagnose a recording: its sums and its misses, and where asked what was written and never read."""
    session = recording.session
    diagnosis = diagnose(session)
    trace = JudgedTrace(path=path, session=session.id, measures=measure(diagnosis, unread=unread))
    lines = Lines(recording)
    findings = []
    for number, (request, verdict) in enumerate(zip(session.requests, diagnosis.verdicts, strict=True), 1):
        if request.counted and verdict.kind == "miss":
            file, line = lines.place(request)
            findings.append(
                GateMiss(
                    trace=trace.key,
                    path=path,
                    session=session.id,
                    number=number,
                    verdict=verdict,
                    file=file,
                    line=line,
                    settings=settings_of(verdict, request, session.harness),
                )
            )
    return trace, findings


def _results(budget: Budget, traces: Sequence[JudgedTrace], baseline: BaselineEntries) -> Iterator[Result]:
    if not traces:
        return
    if budget.judge == "together":
        groups = [list(traces)]
    else:
        groups = [[trace] for trace in traces]
    for group in groups:
        measures = together(trace.measures for trace in group) if len(group) > 1 else group[0].measures
        for limit in budget.limits:
            yield judge_limit(budget, limit, measures, group, baseline)


def judge_limit(
    budget: Budget, limit: Limit, measures: Measures, group: Sequence[JudgedTrace], baseline: BaselineEntries
) -> Result:
    """Judge one limit on the measures of one session, or of several together.

    Missing evidence can only add to a cost or a count, so a limit that is exceeded without it is broken. Everything
    else needs all of the evidence.
    """
    base, missing = None, None
    if limit.kind == "max-growth":
        base, missing = _base(limit, group, baseline)
    actual = _actual(limit, measures)
    missing = missing or _missing(budget, limit, measures)
    result = Result(
        budget=budget.name,
        level=budget.level,
        limit=limit,
        subject=group[0].name if budget.judge == "each" else f"{len(group):,} sessions together",
        traces=tuple(trace.key for trace in group),
        status="held",
        actual=actual,
        base=base,
        path=group[0].path,
        file=budget.file,
        line=limit.line or budget.line,
    )
    allowed = result.allowed
    if limit.kind == "min-hit-rate":
        # Unread lines could raise a rate as well as lower it.
        exceeded = missing is None and actual is not None and actual < limit.value
    else:
        exceeded = actual is not None and allowed is not None and actual > allowed
    if exceeded:
        return msgspec.structs.replace(result, status="broken")
    if missing is not None:
        return msgspec.structs.replace(result, status="unjudged", reason=missing)
    return result


def _actual(limit: Limit, measures: Measures) -> Fraction | None:
    """What there is of that which a limit is about; ``None`` where nothing of it is known."""
    what = limit.metric if limit.kind == "max-growth" else limit.kind
    if what in ("max-cost", "cost"):
        return _known(measures.known_cost)
    if what in ("max-input-equivalents", "input-equivalents"):
        return _known(measures.known_equivalents)
    if what == "max-lost-cost":
        return _known(measures.known_lost_cost)
    if what == "min-hit-rate":
        return Fraction(measures.read, measures.total_input) if measures.total_input else None
    if what == "forbid" and limit.cause == NEVER_READ:
        return None if measures.never_read is None else Fraction(measures.never_read)
    if what == "forbid":
        return Fraction(_number(measures.causes, limit.cause))
    return Fraction(_number(measures.misses, limit.cause))


def _known(amount: int | None) -> Fraction | None:
    return None if amount is None else Fraction(amount)


def _missing(budget: Budget, limit: Limit, measures: Measures) -> str | None:
    """What evidence is missing for a limit to hold; ``None`` when none is."""
    if measures.skipped > budget.allow_skipped:
        lines = plural(measures.skipped, "line")
        return f"{lines} of the log could not be used; allow-skipped is {budget.allow_skipped}"
    if not measures.requests:
        return "no request in it"
    of = plural(measures.requests, "request")
    what = limit.metric if limit.kind == "max-growth" else limit.kind
    if what in ("max-cost", "cost", "max-input-equivalents", "input-equivalents"):
        if measures.unpriced:
            return f"no price is known for {measures.unpriced:,} of {of}"
        if measures.provisional and what in ("max-cost", "cost"):
            known = f"the log holds no final output count for {measures.provisional:,} of {of}"
            return f"{known}; limit input equivalents instead"
        return None
    if measures.unreported:
        return f"no cache counters are reported for {measures.unreported:,} of {of}"
    if what == "min-hit-rate":
        return None if measures.total_input else "no input tokens are reported"
    if what == "max-lost-cost":
        lost = measures.lost_unpriced
        return f"no price is known for {plural(lost, 'loss', 'losses')}" if lost else None
    if what == "forbid" and limit.cause == NEVER_READ and measures.unpriced:
        return f"no price is known for {measures.unpriced:,} of {of}: whether a write has a surcharge is not known"
    if limit.cause is not None and _number(measures.open_causes, limit.cause):
        return f"{limit.cause} is not ruled out: the log does not tell what changed; record full bodies to settle it"
    return None


def _number(counts: Counts, cause: str | None) -> int:
    return sum(count for code, count in counts if cause is None or fits(cause, code))


def _base(limit: Limit, group: Sequence[JudgedTrace], baseline: BaselineEntries) -> tuple[Fraction | None, str | None]:
    """What the baseline says of these sessions, or why it says nothing."""
    if not baseline.given:
        return None, "there is no baseline; 'agentsim baseline write' makes one"
    entries: list[Measures] = []
    for trace in group:
        entry = baseline.of(trace)
        if entry is None:
            return None, f"the baseline does not hold {trace.key}; 'agentsim baseline write' adds it"
        entries.append(entry)
    sums = together(entries)
    if limit.metric != "misses" and sums.unpriced:
        return None, f"the baseline has no price for {sums.unpriced:,} of its requests"
    if limit.metric == "misses" and sums.unreported:
        return None, f"the baseline has no cache counters for {sums.unreported:,} of its requests"
    return _actual(limit, sums), None


def _unmatched(budget: Budget) -> Result:
    return Result(
        budget=budget.name,
        level=budget.level,
        limit=budget.limits[0],
        subject=", ".join(budget.traces) or "no trace",
        traces=(),
        status="unjudged",
        reason="no session was found for this budget",
        file=budget.file,
        line=budget.line,
    )


def _unrecorded(budget: Budget, limit: Limit, key: str) -> Result:
    return Result(
        budget=budget.name,
        level=budget.level,
        limit=limit,
        subject=key,
        traces=(),
        status="unjudged",
        reason="the baseline holds it, and no recording of it was read; 'agentsim baseline write' drops it",
        path=key.rpartition("#")[0],
        file=budget.file,
        line=limit.line or budget.line,
    )


def _blamed(findings: Iterable[GateMiss], results: Iterable[Result]) -> Iterator[GateMiss]:
    """Findings with their blame: see :data:`Blame`."""
    broken: dict[str, list[Result]] = {}
    for result in results:
        if result.status == "broken":
            for key in result.traces:
                broken.setdefault(key, []).append(result)
    for finding in findings:
        over = broken.get(finding.trace, [])
        blame: Blame = "warning" if over else "note"
        if any(one.level == "error" and _counts_against(one.limit, finding) for one in over):
            blame = "error"
        yield msgspec.structs.replace(finding, blame=blame)


def _counts_against(limit: Limit, finding: GateMiss) -> bool:
    verdict = finding.verdict
    if limit.kind == "forbid":
        return any(fits(limit.cause, code) for code in certain_causes(verdict))
    if limit.kind == "max-misses":
        return limit.cause is None or fits(limit.cause, verdict.code)
    return limit.kind == "max-lost-cost" or (limit.kind == "max-growth" and limit.metric == "misses")
