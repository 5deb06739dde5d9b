"""Entries of one token against entries of sixteen, by arithmetic and on the engine's prefix cache."""

from __future__ import annotations

from agentsim.engine.lab.entries import ID_BYTES, Granularity
from agentsim.engine.lab.experiment import (
    Experiment,
    Findings,
    LabSettings,
    LinePlot,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
    Series,
)
from agentsim.engine.page_pool import PagePool
from agentsim.engine.prefix_cache import PrefixCache
from agentsim.engine.token_chain import TokenChain

DOCUMENT, REQUEST, GROUP = 1_000_000, 1_000, 16


def measured(group: int, diverging_at: int, length: int = REQUEST) -> tuple[int, int]:
    """On a real prefix cache with pages of ``group`` tokens: the entries that a request of ``length`` tokens leaves,
    and the tokens that one reuses which differs from it at token ``diverging_at`` (from 1)."""
    cache = PrefixCache(PagePool(2 * length // group + 4, group))
    first = TokenChain(b"granularity", group)
    tokens = list(range(length))
    first.extend(tokens)
    table = cache.take(cache.match(first), length // group)
    for index in range(length // group):
        table[index] = cache.register(first, index, table[index])
    cache.release(table)
    second = TokenChain(b"granularity", group)
    second.extend([*tokens[: diverging_at - 1], -1 % 2**31, *tokens[diverging_at:]])
    return len(cache), len(cache.match(second).places) * group


def run(settings: LabSettings) -> Findings:
    """See :class:`Experiment`."""
    fine, coarse = Granularity(1), Granularity(GROUP)
    entries_fine, reused_fine = measured(1, 1_000)
    entries_coarse, reused_coarse = measured(GROUP, 1_000)
    _, boundary_fine = measured(1, 993)
    _, boundary_coarse = measured(GROUP, 993)
    groups = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    return Findings(
        figures=(
            MeasuredFigure("entries of a million tokens, one each", fine.entries(DOCUMENT)),
            MeasuredFigure("entries of a million tokens, groups of 16", coarse.entries(DOCUMENT)),
            MeasuredFigure("times fewer entries", fine.entries(DOCUMENT) // coarse.entries(DOCUMENT)),
            MeasuredFigure("most extra tokens per request", coarse.most_repeated),
            MeasuredFigure("diverging at 1,000: reused, one each", reused_fine),
            MeasuredFigure("diverging at 1,000: reused, groups of 16", reused_coarse),
            MeasuredFigure("diverging at 1,000: extra tokens", reused_fine - reused_coarse),
            MeasuredFigure("diverging at 993: reused, one each", boundary_fine),
            MeasuredFigure("diverging at 993: reused, groups of 16", boundary_coarse),
            MeasuredFigure(
                "the cache agrees with the arithmetic",
                (reused_fine, reused_coarse, entries_fine, entries_coarse)
                   == (fine.reused(999), coarse.reused(999), fine.entries(REQUEST), coarse.entries(REQUEST))),
        ),
        tables=(
            ResultTable(
                "A document of a million tokens, and requests that end anywhere",
                ("group", "entries", f"identities of {ID_BYTES} bytes, MB", "most extra tokens", "extra on average"),
                tuple(
                    (g, Granularity(g).entries(DOCUMENT), Granularity(g).entries(DOCUMENT) * ID_BYTES / 10**6,
                     Granularity(g).most_repeated, Granularity(g).mean_repeated)
                    for g in groups
                ),
            ),
        ),
        plots=(
            LinePlot(
                "Entries against recomputation",
                "tokens in a group",
                "entries of a million tokens · extra tokens on average",
                (
                    Series("entries", tuple((float(g), float(Granularity(g).entries(DOCUMENT))) for g in groups)),
                    Series("extra tokens", tuple((float(g), Granularity(g).mean_repeated) for g in groups if g > 1)),
                ),
                log_x=True,
                log_y=True,
            ),
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="granularity",
    title="Entries against recomputation",
    meaning=(
        "Groups of sixteen make a sixteenth of the entries and cost a request at most fifteen tokens. It establishes "
        "the counts, on a real prefix cache too. Which one is cheaper depends on the time that an entry and a token "
        "take, which is measured elsewhere; finer matching need not mean finer pages."
    ),
    run=run,
    published={
        "times fewer entries": PublishedFigure(16),
        "most extra tokens per request": PublishedFigure(15),
        "diverging at 1,000: reused, one each": PublishedFigure(999),
        "diverging at 1,000: reused, groups of 16": PublishedFigure(992),
        "diverging at 1,000: extra tokens": PublishedFigure(7),
        "diverging at 993: reused, one each": PublishedFigure(992),
        "diverging at 993: reused, groups of 16": PublishedFigure(992),
        "the cache agrees with the arithmetic": PublishedFigure(True),
    },
)
