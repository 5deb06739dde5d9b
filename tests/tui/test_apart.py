"""Sessions are gathered in a process of its own: the same as without one, and it never outlives its use."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from agentsim.tui.picker import gather_process
from agentsim.tui.picker.gather_process import Gathering
from agentsim.tui.picker.gather_sessions import PickerLine, gather
from agentsim.tui.picker.picker_screen import PickerScreen
from agentsim.tui.tui_app import AgentsimApp, Launch
from tests.tui.conftest import ATLAS, CLAUDE_CODE, drive, shown
from tests.tui.terminal import ROOT

NEVER_DONE = "import time; print('', end='', flush=True); time.sleep(60)"


@pytest.fixture
def logs(tmp_path: Path) -> str:
    folder = tmp_path / "logs"
    folder.mkdir()
    for path in (ATLAS, CLAUDE_CODE):
        shutil.copy(path, folder)
    fork = Path(CLAUDE_CODE).read_text(encoding="utf-8").replace("3f0c7d52-8a41", "ffffffff-8a41")
    (folder / "fork.jsonl").write_text(fork, encoding="utf-8")
    os.mkdir(folder / os.fsdecode(b"not utf-8 \xff"))
    shutil.copy(ATLAS, folder / os.fsdecode(b"not utf-8 \xff") / "same.jsonl")
    return str(folder)


def result(run, *arguments):
    found: dict[tuple[str, str], PickerLine] = {}
    counts = []

    def tell(lines, done, total):
        found.update({line.key: line for line in lines})
        counts.append((done, total))
        return True

    return run(*arguments, tell), found, counts[-1]


def test_the_same_as_without_a_process(logs):
    problems, found, (done, total) = result(Gathering([logs]).run)
    assert (problems, found, (done, total)) == result(gather, [logs])
    assert len(found) == 3
    assert done == total
    assert [os.path.basename(problem.file) for problem in problems] == ["same.jsonl"]


def test_nothing_is_gathered_in_the_apps_own_process(logs, monkeypatch):
    def forbidden(*_arguments):
        raise AssertionError("keys would wait for this")

    monkeypatch.setattr(gather_process, "gather", forbidden)

    async def look(pilot):
        assert len(pilot.app.screen.rows) == 3
        assert "could not be read wholly" in shown(pilot.app)

    drive(Launch(paths=(logs,)), look)


def test_rules_of_ones_own_go_along(tmp_path):
    """A model that only the user's rules know has a price in the list too."""
    from agentsim.rules.providers.rules_library import read_rules_file, with_rules

    rules = tmp_path / "rules.toml"
    rules.write_text(
        'provider = "acme"\nread_until = 2026-11-29\n\n'
        '[[like]]\nvalue = "automatic"\nsource = "nothing is published"\nconfidence = "low"\n\n'
        '[[price]]\nmodels = ["acme-large*"]\nfresh = "2"\noutput = "10"\nread = "0.20"\n'
        'source = "price list of Acme, 2026-11"\n',
        encoding="utf-8",
    )
    session: dict[str, object] = {"record": "session", "format": "agentsim/1", "id": "acme-1"}
    session |= {"source_format": "agentsim/1", "completeness": "usage", "digests": "plain", "text": False}
    session |= {"requests": 1, "lanes": [{"id": "main", "title": "main"}]}
    request = {
        "record": "request",
        "id": "one",
        "lane": "main",
        "model": "acme-large-1",
        "provider": "acme",
        "start": "1788256800",
        "end": "1788256820",
        "usage": {"fresh": 1_000_000, "read": 500_000, "output": 100_000},
    }
    log = tmp_path / "acme.jsonl"
    log.write_text(f"{json.dumps(session)}\n{json.dumps(request)}\n", encoding="utf-8")
    assert result(Gathering([str(log)]).run)[1]["agentsim/1", "acme-1"].cost is None
    with with_rules(read_rules_file(str(rules))):
        _, found, _ = result(Gathering([str(log)]).run)
    assert found["agentsim/1", "acme-1"].cost == (2_000_000 + 100_000 + 1_000_000) * 10**6  # $2 + $0.10 + $1


@pytest.mark.parametrize(
    "start", ["raise SystemExit(1)", "import os; os.write(1, b'\\x05\\0\\0\\0abc')", "import os; os.close(0)"]
)
def test_a_process_that_dies_costs_nothing_but_time(logs, monkeypatch, start):
    monkeypatch.setattr(gather_process, "_START", start)
    assert result(Gathering([logs]).run) == result(gather, [logs])


@pytest.mark.parametrize("executable", ["", None, "/nowhere/python"])
def test_without_an_interpreter_to_start(logs, monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    assert result(Gathering([logs]).run) == result(gather, [logs])


def test_stopping_ends_it_at_once(logs, monkeypatch):
    monkeypatch.setattr(gather_process, "_START", NEVER_DONE)
    gathering = Gathering([logs])
    told: list[object] = []

    def tell(*batch):
        told.append(batch)
        return True

    thread = threading.Thread(target=gathering.run, args=(tell,))
    thread.start()
    while gathering._process is None:
        time.sleep(0.01)
    process = gathering._process
    began = time.monotonic()
    gathering.stop()
    thread.join(5)
    assert not thread.is_alive()
    assert time.monotonic() - began < 1
    assert process.returncode is not None  # and has been waited for
    assert told == []


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
def test_leaving_the_list_leaves_no_process(logs, monkeypatch, key):
    monkeypatch.setattr(gather_process, "_START", NEVER_DONE)

    async def run():
        app = AgentsimApp(Launch(paths=(logs,)))
        async with app.run_test() as pilot:
            while not isinstance(screen := app.screen, PickerScreen) or screen._gathering._process is None:
                await pilot.pause(0.02)
            process = screen._gathering._process
            assert process.poll() is None
            await pilot.press(key)
        return process

    began = time.monotonic()
    process = asyncio.run(run())
    assert process.returncode is not None
    assert time.monotonic() - began < 60  # it would gather for an hour


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks into /proc")
def test_it_ends_with_an_app_that_was_killed(logs):
    """Even in the middle of a log that takes an hour."""
    busy = (
        "from agentsim.tui.picker import gather_process as it; import time; "
        "it.gather = lambda *a: time.sleep(3600); it.work()"
    )
    code = (
        "import sys, threading, time\n"
        "from agentsim.tui.picker import gather_process as it\n"
        f"it._START = 'import sys; sys.path[:] = sys.argv[1:]; {busy}'\n"
        f"gathering = it.Gathering([{logs!r}])\n"
        "threading.Thread(target=gathering.run, args=(lambda *a: True,), daemon=True).start()\n"
        "while gathering._process is None: time.sleep(0.01)\n"
        "time.sleep(0.5)\n"
        "print(gathering._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    app = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert app.stdout is not None
    pid = int(app.stdout.readline())
    assert _runs(pid)
    app.kill()
    app.wait()
    app.stdout.close()
    end = time.monotonic() + 30
    while _runs(pid):
        assert time.monotonic() < end
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
