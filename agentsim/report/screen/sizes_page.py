"""The size of a model's K/V, on a screen and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsim.report.figures import plural
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.engine.lab.kv_sizes import Shape

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def binary(count: int) -> str:
    """Bytes in the largest unit of which there is one, three digits."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    if not unit or size >= 100 or size == int(size):
        return f"{size:,.0f} {_UNITS[unit]}"
    return f"{size:.3g} {_UNITS[unit]}"


def write_size(paper: Paper, shape: Shape, tokens: int, bits: int, memory: int | None, window: int) -> None:
    """Write a model's K/V: of a token, of sessions by length, and what other architectures would keep."""
    from agentsim.engine.lab.kv_sizes import alternatives, kv_bytes, sessions_in, token_bytes

    paper.line((shape.name, Style.STRONG))
    paper.paragraph(_about(shape), first=["  "], rest=["  "])
    paper.paragraph(
        f"One token takes {plural(token_bytes(shape, bits), 'byte')} in all layers; "
        f"a session of {plural(tokens, 'token')} "
        f"{binary(kv_bytes(shape, tokens, bits))}, {bits} bits a number.",
        first=["  "],
        rest=["  "],
    )
    paper.line()
    lengths = sorted({1_024, 8_192, 32_768, tokens} | ({shape.context} if shape.context else set()))
    columns = [TableColumn("tokens"), TableColumn("one session")]
    rows: list[list[Span]] = [[f"{length:,}", binary(kv_bytes(shape, length, bits))] for length in lengths]
    if memory is not None:
        columns.append(TableColumn(f"sessions in {binary(memory)}"))
        for row, length in zip(rows, lengths, strict=True):
            row.append(f"{sessions_in(memory, kv_bytes(shape, length, bits)):,}")
    write_table(paper, columns, rows, indent=2)
    paper.line()
    otherwise = f"A session of {plural(tokens, 'token')}, built or kept otherwise"
    paper.paragraph((otherwise, Style.NAME), first=["  "], rest=["  "])
    others = alternatives(shape, tokens, bits, window)
    columns = [TableColumn("way", "<"), TableColumn("one session"), TableColumn("share")]
    whole = others[0].bytes
    rows = [
        [
            (each.name, Style.STRONG if each.is_model else Style.PLAIN),
            binary(each.bytes),
            f"{each.bytes / whole * 100:.0f} %",
        ]
        for each in others
    ]
    if memory is not None:
        columns.append(TableColumn(f"sessions in {binary(memory)}"))
        for row, each in zip(rows, others, strict=True):
            row.append(f"{sessions_in(memory, each.bytes):,}")
    write_table(paper, columns, rows, indent=2)
    paper.line()
    paper.paragraph(
        ("Other numbers of K/V heads, and YOCO, are other models: trained so. INT4 keeps this one, less exactly.",
         Style.FAINT),
        first=["  "], rest=["  "],
    )  # fmt: skip


def size_document(shape: Shape, tokens: int, bits: int, memory: int | None, window: int) -> dict[str, Any]:
    """The same as JSON."""
    from agentsim import __version__
    from agentsim.engine.lab.kv_sizes import alternatives, kv_bytes, sessions_in, token_bytes

    session = kv_bytes(shape, tokens, bits)
    return {
        "agentsim": __version__,
        "report": "size",
        "version": 1,
        "model": {
            "name": shape.name,
            "layers": shape.layers,
            "heads": shape.heads,
            "kv_heads": shape.kv_heads,
            "head_dim": shape.head_dim,
            "latent": shape.latent or None,
            "window": shape.window or None,
            "window_layers": shape.window_layers,
            "context": shape.context,
        },
        "bits": bits,
        "tokens": tokens,
        "token_bytes": token_bytes(shape, bits),
        "session_bytes": session,
        "memory_bytes": memory,
        "sessions": None if memory is None else sessions_in(memory, session),
        "alternatives": [
            {
                "way": each.name,
                "is_model": each.is_model,
                "session_bytes": each.bytes,
                "sessions": None if memory is None else sessions_in(memory, each.bytes),
            }
            for each in alternatives(shape, tokens, bits, window)
        ],
    }


def _about(shape: Shape) -> str:
    if shape.latent:
        kept = f"one vector of {plural(shape.latent, 'number')} for a token and layer"
    else:
        kv_heads, heads = plural(shape.kv_heads, "K/V head"), plural(shape.heads, "query head")
        kept = f"{kv_heads} of {shape.head_dim} for {heads}"
    parts = [f"{plural(shape.layers, 'layer that keeps', 'layers that keep')} K/V", kept]
    if shape.window_layers:
        parts.append(f"{shape.window_layers} of them for the last {plural(shape.window, 'token')} alone")
    if shape.context:
        parts.append(f"a context of {plural(shape.context, 'token')}")
    return ", ".join(parts) + "."
