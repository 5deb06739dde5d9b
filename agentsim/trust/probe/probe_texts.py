"""The texts that experiments send: ordinary words, of a size, and different from the first line on."""

from __future__ import annotations

_WORDS = (
    "river stone meadow lantern harbor willow copper violin orchard marble saddle candle timber anchor basket mirror "
    "garden pepper ribbon tunnel winter saffron bridge hammer island jacket kitten ladder mountain needle"
).split()

_PER_LINE = 12


def document(label: str, words: int) -> str:
    """A text of so many words under a first line that is nobody else's. Only that line depends on the label."""
    lines = [
        " ".join(
            _WORDS[(at * 7 + at // len(_WORDS)) % len(_WORDS)] for at in range(start, min(start + _PER_LINE, words))
        )
        for start in range(0, words, _PER_LINE)
    ]
    return "\n".join((f"Document {label}.", *lines))
