"""The eight outcomes of a prefix cache, on a screen and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agentsim import __version__
from agentsim.report.figures import per_cent, plural
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.screen.engine_replay_page import milliseconds, size
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.engine.cache_outcomes import Outcomes

COLUMNS = (
    TableColumn("outcome", "<", 9, 14),
    TableColumn("with the cache", ">", 9),
    TableColumn("without", ">", 8),
    TableColumn("of", "<", 5, 12),
)


def write_outcomes(paper: Paper, outcomes: Outcomes, hourly: float | None) -> None:
    """Write the table."""
    device = outcomes.device.upper()
    place = device if device == "CUDA" else f"{device} with {plural(outcomes.threads, 'thread')}"
    paper.line((f"{outcomes.model}, {outcomes.precision}, on {place}", Style.STRONG))
    paper.paragraph(
        f"{outcomes.questions} questions of {outcomes.question} tokens about a document of {outcomes.prefix:,}, "
        f"{outcomes.new_tokens} tokens answered to each."
    )
    paper.line()
    write_table(paper, COLUMNS, _rows(outcomes, hourly))


def _rows(outcomes: Outcomes, hourly: float | None) -> list[list[Span]]:
    restored, answers = outcomes.restored, outcomes.answers
    found = f"{outcomes.hits:,} ({per_cent(outcomes.hits, outcomes.repeated, 1)} %)"
    warm, cold = outcomes.time_to_first_token, outcomes.uncached_time_to_first_token
    rows: list[list[Span]] = [
        ["1 stored", size(outcomes.stored_bytes), "0 bytes", f"{size(outcomes.bytes_per_token)} a token"],
        ["  peak in use", size(outcomes.peak_bytes), "", "K/V of running requests"],
        ["2 hits", found, "0", f"{outcomes.repeated:,} tokens that had been there before"],
        [
            "3 restore",
            f"{milliseconds(restored.moving)} ms",
            f"{milliseconds(restored.cold)} ms",
            f"{restored.tokens:,} tokens: from the host, or anew",
        ],
        [
            "4 first token",
            f"{milliseconds(warm)} ms",
            f"{milliseconds(cold)} ms",
            f"{cold / max(warm, 1):.1f} times faster (medians)",
        ],
        ["5 generation", f"{outcomes.rate:,.1f}/s", f"{outcomes.uncached_rate:,.1f}/s", "tokens, one request alone"],
    ]
    for number, one in enumerate(outcomes.throughput):
        rows.append(
            [
                "6 throughput" if not number else "",
                f"{one.tokens_per_second:,.1f}/s",
                f"{one.uncached_tokens_per_second:,.1f}/s",
                f"tokens, {one.concurrency} at once",
            ]
        )
    for number, one in enumerate(outcomes.throughput):
        first, bare = milliseconds(one.time_to_first_token), milliseconds(one.uncached_time_to_first_token)
        rows.append(["" if number else "  first token", f"{first} ms", f"{bare} ms", f"{one.concurrency} at once"])
    share = f"{outcomes.seconds / outcomes.uncached_seconds:.2f} of the machine's time"
    rows.append(["7 cost", f"{outcomes.seconds:.2f} s", f"{outcomes.uncached_seconds:.2f} s", share])
    if hourly is not None:
        with_it, without = (outcomes.dollars(hourly, cached=cached) for cached in (True, False))
        rows.append(["", f"${with_it:.4f}", f"${without:.4f}", f"1,000 questions at ${hourly:g} an hour"])
    for number, (name, same) in enumerate(
        (("read from the cache", answers.cached), ("from the host", answers.restored), ("together", answers.together))
    ):
        style = Style.GOOD if same == answers.tokens else Style.BAD
        rows.append(["8 answers" if not number else "", (f"{same} of {answers.tokens}", style), "", f"same, {name}"])
    return rows


def outcomes_document(outcomes: Outcomes, hourly: float | None) -> dict[str, Any]:
    """The same for programs. Sizes are bytes, times nanoseconds, rates tokens a second."""
    document: dict[str, Any] = {"agentsim": __version__, "report": "engine bench", "version": 1, **asdict(outcomes)}
    document["throughput"] = list(document["throughput"])
    if hourly is not None:
        document["dollars_per_thousand"] = {
            "hourly": hourly,
            "with_cache": outcomes.dollars(hourly, cached=True),
            "without_cache": outcomes.dollars(hourly, cached=False),
        }
    return document
