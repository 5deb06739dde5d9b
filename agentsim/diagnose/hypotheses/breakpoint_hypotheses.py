"""No breakpoint led to the entry: out of the lookback's reach, or none was sent."""

from __future__ import annotations

from collections.abc import Iterator

from agentsim.diagnose.disputed_minimum import too_short_by_another
from agentsim.diagnose.hypothesis import Hypothesis
from agentsim.diagnose.row_case import RowCase


def on_breakpoints(case: RowCase) -> Iterator[Hypothesis]:
    """The lookback, markers that vanished, and markers on what changes with each turn."""
    row = case.row
    if row.automatic:
        doubt = None if row.read else too_short_by_another(case.rules, min(case.parent.warm, row.total))
        if doubt is not None:
            yield Hypothesis("AS303", "open", doubt, weight=48)
        return
    if row.appended is not None or case.reach.place != "nothing":
        yield _lookback(case)
    yield from _unmarked(case)
    if case.equal:
        return
    if case.tail_again:
        sentence = "The request before lost its end as well: what stands there is written each time and never read."
        yield Hypothesis("AS306", "likely", sentence, _LAST, weight=61)
    elif case.again:
        yield Hypothesis("AS306", "open", weight=40)


def _lookback(case: RowCase) -> Hypothesis:
    row = case.row
    if row.appended is None:
        check = f"Whether more than {row.lookback} blocks were appended, out of the lookback's reach."
        return Hypothesis("AS301", "open", check=check, weight=38)
    if row.appended > row.lookback:
        sentence = (
            f"{row.appended} content blocks were appended since the previous request; a breakpoint finds an entry at "
            f"most {row.lookback} blocks back."
        )
        return Hypothesis("AS301", "sufficient", sentence, weight=150)
    if row.appended == row.lookback:
        return Hypothesis("AS301", "open", weight=58)
    return Hypothesis("AS301", "excluded", f"{row.appended} blocks were appended, within the lookback's reach.")


def _unmarked(case: RowCase) -> Iterator[Hypothesis]:
    """A request with a breakpoint on a long prompt writes what is behind its read: one that wrote nothing had none."""
    row = case.row
    if not row.writes or row.write:
        yield Hypothesis("AS305", "excluded", "It wrote what it had not read: a breakpoint was sent.")
        return
    if row.total < case.minimum:
        yield Hypothesis("AS305", "excluded", "The prompt is too short to be kept, with a breakpoint or without.")
        return
    if row.read == 0:
        sentence = f"Nothing was written either: no breakpoint reached the provider with these {row.total:,} tokens."
        yield Hypothesis("AS305", "sufficient", sentence, _SENT, weight=165)
        yield Hypothesis("AS302", "open", weight=60)
    else:
        sentence = f"None of the {row.fresh:,} tokens behind the read was written: no breakpoint stood on them."
        yield Hypothesis("AS302", "sufficient", sentence, _SENT, weight=165)
        yield Hypothesis("AS305", "open", weight=60)


_LAST = "What the last message of each request carries that the next request does not send there."
_SENT = "Whether the harness or a gateway left the breakpoints out: look at the body of this request."
