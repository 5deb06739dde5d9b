"""Export what is on the screen: a Markdown table, JSON, or a picture."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from agentsim.report.clean import clean
from agentsim.tui.base_screen import Page
from agentsim.tui.grid import Grid, GridColumn, Rows
from agentsim.tui.ink import Piece, parts

_NAMES: dict[str, str] = {"markdown": "Markdown table", "json": "JSON, exact figures", "svg": "Picture (SVG)"}
_FONT = re.compile(r"[ ]*@font-face \{[^}]*\}\n")
_SERIAL = re.compile(r"\bterminal-\d+-")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Formats:
    """The formats to choose from, as rows of a grid."""

    columns = (GridColumn("format", "Export as", 20, "<", 9, True),)

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = kinds

    def __len__(self) -> int:
        return len(self.kinds)

    def cells(self, line: int) -> Sequence[Piece]:
        """The name of a format; a second cell keeps it from being a heading."""
        return [_NAMES[self.kinds[line]], ""]


class ExportScreen(ModalScreen[None]):
    """Asks for the format of an export."""

    DEFAULT_CSS = """
    ExportScreen { align: center middle; }
    ExportScreen Grid { width: 40; height: 6; border: round $primary; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "app.pop_screen", "cancel")]

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self._rows = Formats([kind for kind in _NAMES if kind == "svg" or kind in page.documents()])

    def compose(self) -> ComposeResult:
        """A list of formats."""
        yield Grid(self._rows)

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Write the file."""
        event.stop()
        kind = self._rows.kinds[event.line]
        self.dismiss()
        # The picture is of the screen below, so this one must have gone first.
        self._page.call_after_refresh(export, self._page, kind)

    def on_grid_moved(self, event: Grid.Moved) -> None:
        """Nothing to tell."""
        event.stop()


def picture(app: App[Any]) -> str:
    """The screen as SVG. Names no font to fetch from elsewhere, and is the same for the same screen."""
    text = app.export_screenshot(title="agentsim", simplify=True)
    return _SERIAL.sub("terminal-", _FONT.sub("", text))


def export(page: Page, kind: str) -> None:
    """Write an export of a screen into the working directory, or hand it to the browser."""
    if kind == "svg":
        name, text = "screen.svg", picture(page.app)
    else:
        name, text = page.documents()[kind]()
    name = _UNSAFE.sub("-", f"agentsim-{name}")[:120]
    if page.app.is_web:
        page.app.deliver_text(io.StringIO(text), save_filename=name, open_method="download")
        return
    try:
        path = write_new(name, text)
    except OSError as error:
        page.app.notify(clean(f"{name}: {error.strerror or error}"), severity="error", markup=False)
    else:
        page.app.notify(clean(f"written: {path}"), markup=False)


def write_new(name: str, text: str, folder: str = ".") -> str:
    """Write a file that is not there yet: ``rows.md``, or ``rows-2.md`` where that is taken. Returns its path."""
    stem, end = os.path.splitext(name)
    for number in range(1, 1000):
        path = os.path.join(folder, name if number == 1 else f"{stem}-{number}{end}")
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            continue
        return os.path.normpath(path)
    raise OSError("too many exports of this name here")


def markdown(rows: Rows, title: str, notes: Iterable[str] = ()) -> str:
    """A grid's rows as a Markdown table with a title above and notes below."""
    shown = [index for index, column in enumerate(rows.columns) if column.width > 0]
    columns = [rows.columns[index] for index in shown]
    written = [f"# {_escaped(title)}", ""]
    written.append("| " + " | ".join(_escaped(column.title) for column in columns) + " |")
    written.append("|" + "|".join("--:" if column.align == ">" else ":--" for column in columns) + "|")
    for line in range(len(rows)):
        cells = rows.cells(line)
        texts = [parts(cell)[0] for cell in cells]
        if len(texts) == 1:
            texts, picked = [texts[0], *[""] * (len(columns) - 1)], range(len(columns))
        else:
            picked = shown  # type: ignore[assignment]
        written.append("| " + " | ".join(_escaped(texts[index]) for index in picked) + " |")
    written += ["", *(_escaped(note) for note in notes)]
    return "\n".join(written).rstrip() + "\n"


def _escaped(text: str) -> str:
    return re.sub(r"([\\|`*_\[\]<>#])", r"\\\1", clean(text))
