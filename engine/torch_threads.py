"""How many threads PyTorch computes with, and why.

PyTorch takes as many as there are cores, and at the end of every operation they wait for the slowest. A decoder makes
some two hundred short operations for each token. On cores that something else uses as well, each of them waits until
the system runs the last thread: two threads on two busy cores were seen to take twenty times as long as one. So: one
thread for each core that is idle now, at least one, and never more than the container may use.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

MOST = 16
"""More threads than this gain nothing for the small matrices of models that a CPU can run."""
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True, slots=True)
class Threads:
    """A number of threads and the reason for it, one phrase."""

    count: int
    reason: str


def sensible_threads(cores: int, load: float | None, quota: float | None = None) -> Threads:
    """The number for ``cores`` usable cores of a machine with ``load`` programs running, as the system reports it.

    ``quota`` is how many cores' worth of time a container may use. ``load`` None: unknown, which counts as busy.
    """
    allowed = cores if quota is None else max(1, min(cores, math.floor(quota)))
    if allowed == 1:
        return Threads(1, "one core" if cores == 1 else f"the container may use {quota:g} of {cores} cores")
    if load is None:
        return Threads(1, "how busy the cores are is not known")
    # A core is free only where rounding up the load leaves it over: a share of a core held up is a core held up.
    free = min(allowed, cores - math.ceil(load - 0.25), MOST)
    if free <= 1:
        return Threads(1, f"{load:.1f} programs run on {cores} cores, and threads that wait for a core are slow")
    return Threads(free, f"{free} of {cores} cores are free")


def measured_threads() -> Threads:
    """The number for this machine at this moment."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        load: float | None = os.getloadavg()[0]
    except OSError:
        load = None
    return sensible_threads(cores, load, _quota())


def use_threads(count: int | None = None) -> Threads:
    """Set PyTorch's threads to ``count``, or to what fits this machine now. Says which and why."""
    import torch

    chosen = measured_threads() if count is None else Threads(count, "as asked for")
    torch.set_num_threads(chosen.count)
    return chosen


def _quota() -> float | None:
    """Cores' worth of time that the control group allows; None where there is no limit."""
    try:
        allowed, period = _QUOTA.read_text().split()
        return int(allowed) / int(period)
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max": no limit
        return None
