"""What is known about a row, as lines of text: the verdict with its evidence, the difference, the fix."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim.core.session import Event, Row
from agentsim.core.verdict import Verdict
from agentsim.diagnose import Diagnosis
from agentsim.diagnose.never_read import CODE, NeverRead, never_read
from agentsim.report import figures
from agentsim.report.verdict_words import EVENTS, QUIET_EVENTS, RECORD, advice_on, cause_title, headline, where
from agentsim.tui.ink import Ink, Piece
from agentsim.tui.trace.block_list import block_diff, excerpts
from agentsim.tui.trace.prompt_bar import prompt_bar
from agentsim.tui.trace.row_grid import provider_says, what_happened

AT_ONCE = 1_000
"""Rows of a session up to which all is told at once."""

LABEL = 12
Lines = list[list[Piece]]


class Story:
    """Tells about the rows of one session."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        self.diagnosis = diagnosis
        self._events: dict[str, list[Event]] | None = None
        self._in_vain: tuple[NeverRead | None, ...] | None = None

    def earlier(self, index: int) -> int | None:
        """The row that a row is compared with: the one its verdict names, or its parent."""
        wanted = self.diagnosis.verdicts[index].compared_with or self.diagnosis.rows[index].request.parent
        if wanted is None:
            return None
        requests = self.diagnosis.session.requests
        for other in range(index - 1, -1, -1):
            if requests[other].id == wanted:
                return other
        # A sibling that was sent together may stand after it.
        later = range(index + 1, min(index + 1000, len(requests)))
        return next((other for other in later if requests[other].id == wanted), None)

    def tell(self, index: int, width: int, *, content: bool = False, saving: Sequence[Piece] | None = None) -> Lines:
        """All that is known about a row. ``saving`` is what its fix would save, where that has been simulated."""
        row, verdict = self.diagnosis.rows[index], self.diagnosis.verdicts[index]
        earlier = self.earlier(index)
        old = self.diagnosis.rows[earlier] if earlier is not None else None
        lines = self._head(index, row, verdict, width)
        # Where there is little room, what was lost, why, and what to do are what is seen.
        said = self._verdict(row, verdict)
        first = 2 if verdict.kind == "miss" else 0
        lines += said[:first]
        advice = advice_on(verdict, row.request, self.diagnosis.session)
        for label, text in advice:
            lines += _labelled(label, text) if label != RECORD else []
        if saving:
            lines.append([(f"{'saves':<{LABEL}}", Ink.FAINT), *saving])
        lines += prompt_bar(row, verdict, old, width)
        lines += said[first:]
        for label, text in advice:
            lines += _labelled(label, text) if label == RECORD else []
        lines += self._never_read(index)
        if earlier is not None and old is not None:
            lines += self._compared(earlier, old)
            lines += self._difference(row, verdict, old, content)
        return lines

    def _head(self, index: int, row: Row, verdict: Verdict, width: int) -> Lines:
        request = row.request
        facts = [request.id, figures.clock(row.start), request.model]
        if row.end is not None and row.start is not None:
            facts.insert(2, f"took {figures.span(row.end - row.start)}")
        if row.cost is not None:
            facts.append(figures.row_money(row.cost))
        if request.stop_reason:
            facts.append(f"stopped: {request.stop_reason}")
        if request.source is not None and width >= 120:
            facts.append(f"{request.source.file}:{request.source.line}")
        text, ink = _pair(what_happened(request, verdict))
        lines: Lines = [[(f"#{index + 1} ", Ink.STRONG), (text, ink), (" · " + " · ".join(facts), Ink.FAINT)]]
        for event in self._events_before(request.id):
            detail = f": {event.detail}" if event.detail else ""
            lines.append([(f"· before it: {EVENTS.get(event.kind, event.kind)}{detail}", Ink.WARN)])
        return lines

    def _events_before(self, request: str) -> list[Event]:
        if self._events is None:
            self._events = {}
            for event in self.diagnosis.session.events:
                if event.before is not None and event.kind not in QUIET_EVENTS:
                    self._events.setdefault(event.before, []).append(event)
        return self._events.get(request, [])

    def _verdict(self, row: Row, verdict: Verdict) -> Lines:
        lines: Lines = []
        if verdict.kind == "miss":
            place = f": {where(verdict.place)}" if verdict.place is not None else ""
            lines.append([(headline(verdict), Ink.BAD), place])
            price = ""
            if verdict.lost_cost is not None:
                price = f", {figures.money(verdict.lost_cost)} more than reading them"
            lines += _labelled("lost", f"{figures.plural(verdict.lost, 'token')}{price}")
        elif verdict.place is not None:
            lines += _labelled("first change", where(verdict.place))
        said = provider_says(row.request)
        if said:
            missed = row.request.diagnosis.missed_tokens
            lines += _labelled("provider", said + (f", {missed:,} tokens" if missed is not None else ""))
        if verdict.alternatives:
            label = "with" if verdict.evidence == "proved" else "or else"
            lines += _labelled(label, "; ".join(f"{code} {cause_title(code)}" for code in verdict.alternatives))
        for label, sentences in (("established", verdict.established), ("to check", verdict.to_check)):
            for number, sentence in enumerate(sentences):
                lines += _labelled("" if number else label, sentence)
        if not lines and verdict.expected is not None:
            lines += _labelled("expected", f"to read {verdict.expected:,} tokens")
        return lines

    @property
    def is_complete(self) -> bool:
        """Whether :meth:`tell` knows all that it can know."""
        return self._in_vain is not None or len(self.diagnosis.rows) <= AT_ONCE

    def complete(self) -> None:
        """Find out what was written and never read; for a large session in a worker, as it looks at every row."""
        if self._in_vain is None:
            self._in_vain = never_read(self.diagnosis.rows)

    def _never_read(self, index: int) -> Lines:
        if self.is_complete:
            self.complete()
        one = None if self._in_vain is None else self._in_vain[index]
        if one is None:
            return []
        paid = f"{figures.plural(one.unread, 'token')}, {figures.row_money(one.surcharge)} of surcharge ({CODE})"
        return [*_labelled("never read", paid), *_labelled("", one.established)]

    def _compared(self, earlier: int, old: Row) -> Lines:
        usage = old.usage
        text = (
            f"#{earlier + 1} {old.request.id}, {figures.clock(old.start)}: {figures.count(usage.total_input)} tokens, "
            f"written {figures.count(usage.write)}, read {figures.count(usage.read)}"
        )
        return _labelled("compared", text)

    def _difference(self, row: Row, verdict: Verdict, old: Row, content: bool) -> Lines:
        before, after = old.request.prompt, row.request.prompt
        if before is None or after is None or verdict.kind in ("first", "hit", "extended"):
            return []
        if before.common_length(after) == len(before):
            return _labelled("blocks", "all of the earlier prompt is repeated; what was added follows it")
        lines: Lines = [[("blocks", Ink.FAINT)], *block_diff(before, after)]
        if content:
            lines += [[("words", Ink.FAINT)], *excerpts(before, after)]
        elif any(block.text is not None for block in (after[min(before.common_length(after), len(after) - 1)],)):
            lines.append([("  x shows the words around the difference", Ink.FAINT)])
        return lines


def _labelled(label: str, text: str) -> Lines:
    return [[(f"{label:<{LABEL}}", Ink.FAINT), text]]


def _pair(piece: Piece) -> tuple[str, Ink]:
    return (piece, Ink.PLAIN) if isinstance(piece, str) else piece
