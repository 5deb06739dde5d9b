"""Whatever a log says, a terminal obeys only the app: no control sequence from content, no markup, no crash."""

from __future__ import annotations

from base64 import b64decode

import pytest

from agentsim.diagnose import diagnose
from agentsim.traces.readers.agentsim1 import write
from agentsim.tui.tui_app import Launch
from tests.tui.conftest import drive, press, shown
from tests.tui.hostile import HUGE, NASTY, session
from tests.tui.terminal import Terminal, strangers

ROUND = "]]xe\x1bt mw  1ww/evil\rnNvr0+-a\x1bb\x1bssS?\x1be"
"""Keys that visit every screen."""


@pytest.fixture
def folder(tmp_path):
    write([session()], str(tmp_path / "evil\x1b]0;x\x07\u202e[bold].jsonl"))
    return tmp_path


def test_the_allow_list_catches_what_it_should():
    assert strangers(b"\x1b[1;31mred\x1b[0m\x1b[?1049h ok") == []
    for bad in (b"\x1b]52;c;eA==\x07", b"\x1b]0;t\x07", "\x9b31m".encode(), b"\x08", "\u202e".encode()):
        assert strangers(b"x" + bad + b"y"), bad


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_nothing_from_a_log_reaches_the_terminal(folder, size):
    (file,) = folder.iterdir()
    terminal = Terminal([str(file)], *size)
    terminal.until(b"MISS", 40)
    terminal.read(1)
    for key in ROUND:
        terminal.press(key, 0.25)
    terminal.press("\x11", 1)
    assert terminal.wait() == 0
    assert strangers(terminal.written) == []
    assert b"SE9TVElMRQ" in terminal.written  # it was shown, as letters
    assert b"\x1b]52" not in terminal.written


def test_nothing_from_a_file_name_reaches_the_terminal(folder):
    terminal = Terminal([str(folder)])
    terminal.until(b"title", 40)
    terminal.read(1)
    for key in "sS/evil\ry":
        terminal.press(key, 0.2)
    terminal.press("\x11", 1)
    assert terminal.wait() == 0
    # Copying a command writes to the clipboard: once, and what it writes is as clean.
    (copied,) = strangers(terminal.written)
    text = b64decode(copied.removeprefix(b"\x1b]52;c;").rstrip(b"\x07")).decode()
    assert text.startswith("agentsim replay ")
    assert text.isprintable()


def test_markup_is_text():
    """``[/x]`` crashes a widget that parses markup, and ``[@click=app.quit]`` would be a link that ends the app."""
    judged = diagnose(session())
    seen: list[str] = []

    async def visit(pilot):
        for key in ("right_square_bracket", "x", "enter", "escape", "t", "w", "space", "w", "v", "escape", "b"):
            await press(pilot, key)
            seen.append(shown(pilot.app))
        for x in range(2, 100, 19):
            for y in range(0, 30, 4):
                await pilot.click(offset=(x, y))
        assert pilot.app.is_running

    drive(Launch(diagnoses=(judged,)), visit)
    text = "\n".join(seen)
    assert "[/x]" in text
    assert "[@click=app.quit]" in text


def test_exports_are_clean(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged = diagnose(session())

    async def export(pilot):
        for kind in range(3):
            await press(pilot, "e", *["down"] * kind, "enter")

    drive(Launch(diagnoses=(judged,)), export)
    files = sorted(tmp_path.iterdir(), key=lambda file: file.suffix)
    assert [file.suffix for file in files] == [".json", ".md", ".svg"]
    for file in files:
        assert file.name.isascii()
        data = file.read_text(encoding="utf-8")
        assert "\x1b" not in data
        assert "\u202e" not in data or file.suffix == ".json"
    assert "\\[/x\\]" in files[1].read_text(encoding="utf-8")


def test_a_megabyte_is_not_drawn():
    """Drawing a text of a megabyte must not take longer than one of a line."""
    from time import perf_counter

    from agentsim.tui.ink import safe

    began = perf_counter()
    for _ in range(1000):
        assert len(safe(HUGE, 40)) <= 40
    assert perf_counter() - began < 1
    assert "\x1b" not in safe(NASTY)
