"""Who does the tasks of a sweep: this process, processes of this machine, or a Dask cluster that is running already."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = "20s"
"""How long a scheduler may take to answer."""

ATTEMPTS = 3
"""Workers that may die over one shard before it is given up."""


@contextmanager
def workers_at(scheduler: str | None, workers: int | None, memory: str) -> Iterator[Client | None]:
    """A client of workers; ``None`` where this process is to do the work. Raises OSError for one that is not there."""
    if scheduler is None and workers == 0:
        yield None
        return
    import dask
    from distributed import Client, LocalCluster

    quiet: dict[str, Any] = {"distributed.scheduler.allowed-failures": ATTEMPTS - 1}
    with dask.config.set(quiet):
        if scheduler is not None:
            with Client(scheduler, timeout=PATIENCE, set_as_default=False) as client:
                yield client
            return
        with _deaf_to_interrupts():
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                # A free port: with none named it would take a fixed one, and say so where that is taken.
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                memory_limit=memory,
                preload=[__name__],
                silence_logs=logging.CRITICAL + 1,  # what is critical to a cluster, failures tell already
            )
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


def dask_setup(_worker: object) -> None:
    """What a worker calls when it begins, also one that takes the place of another: leave Ctrl-C to the main process.

    A terminal sends it to all processes, and each worker would print where it was.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that begin meanwhile do not hear Ctrl-C even before they call ``dask_setup``; nor does this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
