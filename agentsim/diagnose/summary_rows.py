"""A compaction in a log that holds messages, judged by its row: text sent before that the summary put elsewhere."""

from __future__ import annotations

from agentsim.core.verdict import LEAST_LOSS, Verdict
from agentsim.diagnose.kept_content import summary_words
from agentsim.diagnose.row_facts import RowFacts


def summary_loss(row: RowFacts, parent: RowFacts) -> Verdict | None:
    """The loss where text stands behind a summary that stood in front of the history before; ``None`` where the log
    shows no such text. That the history was replaced is no loss."""
    kept = row.kept
    if kept is None or kept.behind < LEAST_LOSS:
        return None
    told = summary_words(kept, row.read)
    lost = min(kept.behind, row.total - row.read)
    if told is None or lost < LEAST_LOSS:
        return None
    return Verdict(
        request=row.id,
        kind="miss",
        cause="AS131",
        evidence="implied",
        place=None if row.change is None else row.change[1],
        expected=row.read + lost,
        prediction="class",
        lost=lost,
        compared_with=parent.id,
        established=(told[0],),
        fix=told[1],
    )
