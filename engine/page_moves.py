"""Moves the content of pages: within the device, to the host's memory and back, and notes how long that takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from agentsim.engine.kv_pages import PageRoom

Clock = Callable[[], int]
"""Nanoseconds that only grow."""


class KVMover:
    """The :class:`agentsim.engine.page_pool.Mover` of an engine. ``host`` is room on the host, ``None`` for none.
    Mutable."""

    def __init__(self, kv: PageRoom, host: PageRoom | None, clock: Clock = time.perf_counter_ns) -> None:
        self.kv = kv
        self.host = host
        self.restored_bytes = 0
        self.restoring = 0
        """Nanoseconds spent on bringing pages back, in all."""
        self._clock = clock

    def copy(self, source: int, target: int) -> None:
        """Copy one page over another."""
        self.kv.copy(source, target)

    def save(self, pages: Sequence[int], slots: Sequence[int]) -> None:
        """Copy pages into slots of the host's memory."""
        if pages:
            self._host().from_host(self.kv.to_host(pages), slots)

    def load(self, slots: Sequence[int], pages: Sequence[int]) -> None:
        """Copy slots of the host's memory into pages."""
        began = self._clock()
        self.kv.from_host(self._host().to_host(slots), pages)
        self.restoring += self._clock() - began
        self.restored_bytes += len(pages) * self.kv.bytes_per_page

    def _host(self) -> PageRoom:
        assert self.host is not None, "pages go to the host only when it has slots"
        return self.host
