"""The size of a model's K/V, on a screen and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsim.report.figures import plural
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.engine.layouts.state_layout import StateLayout

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def binary(count: int) -> str:
    """Bytes in the largest unit of which there is one, three digits."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    if not unit or size >= 100 or size == int(size):
        return f"{size:,.0f} {_UNITS[unit]}"
    return f"{size:.3g} {_UNITS[unit]}"


def write_size(paper: Paper, layout: StateLayout, tokens: int, bits: int, memory: int | None, window: int) -> None:
    """Write a model's K/V: of a token, of sessions by length, and what other architectures would keep."""
    paper.line((layout.name, Style.STRONG))
    paper.paragraph(_about(layout), first=["  "], rest=["  "])
    paper.paragraph(
        f"One token takes {plural(layout.token_bytes(bits), 'byte')} in all layers; "
        f"a session of {plural(tokens, 'token')} "
        f"{binary(layout.kv_bytes(tokens, bits))}, {bits} bits a number.",
        first=["  "],
        rest=["  "],
    )
    for line in _beside(layout, bits):
        paper.paragraph(line, first=["  "], rest=["  "])
    paper.line()
    if len(layout.growing) + len(layout.fixed) > 1:
        _write_states(paper, layout, tokens, bits)
    _write_lengths(paper, layout, tokens, bits, memory)
    if layout.shape.layers:
        _write_alternatives(paper, layout, tokens, bits, memory, window)


def _write_states(paper: Paper, layout: StateLayout, tokens: int, bits: int) -> None:
    """What each kind of layer keeps."""
    columns = [TableColumn("kept", "<"), TableColumn("layers"), TableColumn("numbers a token"), TableColumn("tokens")]
    columns.append(TableColumn(f"of {tokens:,} tokens"))
    rows: list[list[Span]] = [
        [state.kind, f"{state.layers:,}", f"{state.numbers:,}", f"last {state.limit:,}" if state.limit else "all",
         binary(state.bytes(tokens, bits))]
        for state in layout.growing
    ]  # fmt: skip
    for fixed in layout.fixed:
        size = fixed.bytes(bits)
        rows.append([fixed.kind, f"{fixed.layers:,}", "-", "-", "not told" if size is None else binary(size)])
    write_table(paper, columns, rows, indent=2)
    paper.line()


def _write_lengths(paper: Paper, layout: StateLayout, tokens: int, bits: int, memory: int | None) -> None:
    lengths = sorted({1_024, 8_192, 32_768, tokens} | ({layout.context} if layout.context else set()))
    columns = [TableColumn("tokens"), TableColumn("one session")]
    rows: list[list[Span]] = [[f"{length:,}", binary(layout.kv_bytes(length, bits))] for length in lengths]
    if memory is not None:
        columns.append(TableColumn(f"sessions in {binary(memory)}"))
        for row, length in zip(rows, lengths, strict=True):
            fitting = _fitting(layout, length, bits, memory)
            row.append("not told" if fitting is None else f"{fitting:,}")
    write_table(paper, columns, rows, indent=2)
    paper.line()


