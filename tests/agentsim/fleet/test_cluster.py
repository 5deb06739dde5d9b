"""Sweeps on several processes: a local cluster, and a scheduler with workers of which one is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agentsim.fleet.logs import fleet

pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")
pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")

from agentsim.fleet.sweep import sweep
from agentsim.fleet.sweep_folder import SweepSettings

ROOT = Path(__file__).resolve().parents[3]
ASKED = SweepSettings(policies=("ttl-5m",))
SMALL = 4_000
"""Bytes of a shard: each session is one."""

pytestmark = [
    pytest.mark.loopback,
    # Clusters leave sockets to be closed by their loops; none of that is ours.
    pytest.mark.filterwarnings("ignore"),
]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_two_processes_give_the_same_bytes(tmp_path: Path) -> None:
    logs = str(fleet(tmp_path / "logs"))
    sweep([logs], ASKED, str(tmp_path / "alone"), workers=0, shard_bytes=SMALL)
    done = sweep([logs], ASKED, str(tmp_path / "two"), workers=2, shard_bytes=SMALL)
    assert len(done.notes) == 9
    assert contents(tmp_path / "two") == contents(tmp_path / "alone")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def programs(*commands: list[str]) -> Iterator[list[subprocess.Popen[bytes]]]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = []
    try:
        for command in commands:
            running.append(
                subprocess.Popen(
                    [sys.executable, "-m", *command],
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        yield running
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_a_worker_is_killed_in_the_middle(tmp_path: Path) -> None:
    logs = str(fleet(tmp_path / "logs", projects=4, sessions=4))
    sweep([logs], ASKED, str(tmp_path / "alone"), workers=0, shard_bytes=SMALL)
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    worker = [
        "distributed.cli.dask_worker",
        address,
        "--host=127.0.0.1",
        "--nthreads=1",
        "--no-nanny",
        "--no-dashboard",
        f"--local-directory={tmp_path}",
    ]
    scheduler = ["distributed.cli.dask_scheduler", "--host=127.0.0.1", f"--port={port}", "--no-dashboard", "--no-show"]
    with programs(scheduler, worker, worker) as (_, first, _second):
        wait_for_workers(address, 2)
        seen: list[int] = []

        def kill_one(done: int, total: int) -> None:
            if not seen:
                first.send_signal(signal.SIGKILL)
                first.wait()
            seen.append(done)

        done = sweep([logs], ASKED, str(tmp_path / "two"), scheduler=address, shard_bytes=SMALL, progress=kill_one)
    assert first.returncode == -signal.SIGKILL
    assert done.failed == ()
    assert len(done.notes) == len(seen) == 16
    assert contents(tmp_path / "two") == contents(tmp_path / "alone")


def wait_for_workers(address: str, count: int) -> None:
    from distributed import Client

    for _ in range(100):
        try:
            with Client(address, timeout="5s", set_as_default=False) as client:
                client.wait_for_workers(count, timeout=30)
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("no scheduler came up")


def test_no_scheduler_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsim.fleet.sweep_workers.PATIENCE", "0.5s")
    logs = str(fleet(tmp_path / "logs", projects=1, sessions=1))
    with pytest.raises(OSError, match=r"127\.0\.0\.1"):
        sweep([logs], ASKED, str(tmp_path / "out"), scheduler=f"tcp://127.0.0.1:{free_port()}")


def test_the_terminal_stops_all_processes_and_the_next_sweep_goes_on(tmp_path: Path) -> None:
    """Ctrl-C goes to every process of the terminal's group: one says so, and no worker prints where it was."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "agentsim", "sweep", "--scenario", "idle-afternoon", "--out", str(out)]
    command += ["--workers", "2", "--policy", "ttl-1h", "--seeds"]
    running = subprocess.Popen(
        [*command, "100"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        for _ in range(1_200):
            if len(list(out.glob("shards/*.json"))) >= 3:
                break
            time.sleep(0.1)
        os.killpg(running.pid, signal.SIGINT)
        printed, told = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert b"Traceback" not in told
    assert b"KeyboardInterrupt" not in told
    assert printed == b""
    kept = len(list(out.glob("shards/*.json")))
    assert 3 <= kept < 800
