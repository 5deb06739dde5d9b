"""What happened to one text: where it first differs, how much of it, and what kind of change it looks like."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from agentsim.bodies.canonical_block import same_json_sorted, split_text
from agentsim.core.verdict import Change

_EXCERPT = 40
_WINDOW = 80
"""Characters on either side of a difference that are looked at: more than the longest id."""

_VOLATILE_SPAN = 20_000
_COUNTED_SPAN = 20_000
_COUNTED_TOKENS = 2_000
_NOTICE_CHARACTERS = 240
_NESTED_LIMIT = 200_000
_NESTED_DEPTH = 32

_VOLATILE = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    r"|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z| ?[+-]\d\d:?\d\d)?"
    r"|\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\b\.?)?"
    r"|\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Satur|Sat|Sun)(?:day)?\b"
    r"|\b(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b"
    r"|\b[A-Za-z]+[_-](?=[A-Za-z0-9]*\d)[A-Za-z0-9]{8,}\b"  # a prefixed id
    r"|\b(?=[0-9a-f]*\d)[0-9a-f]{4,}\b|\b(?=[0-9A-F]*\d)[0-9A-F]{4,}\b"  # a hash
    r"|\b(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])\w{12,}\b"  # an opaque token
    r"|\d+(?:[.,]\d+)*(?:st|nd|rd|th)?"  # a counter, an epoch, the day of a month
)
"""Text that a program writes anew each time. The order matters: the longest reading comes first."""

_PLACEHOLDER = re.compile(
    r"clear|remov|omit|prun|elid|compact|truncat|trimm|redact|expired|no longer|collaps|snipp?ed|placeholder", re.I
)


class Edit(NamedTuple):
    """A change of a text. ``offset`` counts characters of the canonical text; ``changed`` are the characters that
    differ (of the longer side in each differing place)."""

    change: Change
    offset: int
    changed: int


def compare(old: str, new: str, *, cut_is_truncation: bool = False) -> Edit | None:
    """How the canonical text ``old`` became ``new``; ``None`` when they are equal.

    ``cut_is_truncation``: a middle part that vanished counts as truncated, as in the output of a tool, and not as
    edited, as in text that a person wrote.
    """
    if old == new:
        return None
    front = common_prefix(old, new)
    back = common_suffix(old, new, min(len(old), len(new)) - front)
    old_span, new_span = old[front : len(old) - back], new[front : len(new) - back]
    return Edit(_kind(old, new, front, back, cut_is_truncation), front, changed_characters(old_span, new_span))


def is_cleared(old: str, new: str) -> bool:
    """True when the main text of a block was emptied, or gave way to a short notice that says so."""
    before, after = split_text(old)[0].strip(), split_text(new)[0].strip()
    if not before or before == after:
        return False
    if _parts_cleared(before, after):
        return True
    if not after:
        return True
    return len(after) <= _NOTICE_CHARACTERS and len(after) * 2 < len(before) and bool(_PLACEHOLDER.search(after))


def _parts_cleared(before: str, after: str) -> bool:
    """True when pictures or documents in a list of parts gave way to a notice, or went, and nothing else changed."""
    if before[:2] != "[{" or after[:1] != "[":
        return False
    try:
        old, new = json.loads(before), json.loads(after)
    except ValueError:
        return False
    heavy = [part for part in old if isinstance(part, dict) and part.get("type") in _HEAVY_PARTS and part not in new]
    if not heavy or len(new) > len(old):
        return False
    rest = [part for part in new if part not in old]
    return len(rest) <= len(heavy) and all(
        isinstance(part, dict) and part.get("type") == "text" and len(str(part.get("text", ""))) <= _NOTICE_CHARACTERS
        for part in rest
    )


_HEAVY_PARTS = ("image", "document", "image_url", "input_image", "input_file")


def common_prefix(one: str, other: str) -> int:
    """How many leading characters are equal. Halves the range and compares slices: 1 MB takes well under 1 ms."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def common_suffix(one: str, other: str, limit: int) -> int:
    """How many trailing characters are equal, at most ``limit``."""
    low, high = 0, limit
    if one[len(one) - high :] == other[len(other) - high :]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle
    return low


