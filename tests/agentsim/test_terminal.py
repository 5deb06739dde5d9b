"""What really arrives at a terminal: a log that attacks it, read by each command, with the bytes that come out."""

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agentsim.hostile import ATTACK, claude_code_log
from tests.agentsim.report.small import MISS, diagnosis, row

pty = pytest.importorskip("pty", reason="no pseudo-terminals here")

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60

ALLOWED = re.compile(
    r"\x1b\[(?:[0-9]{1,2}(?:;[0-9]{1,2})*)?m"  # colour and weight
    r"|\r\x1b\[K"  # the progress bar takes itself away
    r"|\r(?=(?:reading logs|simulating settings) )"  # or draws itself again
    r"|\r?\n"
)
FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udfff]"
)


def on_a_terminal(*arguments: str | bytes, width: int = 100) -> tuple[int, str]:
    """The exit code of agentsim and all that it writes when both its outputs are a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(width), "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-m", "agentsim", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=ROOT,
        env=environment,
    ) as process:
        os.close(theirs)
        written = b""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if not select.select([ours], [], [], 1)[0]:
                continue
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            written += data
        code = process.wait()
    os.close(ours)
    return code, written.decode("utf-8")


def check_inert(text: str) -> None:
    rest = ALLOWED.sub("", text)
    found = FORBIDDEN.search(rest)
    assert found is None, f"{found.group()!r} in {rest[max(0, found.start() - 40) : found.end() + 20]!r}"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(claude_code_log(tmp_path_factory.mktemp("logs")))


@pytest.mark.parametrize("width", [60, 100, 200])
def test_a_hostile_log_is_replayed_inertly(log: str, width: int) -> None:
    code, text = on_a_terminal("replay", log, width=width)
    assert code == 0
    check_inert(text)
    assert "MISS" in text
    assert "\x1b[" in text, "on a terminal there is colour"


@pytest.mark.parametrize(
    "arguments",
    [
        ("replay", "--rows", "misses", "--content"),
        ("replay", "--no-provider-diagnosis", "--usage-only"),
        ("replay", "--json"),
        ("summary",),
        ("summary", "--json"),
        ("agree",),
        ("agree", "--json"),
        ("formats",),
        ("formats", "--json"),
    ],
    ids=" ".join,
)
def test_each_command_shows_a_hostile_log_inertly(log: str, arguments: tuple[str, ...]) -> None:
    code, text = on_a_terminal(*arguments, log)
    assert code == 0
    assert text
    check_inert(text)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("replay", "no such " + ATTACK), 3),
        (("summary", ATTACK), 3),
        (("formats", ATTACK), 3),
        (("convert", ATTACK, ATTACK), 3),
        (("explain", ATTACK), 2),
        ((ATTACK,), 2),
        (("replay", "--" + ATTACK), 2),
        (("replay", "--rows", ATTACK, "x"), 2),
        ((b"replay", b"\xff\x1b[2J\x9b"), 3),  # a name that is not UTF-8
    ],
)
def test_errors_repeat_hostile_words_inertly(arguments: tuple[str | bytes, ...], code: int) -> None:
    got, text = on_a_terminal(*arguments)
    check_inert(text)
    assert got == code
    assert text.count("\n") == 1
    assert "Traceback" not in text


def test_hostile_choices_are_offered_inertly(log: str) -> None:
    for option in ("--session", "--lane"):
        code, text = on_a_terminal("replay", log, option, "no" + ATTACK)
        assert code == 2
        check_inert(text)


def test_every_word_of_a_verdict_is_shown_inertly() -> None:
    import io

    import msgspec

    from agentsim.report.paper import Paper
    from agentsim.report.screen.replay_page import write_replay

    assert MISS.place is not None
    place = msgspec.structs.replace(MISS.place, address=ATTACK, name=ATTACK, before=ATTACK, after=ATTACK)
    verdict = msgspec.structs.replace(
        MISS,
        request=ATTACK,
        cause=ATTACK,
        alternatives=(ATTACK,),
        established=(ATTACK,),
        to_check=(ATTACK,),
        fix=ATTACK,
        place=place,
    )
    judged = diagnosis([row(ATTACK, 0, 1, 10, 0, model=ATTACK)], [verdict], id=ATTACK, format=ATTACK, harness=ATTACK)
    stream = io.StringIO()
    write_replay(Paper(stream, colour=True), judged, content=True)
    check_inert(stream.getvalue())
