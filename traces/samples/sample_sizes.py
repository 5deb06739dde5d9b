"""Sizes of blocks that a sample sets by hand, in place of estimates."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agentsim.core.prompt import Prompt


def with_sizes(plain: Prompt, sizes: Iterable[int], grew_from: Prompt | None) -> Prompt:
    """A prompt whose blocks have these sizes in tokens, as measured; it shares its front with the one it grew from."""
    blocks = [
        msgspec.structs.replace(block, tokens=size, origin="measured") for block, size in zip(plain, sizes, strict=True)
    ]
    if grew_from is None:
        return Prompt.of(blocks, plain.breakpoints)
    keep = plain.common_length(grew_from)
    return grew_from.replace_after(keep, blocks[keep:], plain.breakpoints)
