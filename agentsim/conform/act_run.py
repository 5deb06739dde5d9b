"""One act with one harness: a home of its own, an endpoint of its own, and what its requests did."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from agentsim.conform.act_files import Act, ActStep, script_of
from agentsim.conform.act_results import ActResult, failed, judged
from agentsim.conform.harness_adapters import HarnessAdapter, filled
from agentsim.gateway.injected_faults import Faults, parse_faults
from agentsim.gateway.serve.child_process import emulated_environment
from agentsim.gateway.serve.emulated_endpoint import emulated
from agentsim.traces.readers.agentsim1 import read_sessions

PATIENCE = 90.0
"""Seconds that one run of a harness may take."""

_GIT = ("git", "-c", "user.email=a@example.com", "-c", "user.name=a")


def version_of(adapter: HarnessAdapter) -> str | None:
    """What a harness says of its version; ``None`` where it is not installed."""
    if shutil.which(adapter.program) is None:
        return None
    if not adapter.version:
        return ""
    with tempfile.TemporaryDirectory(prefix="agentsim-") as home:
        try:
            done = subprocess.run(
                adapter.version,
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "HOME": home},
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    words = (done.stdout or done.stderr).split()
    return next((word.lstrip("v").rstrip(",).") for word in words if word.lstrip("v")[:1].isdigit()), "")


def run_act(act: Act, adapter: HarnessAdapter, *, keep: str | None = None) -> ActResult:
    """Run an act. ``keep`` is where its trace goes. Never raises for what the harness does."""
    missing = [need for need in act.needs if not adapter.can(need)]
    if missing:
        return ActResult(act=act.name, harness=adapter.name, status="unsupported", note=f"no {missing[0]}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agentsim-conform-", ignore_cleanup_errors=True) as folder:
        trace = os.path.join(folder, "trace.jsonl")
        jump = _Jump()
        endpoint = emulated(
            script_of(act, adapter.finish),
            trace=trace,
            faults=Faults(parse_faults(act.faults), 0),
            window=act.window,
            clock=jump.now,
        )
        trouble = ""
        with endpoint.server.beside():
            for number, step in enumerate(act.step):
                jump.seconds += step.jump
                trouble = _run_step(act, adapter, Path(folder), endpoint.server.url, number, step)
                if trouble:
                    break
        endpoint.sessions.finish()
        if not endpoint.sessions.requests:
            return failed(act, adapter, trouble or "no request came", time.monotonic() - began)
        sessions = list(read_sessions([trace]))
        if keep is not None:
            shutil.copyfile(trace, keep)
    result = judged(act, adapter, sessions, endpoint.sessions)
    return msgspec.structs.replace(result, note=trouble or result.note, seconds=round(time.monotonic() - began, 1))


class _Jump:
    """A clock that can be put forward. Mutable."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> int:
        return time.time_ns() + round(self.seconds * 10**9)


def _run_step(act: Act, adapter: HarnessAdapter, folder: Path, url: str, number: int, step: ActStep) -> str:
    """Run a step; what went wrong, or nothing."""
    home, project = folder / "home", folder / step.folder
    server = [sys.executable, str(Path(__file__).with_name("little_tool_server.py"))]
    words = {
        "url": url,
        "home": str(home),
        "project": str(project),
        "prompt": step.prompt,
        "model": adapter.models[0 if step.model == "first" else 1],
        "effort": adapter.efforts[0 if step.effort == "first" else 1],
        "mcp_python": server[0],
        "mcp_server": server[1],
    }
    home.mkdir(exist_ok=True)
    if not project.exists():
        project.mkdir()
        (project / "notes.txt").write_text("Some notes.\n")
        if adapter.instructions:
            (project / adapter.instructions).write_text("# Rules\n\nBe brief. Use metric units.\n" * 20)
        for git in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "begin"]):
            subprocess.run([*_GIT, *git], cwd=project, check=False, capture_output=True)
    _write(home, adapter.files, words)
    _write(project, adapter.project_files, words)
    if act.mcp:
        _write(folder, adapter.mcp_files, words)
    environment = emulated_environment(url)
    environment |= {"HOME": str(home), "TERM": "dumb", "CI": "1", "AGENTSIM_STEP": str(number)}
    environment |= {name: filled(value, words) for name, value in adapter.environment.items()}
    environment |= step.environment
    if step.before:
        command = step.before.replace("INSTRUCTIONS", adapter.instructions or "notes.txt")
        subprocess.run(["sh", "-c", command], cwd=project, check=False, capture_output=True)
    form = adapter.fork if step.fork else adapter.goes_on if step.goes_on else adapter.start
    line = list(form)
    if "effort" in act.needs:
        line += adapter.effort
    if act.mcp:
        line += adapter.mcp_words
    return _run([filled(word, words) for word in line], project, environment)


def _run(line: list[str], project: Path, environment: dict[str, str]) -> str:
    try:
        child = subprocess.Popen(
            line,
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return f"{line[0]} cannot be run: {error.strerror}"
    try:
        told, _ = child.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        told = b""
        return f"it took more than {PATIENCE:.0f} seconds"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
    if child.returncode:
        last = told.decode("utf-8", "replace").strip().splitlines()[-1:] or [""]
        return f"it ended with {child.returncode}: {last[0][:120]}"
    return ""


def _write(root: Path, files: dict[str, str], words: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled(text, words))
