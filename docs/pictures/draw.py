"""Draw the pictures of the documentation from what agentsim really prints: ``python docs/pictures/draw.py``.

A picture is text in an SVG: it can be searched, it needs no font but a monospaced one, and a diff of it can be read.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from agentsim.report.clean import display_width

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

PICTURES = {
    "replay": (["replay", "traces/samples/atlas-14.jsonl"], 110),
    "usage-only": (["replay", "traces/samples/atlas-14.usage.jsonl", "--rows", "misses"], 110),
}
"""Name: the command line after ``agentsim``, and the width of the terminal."""

CELL, LINE, SIZE, MARGIN, BAR = 8.43, 19, 14, 18, 34
PAPER, INK, FRAME = "#16181d", "#d0d3da", "#2b2f38"
STYLES = {
    "1": "font-weight:700;fill:#f2f4f8",
    "2": "fill:#868d9b",
    "32": "fill:#7fc670",
    "33": "fill:#e2b25c",
    "1;31": "font-weight:700;fill:#f26d6d",
    "36": "fill:#5cbec4",
}
CODE = re.compile(r"\x1b\[([0-9;]*)m")


class Run(NamedTuple):
    """Text of one style and the cell where it begins."""

    cell: int
    text: str
    style: str


def runs(line: str) -> Iterator[Run]:
    """The runs of a line of terminal output, without the blanks around them."""
    cell, style = 0, ""
    for index, part in enumerate(CODE.split(line)):
        if index % 2:
            style = "" if part in ("", "0") else part
            continue
        start = cell + len(part) - len(part.lstrip(" "))
        cell += display_width(part)
        if part.strip(" "):
            yield Run(start, part.strip(" "), style)


def svg(title: str, lines: list[str], columns: int) -> str:
    """A picture of a terminal window that shows these lines."""
    width = round(columns * CELL + 2 * MARGIN)
    height = BAR + len(lines) * LINE + MARGIN
    names = {code: f"s{number}" for number, code in enumerate(STYLES)}
    rules = "".join(f".{name}{{{STYLES[code]}}}" for code, name in names.items())
    font = "ui-monospace,'SF Mono','Cascadia Mono','DejaVu Sans Mono',Menlo,Consolas,monospace"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(title)}</title>",
        f"<style>text{{font:{SIZE}px {font};fill:{INK}}}{rules}</style>",
        f'<rect width="{width}" height="{height}" rx="9" fill="{PAPER}" stroke="{FRAME}"/>',
        *(
            f'<circle cx="{MARGIN + 18 * i}" cy="17" r="5.5" fill="{colour}"/>'
            for i, colour in enumerate(("#f26d6d", "#e2b25c", "#7fc670"))
        ),
    ]
    for number, line in enumerate(lines):
        y = BAR + number * LINE + SIZE
        for run in runs(line):
            x = MARGIN + run.cell * CELL
            length = display_width(run.text) * CELL
            kind = f' class="{names[run.style]}"' if run.style in names else ""
            # textLength keeps columns in line whatever the width of the font that is found.
            out.append(
                f'<text{kind} x="{x:.2f}" y="{y}" textLength="{length:.2f}" lengthAdjust="spacingAndGlyphs"'
                f' xml:space="preserve">{escape(run.text)}</text>'
            )
    return "\n".join([*out, "</svg>", ""])


def draw(name: str) -> None:
    """Run a command line and write its picture."""
    arguments, columns = PICTURES[name]
    done = subprocess.run(
        [sys.executable, "-m", "agentsim", *arguments],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": str(columns), "FORCE_COLOR": "1", "TZ": "UTC", "NO_COLOR": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    command = f"agentsim {' '.join(arguments)}"
    lines = [f"\x1b[2m$\x1b[0m \x1b[1m{command}\x1b[0m", "", *done.stdout.rstrip("\n").split("\n")]
    (HERE / f"{name}.svg").write_text(svg(command, lines, columns), encoding="utf-8")


if __name__ == "__main__":
    for picture in PICTURES:
        draw(picture)
