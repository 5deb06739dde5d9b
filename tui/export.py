"""Export what is on the screen: a Markdown table, JSON, or a picture."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agentsim.report.clean import clean
from tui.grid import Rows
from tui.ink import Ink, content, lines, parts
from tui.page import Page

_NAMES: dict[str, str] = {"markdown": "Markdown table", "json": "JSON, exact figures", "svg": "Picture (SVG)"}
_FONT = re.compile(r"[ ]*@font-face \{[^}]*\}\n")
_SERIAL = re.compile(r"\bterminal-\d+-")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class ExportScreen(ModalScreen[None]):
    """Asks for the format of an export."""

    DEFAULT_CSS = """
    ExportScreen { align: center middle; }
    ExportScreen > Vertical { width: 44; height: auto; background: $panel; border: round $primary; padding: 0 1; }
    ExportScreen OptionList { height: auto; background: $panel; border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "app.pop_screen", "cancel"),
        Binding("j", "down", show=False),
        Binding("k", "up", show=False),
    ]

    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page

    def compose(self) -> ComposeResult:
        """A list of formats."""
        kinds = [kind for kind in _NAMES if kind == "svg" or kind in self._page.documents()]
        with Vertical():
            yield Static(lines([[("Export as", Ink.STRONG)]]))
            yield OptionList(*(Option(content(_NAMES[kind]), id=kind) for kind in kinds))

    def action_down(self) -> None:
        """Next format."""
        self.query_one(OptionList).action_cursor_down()

    def action_up(self) -> None:
        """Format before."""
        self.query_one(OptionList).action_cursor_up()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Write the file."""
        kind = event.option.id or "svg"
        self.app.pop_screen()
        # The picture is of the screen below, so this one must have gone first.
        self._page.call_after_refresh(export, self._page, kind)


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
