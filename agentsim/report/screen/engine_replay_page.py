"""A replay on the engine, on a screen and for programs: predicted beside measured."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from agentsim import __version__
from agentsim.report.figures import UNKNOWN, count, per_cent, plural
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.engine.engine_replay import EngineReplay, ReplayedRow

COLUMNS = (
    TableColumn("request", "<", 8, 8, "start"),
    TableColumn("prompt"),
    TableColumn("predicted"),
    TableColumn("measured"),
    TableColumn("", "<", 7),
    TableColumn("first token ms", ">", 6),
    TableColumn("without cache ms", ">", 5),
    TableColumn("faster", ">", 4),
    TableColumn("tokens/s", ">", 3),
)


def milliseconds(nanoseconds: int | None) -> str:
    """A time for people: three digits that matter."""
    if nanoseconds is None:
        return UNKNOWN
    value = nanoseconds / 1e6
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def size(number: int) -> str:
    """Bytes for people."""
    value, unit = float(number), "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return plural(number, "byte") if unit == "bytes" else f"{value:.1f} {unit}"


def write_engine_replay(paper: Paper, replay: EngineReplay) -> None:
    """Write the page."""
    paper.line((f"Session {replay.session.id}", Style.STRONG))
    paper.paragraph(f"{replay.model}, {replay.precision}, on {_place(replay)}. {_tokens(replay)}")
    paper.line()
    write_table(paper, COLUMNS, [_cells(row) for row in replay.rows])
    paper.line()
    _write_totals(paper, replay)


def _place(replay: EngineReplay) -> str:
    return replay.device.upper() + ("" if replay.device == "cuda" else f" with {plural(replay.threads, 'thread')}")


def _tokens(replay: EngineReplay) -> str:
    if replay.how == "text":
        text = "Prompts are the recorded text in the model's tokens."
    elif replay.scale < 1:
        text = f"Tokens are drawn from the blocks' digests, {replay.scale:.4f} of their number."
    else:
        text = "Tokens are drawn from the blocks' digests, as many as were counted."
    kept = "all that was computed" if replay.capacity is None else plural(replay.capacity, "token")
    text += f" The cache keeps {kept}, in pages of {plural(replay.page, 'token')}."
    return text if replay.rules is None else f"{text} Requests read what {replay.rules} lets them read."


def _cells(row: ReplayedRow) -> list[Span]:
    measured = row.measured
    faster = UNKNOWN if row.cold is None else f"{row.cold / max(measured.time_to_first_token, 1):.1f}×"
    return [
        (row.request.id, Style.NAME),
        count(measured.prompt),
        count(row.predicted),
        count(measured.reused),
        ("same", Style.GOOD) if row.agrees else ("differs", Style.BAD),
        milliseconds(measured.time_to_first_token),
        milliseconds(row.cold),
        faster,
        UNKNOWN if measured.rate is None else f"{measured.rate:,.1f}",
    ]


def _write_totals(paper: Paper, replay: EngineReplay) -> None:
    rows = replay.rows
    prompt = sum(row.measured.prompt for row in rows)
    reused = sum(row.measured.reused for row in rows)
    style = Style.GOOD if replay.agreeing == len(rows) else Style.BAD
    lines: list[tuple[str, Span]] = [
        ("reused as predicted", (f"{replay.agreeing} of {plural(len(rows), 'request')}", style)),
        ("tokens reused", f"{reused:,} of {prompt:,} ({per_cent(reused, prompt)} %)"),
    ]
    pairs = [(row.measured.time_to_first_token, row.cold) for row in rows if row.cold is not None]
    if pairs:
        warm, cold = median(one for one, _ in pairs), median(two for _, two in pairs)
        text = f"{milliseconds(round(warm))} ms with the cache, {milliseconds(round(cold))} ms without"
        lines.append(("first token, hits", f"{text} (medians of {len(pairs)})"))
    rates = [row.measured.rate for row in rows if row.measured.rate is not None]
    if rates:
        lines.append(("generation", f"{median(rates):,.1f} tokens a second (median)"))
    lines.append(("K/V memory", f"{size(replay.peak_bytes)} at most in use, {size(replay.stored_bytes)} kept"))
    lines.append(("a token's K/V", size(replay.bytes_per_token)))
    if replay.restored is not None:
        back = replay.restored
        text = f"{back.tokens:,} tokens ({size(back.bytes)}) in {milliseconds(back.moving)} ms; first token after"
        text += f" {milliseconds(back.time_to_first_token)} ms, computed anew after {milliseconds(back.cold)} ms"
        lines.append(("back from the host", text))
    if replay.without_prompt:
        lines.append(("left out", f"{plural(replay.without_prompt, 'request')} of which no size is known"))
    widest = max(len(name) for name, _ in lines)
    for name, span in lines:
        paper.paragraph(span, first=[f"{name:<{widest}}  "], rest=[" " * (widest + 2)])


def engine_replay_document(replay: EngineReplay) -> dict[str, Any]:
    """The same for programs. Times are integer nanoseconds, sizes bytes."""
    restored = replay.restored
    return {
        "agentsim": __version__,
        "report": "replay on the engine",
        "version": 1,
        "session": replay.session.id,
        "model": replay.model,
        "precision": replay.precision,
        "device": replay.device,
        "threads": replay.threads,
        "tokens": replay.how,
        "scale": replay.scale,
        "page": replay.page,
        "capacity": replay.capacity,
        "rules_on_pages": replay.rules,
        "agreeing": replay.agreeing,
        "without_prompt": replay.without_prompt,
        "bytes_per_token": replay.bytes_per_token,
        "peak_bytes": replay.peak_bytes,
        "stored_bytes": replay.stored_bytes,
        "restored": None
        if restored is None
        else {
            "tokens": restored.tokens,
            "bytes": restored.bytes,
            "moving_ns": restored.moving,
            "first_token_ns": restored.time_to_first_token,
            "cold_first_token_ns": restored.cold,
        },
        "rows": [
            {
                "request": row.request.id,
                "lane": row.request.lane,
                "prompt": row.measured.prompt,
                "predicted": row.predicted,
                "measured": row.measured.reused,
                "computed": row.measured.computed,
                "output": row.measured.output,
                "first_token_ns": row.measured.time_to_first_token,
                "cold_first_token_ns": row.cold,
                "tokens_per_second": row.measured.rate,
            }
            for row in replay.rows
        ],
    }