def changed_characters(old_span: str, new_span: str) -> int:
    """How many characters differ between two spans, counted word by word. A long span counts whole."""
    if not old_span or not new_span or max(len(old_span), len(new_span)) > _COUNTED_SPAN:
        return max(len(old_span), len(new_span))
    one, other = _WORD.findall(old_span), _WORD.findall(new_span)
    if max(len(one), len(other)) > _COUNTED_TOKENS:
        return max(len(old_span), len(new_span))
    from difflib import SequenceMatcher  # here, as a judgement without bodies never compares texts

    changed = 0
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            changed += max(sum(map(len, one[a:b])), sum(map(len, other[c:d])))
    return changed


def excerpt(text: str, offset: int) -> str:
    """The text around an offset, at most some 80 characters. It is outside text: clean it before printing."""
    return text[max(0, offset - _EXCERPT) : offset + _EXCERPT]


def _kind(old: str, new: str, front: int, back: int, cut_is_truncation: bool) -> Change:
    if _is_white_space(old[front : len(old) - back], new[front : len(new) - back]):
        return "whitespace"
    if _same_fields(old, new):
        return "key_order"
    nested = _nested_change(old, new)
    if nested is not None:
        return nested
    if _is_volatile(old, new, front, back):
        return "volatile"
    old_main, new_main = split_text(old)[0], split_text(new)[0]
    if new_main and len(new_main) < len(old_main):
        if old_main.startswith(new_main):
            return "truncated"
        inserted = len(new) - front - back
        if cut_is_truncation and inserted <= _NOTICE_CHARACTERS and inserted * 4 < len(old) - front - back:
            return "truncated"
    return "edited"


def _is_white_space(old_span: str, new_span: str) -> bool:
    """True when the spans differ in blanks and line ends only. The first differing character tells most apart."""
    if old_span and new_span and not old_span[0].isspace() and not new_span[0].isspace():
        return False
    return "".join(old_span.split()) == "".join(new_span.split())


def _same_fields(old: str, new: str) -> bool:
    """True when main text and other fields say the same once keys are sorted."""
    if len(old) != len(new):
        return False
    pairs = zip(split_text(old), split_text(new), strict=True)
    return all(one == other or same_json_sorted(one, other) for one, other in pairs)


def _nested_change(old: str, new: str) -> Change | None:
    """Whether texts that are JSON differ in blanks or in the order of keys only, inside strings that hold JSON too."""
    if not (old[:1] in "{[" and new[:1] in "{[") or max(len(old), len(new)) > _NESTED_LIMIT:
        return None
    try:
        one, other = json.loads(old), json.loads(new)
    except ValueError:
        return None
    if _squeezed(one, False) == _squeezed(other, False):
        return "key_order"
    return "whitespace" if _squeezed(one, True) == _squeezed(other, True) else None


def _squeezed(value: Any, blanks: bool, depth: int = 0) -> Any:
    """A JSON value with the JSON in its strings parsed, and with ``blanks`` its texts without white space."""
    if depth > _NESTED_DEPTH:
        return value
    if isinstance(value, dict):
        return {key: _squeezed(item, blanks, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_squeezed(item, blanks, depth + 1) for item in value]
    if isinstance(value, str):
        if value[:1] in ("{", "["):
            try:
                return _squeezed(json.loads(value), blanks, depth + 1)
            except ValueError:
                pass
        return "".join(value.split()) if blanks else value
    return value


def _is_volatile(old: str, new: str, front: int, back: int) -> bool:
    """True when only clocks, dates, ids, hashes and counters differ."""
    if max(len(old), len(new)) - front - back > _VOLATILE_SPAN:
        return False
    start = max(0, front - _WINDOW)
    one = old[start : len(old) - max(0, back - _WINDOW)]
    other = new[start : len(new) - max(0, back - _WINDOW)]
    return _VOLATILE.sub("\0", one) == _VOLATILE.sub("\0", other)


_WORD = re.compile(r"\w+|\s+|[^\w\s]")
