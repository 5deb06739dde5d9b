"""The real program on a terminal: how it starts, and that it leaves the terminal as it was however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import termios
import time

import pytest

from tests.tui.conftest import ATLAS
from tests.tui.terminal import CODE, ROOT, SEQUENCE, Terminal

OFF = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?2004l")
"""The main screen again, the cursor shown, no mouse reports, no bracketed paste."""


def ends_well(terminal: Terminal) -> None:
    for sequence in OFF:
        on = sequence.replace(b"h", b"!").replace(b"l", b"h").replace(b"!", b"l")
        assert terminal.written.rfind(sequence) > terminal.written.rfind(on), sequence
    assert termios.tcgetattr(terminal.file)[3] == terminal.before[3], "line mode and echo are not restored"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_killed_app_restores_the_terminal(number):
    terminal = Terminal([ATLAS])
    terminal.until(b"AS502")
    os.kill(terminal.pid, number)
    assert terminal.wait() == 128 + number
    ends_well(terminal)


def test_quitting_restores_the_terminal():
    terminal = Terminal([ATLAS])
    terminal.until(b"AS502")
    terminal.press("q")
    assert terminal.wait() == 0
    ends_well(terminal)


def test_a_defect_restores_the_terminal_and_repeats_no_words_of_the_log():
    broken = (
        "import sys\n"
        "from agentsim.tui.trace.row_story import Story\n"
        "def tell(*a, **k): words = 'PRIVATE WORDS'; raise RuntimeError('broken on purpose')\n"
        "Story.tell = tell\n"
        "from agentsim.cli import main\n"
        f"sys.exit(main(['tui', {ATLAS!r}]))"
    )
    terminal = Terminal([], code=broken)
    assert terminal.wait() == 70
    ends_well(terminal)
    assert b"broken on purpose" in terminal.written
    assert b"this is a defect of agentsim" in terminal.written
    assert b"PRIVATE WORDS" not in terminal.written
    assert b"Traceback" not in terminal.written


def test_no_colour_when_none_is_wanted():
    terminal = Terminal([ATLAS], environment={"NO_COLOR": "1"})
    terminal.until(b"AS502")
    terminal.press("]v")
    terminal.press("\x11")
    terminal.wait()
    for match in SEQUENCE.finditer(terminal.written):
        if match[0].endswith(b"m") and b"38;2;" in match[0]:
            red, green, blue = match[0].split(b"38;2;")[1].rstrip(b"m").split(b";")[:3]
            assert red == green == blue, match[0]  # grey


def test_without_a_terminal_it_says_what_to_do():
    run = subprocess.run(
        [sys.executable, "-c", CODE, "tui", ATLAS], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert run.returncode == 2
    assert "needs a terminal" in run.stderr
    assert "agentsim replay" in run.stderr
    assert run.stdout == ""


@pytest.mark.parametrize("content", [None, b"", b"not a log\n"])
def test_what_cannot_be_read_is_told_after_the_screen_is_restored(tmp_path, content):
    file = tmp_path / "log.jsonl"
    if content is not None:
        file.write_bytes(content)
    terminal = Terminal([str(file)])
    assert terminal.wait() == 3
    last = terminal.written.decode("utf-8", "replace").replace("\r\n", "").rsplit("\x1b", 1)[-1]
    assert "log.jsonl" in last
    if content is not None:
        ends_well(terminal)


def test_the_cursor_stands_where_it_stood_and_the_theme_stays():
    first = Terminal([ATLAS])
    first.until(b"AS502")
    first.read(0.5)
    first.press("]", 1)
    first.press("\x14", 1)  # Ctrl+T: the next theme
    first.press("\x11")
    first.wait()
    second = Terminal([ATLAS])
    second.until(b"db_query", 20)  # the story of row 5
    assert b"38;2;28;34;51" in second.written  # the light theme's text
    second.press("\x11")
    second.wait()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_in_tmux(tmp_path):
    """Keys in, screen out: what a person sees in a real terminal multiplexer."""
    socket = f"agentsim-{os.getpid()}"
    command = f"cd {ROOT} && PYTHONPATH={ROOT} TZ=UTC {sys.executable} -c '{CODE}' tui {ATLAS}; echo left with $?; cat"

    # A size in the environment would count for more than that of the window.
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "TMUX")}

    def tmux(*arguments: str) -> str:
        command = ["tmux", "-L", socket, *arguments]
        run = subprocess.run(command, capture_output=True, text=True, timeout=20, env=environment)
        return run.stdout

    def until(wanted: str) -> str:
        for _ in range(150):
            screen = tmux("capture-pane", "-p")
            if wanted in screen:
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{wanted!r} is not on the screen:\n{screen}")

    tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", command)
    try:
        screen = until("AS502")
        assert "14 requests · hit rate 52.65 %" in screen
        tmux("send-keys", "]")
        until("tools[3] db_query inserted")
        tmux("send-keys", "]")
        until("The five-minute entry had expired")
        tmux("send-keys", "v")
        assert "35 s too late" in until("35 s too late")
        tmux("send-keys", "q")
        until("what happened")
        tmux("send-keys", "/", "AS301", "Enter")
        screen = until("at position 26")
        assert "▌ 11" in screen
        tmux("send-keys", "b")
        until("Lost to causes")
        tmux("send-keys", "Escape")
        until("what happened")
        tmux("resize-window", "-x", "80", "-y", "24")
        until("q Back")
        tmux("send-keys", "?")
        until("next and previous miss")
        tmux("send-keys", "Escape")
        time.sleep(0.3)
        tmux("send-keys", "q")
        screen = until("left with 0")
        assert "what happened" not in screen  # the alternate screen is gone
    finally:
        tmux("kill-server")
