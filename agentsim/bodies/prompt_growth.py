"""A prompt being built on top of another one."""

from __future__ import annotations

import msgspec

from agentsim.core.prompt import Block, Breakpoint, Prompt, Section, Shape


class BlockPiece(msgspec.Struct, frozen=True, gc=False):
    """A block's content without its place: what is remembered of a piece of JSON. ``flags`` are the reader's own."""

    digest: bytes
    kind: str
    name: str | None
    tokens: int
    text: str | None
    shape: Shape | None
    markers: tuple[int, ...]
    references: tuple[str, ...]
    flags: int


class PromptGrowth:
    """A prompt being built on top of another: blocks equal to the other's are shared as long as none differed."""

    __slots__ = ("base", "count", "markers", "new", "sharing")

    def __init__(self, base: Prompt | None) -> None:
        self.base = base if base is not None else Prompt.of(())
        self.count = 0
        self.sharing = base is not None
        self.new: list[Block] = []
        self.markers: list[Breakpoint] = []

    def skip(self, count: int) -> None:
        """The first ``count`` blocks are known to be the base's."""
        self.count = count

    def add(
        self,
        piece: BlockPiece,
        section: Section,
        role: str | None,
        message: int,
        part: int | None,
        shape: Shape | None = None,
    ) -> None:
        """Appends a block, and its markers. ``shape`` is that of the message; a block's own comes first."""
        for ttl in piece.markers:
            self.markers.append(Breakpoint(self.count, ttl))
        shape = piece.shape if piece.kind != "text" and piece.shape is not None else shape
        if self.sharing:
            if self.count < len(self.base):
                old = self.base[self.count]
                if (
                    old.digest == piece.digest
                    and old.message == message
                    and old.part == part
                    and old.shape == shape
                    and (old.text is None) == (piece.text is None)
                ):
                    self.count += 1
                    return
            self.sharing = False
        self.new.append(
            Block(
                section=section,
                kind=piece.kind,
                digest=piece.digest,
                role=role,
                tokens=piece.tokens,
                name=piece.name,
                message=message,
                part=part,
                shape=shape,
                text=piece.text,
            )
        )
        self.count += 1

    def finish(self, breakpoints: tuple[Breakpoint, ...]) -> Prompt:
        """The prompt as built so far."""
        keep = self.count - len(self.new)
        return self.base.replace_after(keep, self.new, breakpoints)
