"""Room in the host's memory for pages that the device gave up: slots, and what lies in them, oldest first."""

from __future__ import annotations

from collections.abc import Container

from agentsim.engine.page_list import PageList


class HostTier:
    """Slots for the content of pages, each holding the block of one digest or nothing. Mutable."""

    def __init__(self, slots: int) -> None:
        if slots < 0:
            raise ValueError("a number of slots is not negative")
        self.slots = slots
        self.free = PageList(slots, full=True)
        self.order = PageList(slots)
        """Slots that hold a block, in the order in which they were filled or last asked for: the oldest is given up
        first."""
        self.digest: list[bytes | None] = [None] * slots

    def __len__(self) -> int:
        return len(self.order)

    def droppable(self, most: int, spared: Container[int]) -> list[int]:
        """Up to ``most`` slots that would be given up next, stopping at one that is spared. Changes nothing."""
        found: list[int] = []
        for slot in self.order:
            if len(found) >= most or slot in spared:
                break
            found.append(slot)
        return found

    def fill(self, digest: bytes) -> int:
        """Put a block into a free slot and return that. Raises IndexError when there is none."""
        slot = self.free.pop()
        self.digest[slot] = digest
        self.order.push(slot)
        return slot

    def touch(self, slot: int) -> None:
        """A slot was asked for: it is given up after all others."""
        self.order.remove(slot)
        self.order.push(slot)

    def empty(self, slot: int) -> bytes:
        """A slot holds nothing any more. Returns what it held; raises ValueError when that was nothing."""
        self.order.remove(slot)
        self.free.push(slot)
        digest = self.digest[slot]
        assert digest is not None
        self.digest[slot] = None
        return digest