def _write_alternatives(
    paper: Paper, layout: StateLayout, tokens: int, bits: int, memory: int | None, window: int
) -> None:
    from agentsim.engine.layouts.alternatives import alternatives

    otherwise = f"K/V of a session of {plural(tokens, 'token')}, built or kept otherwise"
    paper.paragraph((otherwise, Style.NAME), first=["  "], rest=["  "])
    others = alternatives(layout, tokens, bits, window)
    columns = [TableColumn("way", "<"), TableColumn("one session"), TableColumn("share")]
    whole = others[0].bytes
    rows: list[list[Span]] = [
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
            fitting = _fit(memory, each.bytes, layout.fixed_bytes(bits))
            row.append("not told" if fitting is None else f"{fitting:,}")
    write_table(paper, columns, rows, indent=2)
    paper.line()
    paper.paragraph(
        ("Other numbers of K/V heads, and YOCO, are other models: trained so. INT4 keeps this one, less exactly.",
         Style.FAINT),
        first=["  "], rest=["  "],
    )  # fmt: skip


def size_document(layout: StateLayout, tokens: int, bits: int, memory: int | None, window: int) -> dict[str, Any]:
    """The same as JSON."""
    from agentsim import __version__
    from agentsim.engine.layouts.alternatives import alternatives

    shape, windows, image = layout.shape, layout.windows, layout.image
    return {
        "agentsim": __version__,
        "report": "size",
        "version": 1,
        "model": {
            "name": layout.name,
            "layers": shape.layers,
            "heads": shape.heads,
            "kv_heads": shape.kv_heads,
            "head_dim": shape.head_dim,
            "latent": shape.latent or None,
            "window": max((state.limit for state in windows), default=None),
            "window_layers": sum(state.layers for state in windows),
            "sharing_layers": layout.sharing,
            "context": layout.context,
        },
        "bits": bits,
        "tokens": tokens,
        "token_bytes": layout.token_bytes(bits),
        "session_bytes": layout.kv_bytes(tokens, bits),
        "recurrent_bytes": layout.fixed_bytes(bits),
        "memory_bytes": memory,
        "sessions": None if memory is None else _fitting(layout, tokens, bits, memory),
        "states": [
            {
                "kind": state.kind,
                "layers": state.layers,
                "numbers": state.numbers,
                "window": state.limit or None,
                "bytes": state.bytes(tokens, bits),
            }
            for state in layout.growing
        ],
        "recurrent": [
            {"kind": state.kind, "layers": state.layers, "bytes": state.bytes(bits)} for state in layout.fixed
        ],
        "image": None
        if image is None
        else {
            "layers": image.layers,
            "token_bytes": image.token_bytes(bits),
            "tokens": image.tokens,
        },
        "alternatives": [
            {
                "way": each.name,
                "is_model": each.is_model,
                "session_bytes": each.bytes,
                "sessions": None if memory is None else _fit(memory, each.bytes, layout.fixed_bytes(bits)),
            }
            for each in alternatives(layout, tokens, bits, window)
        ],
    }


def _fitting(layout: StateLayout, tokens: int, bits: int, memory: int) -> int | None:
    return _fit(memory, layout.kv_bytes(tokens, bits), layout.fixed_bytes(bits))


def _fit(memory: int, session: int, recurrent: int | None) -> int | None:
    """How many sessions fit; None where the size of their recurrent states is not known."""
    from agentsim.engine.layouts.kv_sizes import sessions_in

    return None if recurrent is None else sessions_in(memory, session + recurrent)


def _about(layout: StateLayout) -> str:
    shape = layout.shape
    if not shape.layers:
        parts = ["No layer keeps K/V"]
    else:
        keeping = shape.layers - layout.sharing
        kept = f"{plural(shape.kv_heads, 'K/V head')} of {shape.head_dim} for {plural(shape.heads, 'query head')}"
        if shape.latent:
            kept = f"one vector of {plural(shape.latent, 'number')} for a token and layer"
        parts = [f"{plural(keeping, 'layer that keeps', 'layers that keep')} K/V", kept]
    for state in layout.windows:
        parts.append(f"{state.layers} of them for the last {plural(state.limit, 'token')} alone")
    if layout.sharing:
        parts.append(f"{plural(layout.sharing, 'layer that reads', 'layers that read')} what others keep")
    for fixed in layout.fixed:
        parts.append(f"{plural(fixed.layers, 'layer')} with a recurrent state ({fixed.kind})")
    if layout.context:
        parts.append(f"a context of {plural(layout.context, 'token')}")
    return ", ".join(parts) + "."


def _beside(layout: StateLayout, bits: int) -> list[str]:
    """What a session takes beside the K/V of its text."""
    lines = []
    if layout.fixed:
        recurrent = layout.fixed_bytes(bits)
        told = "of a size that the file does not tell" if recurrent is None else binary(recurrent)
        lines.append(f"Beside it are recurrent states, {told}: the same however long the session is.")
    if layout.image is not None:
        each, image = layout.image.token_bytes(bits), layout.image
        whole = "" if image.tokens is None else f", {binary(each * image.tokens)} for the largest"
        lines.append(
            f"Beside it are {plural(image.layers, 'layer')} for images: "
            f"{plural(each, 'byte')} for each token of an image{whole}."
        )
    return lines
