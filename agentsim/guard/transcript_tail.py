"""What a session's transcript says, read on from where the last call stopped: the last row, losses, and the bill.

Kept in a small table of figures (``tail``). A transcript that is met for the first time and is long is read from near
its end: the bill then begins there, and ``partial`` says so.
"""

from __future__ import annotations

import os

from agentsim.guard.light_json import NotJson, count, loads, table, text
from agentsim.guard.model_prices import PriceFile

Table = dict[str, object]

FIRST_READ = 512 * 1024
"""Bytes of a transcript that are read when it is met for the first time."""

MOST_READ = 8 * 2**20
"""Bytes that are read in one call: of more, the newest."""

MOST_ENTRIES = 8
"""Models and efforts whose entries are remembered."""

LEAST_LOSS = 2_000
"""Tokens; what is less is no loss to talk about (the threshold of Claude Code itself)."""


def read_on(tail: Table, path: str, prices: PriceFile) -> bool:
    """Take in what was appended since the last call. True when anything was."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    offset = count(tail, "offset") or 0
    known = tail.get("inode") == status.st_ino and offset <= status.st_size
    if not known:
        tail.clear()
        tail["inode"] = status.st_ino
        offset = max(0, status.st_size - FIRST_READ)
        tail["partial"] = offset > 0
    if status.st_size == offset:
        return False
    if status.st_size - offset > MOST_READ:
        offset = status.st_size - MOST_READ
        tail["partial"] = True
    with open(path, "rb", buffering=0) as file:
        file.seek(offset)
        data = file.read(status.st_size - offset)
    end = data.rfind(b"\n") + 1
    if not end:
        return False
    begin = data.find(b"\n") + 1 if not known and offset else 0
    for line in data[begin:end].split(b"\n"):
        if b'"usage"' in line and b'"assistant"' in line:
            _take(tail, line, prices)
        elif b'"compact_boundary"' in line or b'"isCompactSummary":true' in line:
            tail["compacted"] = True
    tail["offset"] = offset + end
    return True


def _take(tail: Table, line: bytes, prices: PriceFile) -> None:
    try:
        record = loads(line)
    except NotJson:
        return
    message = table(record, "message")
    usage = table(message, "usage")
    model = text(message, "model")
    identity = text(message, "id") or text(record, "uuid")
    if not usage or model is None or model.startswith("<") or identity is None:
        return
    assert isinstance(record, dict)
    split = table(usage, "cache_creation")
    written = count(usage, "cache_creation_input_tokens") or 0
    long = min(count(split, "ephemeral_1h_input_tokens") or 0, written) if split else 0
    row: Table = {
        "id": identity,
        "model": model,
        "read": count(usage, "cache_read_input_tokens") or 0,
        "short": written - long,
        "long": long,
        "fresh": count(usage, "input_tokens") or 0,
        "output": count(usage, "output_tokens") or 0,
        "at": _seconds(text(record, "timestamp")),
        "side": record.get("isSidechain") is True,
        "speed": text(usage, "speed"),
    }
    if isinstance(record.get("effort"), str):
        row["effort"] = text(record, "effort", 20)
    last = table(tail, "last")
    if last.get("id") == identity:
        # A later line of the same reply: its counters are final.
        first = last.get("at")
        row["at"] = first
        tail["last"] = row
        return
    _settle(tail, prices)
    if not row["side"]:
        _compare(tail, row, prices)
    tail["last"] = row


def _settle(tail: Table, prices: PriceFile) -> None:
    """Put the last row, which is complete now, into the bill."""
    last = table(tail, "last")
    if not last:
        return
    paid = cost_of(last, prices)
    if paid is None:
        tail["unpriced"] = (count(tail, "unpriced") or 0) + 1
    else:
        tail["spent"] = _sum(tail, "spent") + paid
        day = _day(last)
        if tail.get("day") != day:
            tail["day"], tail["day_spent"] = day, 0
        tail["day_spent"] = _sum(tail, "day_spent") + paid
    if last.get("side") is not True:
        tail["main"] = last


def _compare(tail: Table, row: Table, prices: PriceFile) -> None:
    """Note a loss of the main conversation, and its price."""
    before = table(tail, "main")
    compacted = tail.pop("compacted", False)
    total = size_of(row)
    smallest = count(tail, "opening")
    tail["opening"] = total if smallest is None or compacted else min(smallest, total)
    tail["reads"] = _sum(tail, "reads") + _int(row, "read")
    tail["input"] = _sum(tail, "input") + total
    _note_entry(tail, row, bool(compacted))
    if not before or compacted:
        return
    lost = min(warm_of(before), total) - _int(row, "read")
    if lost >= LEAST_LOSS:
        card = prices.of(str(row["model"]), total, _speed(row))
        written = _int(row, "short") + _int(row, "long")
        more = None
        if card is not None:
            paid = card.write(3600 if _int(row, "long") > _int(row, "short") else 300) if written else card.fresh
            more = lost * (paid - card.read)
        tail["loss"] = {"tokens": lost, "cost": more, "at": row.get("at")}


def _note_entry(tail: Table, row: Table, compacted: bool) -> None:
    """Remember what a row left at its model and effort: each has entries of its own."""
    entries = {} if compacted else table(tail, "entries")
    key = entry_key(str(row["model"]), text(row, "effort", 20))
    entries.pop(key, None)
    ttl = ttl_of(row) or count(table(tail, "main"), "ttl") or 300
    entries[key] = {"warm": warm_of(row), "until": (count(row, "at") or 0) + ttl}
    while len(entries) > MOST_ENTRIES:
        entries.pop(next(iter(entries)))
    tail["entries"] = entries


def entry_key(model: str, effort: str | None) -> str:
    """Whose entries they are."""
    return f"{model.split('[', 1)[0]}|{effort or ''}"


def still_warm(tail: Table, model: str, effort: str | None, now: int) -> int:
    """Tokens that an earlier request at this model and effort left, where its lifetime still runs."""
    entry = table(table(tail, "entries"), entry_key(model, effort))
    return (count(entry, "warm") or 0) if now < (count(entry, "until") or 0) else 0


def spent(tail: Table, prices: PriceFile) -> tuple[int, int, int]:
    """Picodollars of the session so far, of its newest day, and that day (days since 1970)."""
    last = table(tail, "last")
    paid = (cost_of(last, prices) or 0) if last else 0
    day = _day(last)
    today = _sum(tail, "day_spent") if tail.get("day") == day else 0
    return _sum(tail, "spent") + paid, today + paid, day


def newest_main(tail: Table) -> Table:
    """The last row of the main conversation; an empty table where there is none."""
    last = table(tail, "last")
    return last if last and last.get("side") is not True else table(tail, "main")


def cost_of(row: Table, prices: PriceFile) -> int | None:
    """Picodollars of a row; ``None`` where its model has no known price."""
    card = prices.of(str(row.get("model")), size_of(row), _speed(row))
    if card is None:
        return None
    return (
        _int(row, "fresh") * card.fresh
        + _int(row, "read") * card.read
        + _int(row, "short") * card.short
        + _int(row, "long") * card.long
        + _int(row, "output") * card.output
    )


def warm_of(row: Table) -> int:
    """What a row left in the cache."""
    return _int(row, "read") + _int(row, "short") + _int(row, "long")


def size_of(row: Table) -> int:
    """The whole prompt of a row."""
    return warm_of(row) + _int(row, "fresh")


def ttl_of(row: Table) -> int | None:
    """For how many seconds a row wrote; ``None`` where it wrote nothing."""
    if _int(row, "short"):
        return 300
    return 3600 if _int(row, "long") else None


def _int(row: Table, key: str) -> int:
    return count(row, key) or 0


def _sum(tail: Table, key: str) -> int:
    found = tail.get(key)
    return found if type(found) is int else 0


def _speed(row: Table) -> str | None:
    speed = row.get("speed")
    return speed if isinstance(speed, str) and speed != "standard" else None


def _day(row: Table) -> int:
    return (count(row, "at") or 0) // 86_400


def _seconds(stamp: str | None) -> int | None:
    """Unix seconds of a stamp as Claude Code writes it: ``2026-11-30T09:40:00.123Z``."""
    if stamp is None or len(stamp) < 20 or not stamp.endswith("Z"):
        return None
    digits = stamp[0:4] + stamp[5:7] + stamp[8:10] + stamp[11:13] + stamp[14:16] + stamp[17:19]
    if not digits.isdecimal() or len(digits) != 14:
        return None
    year, month, day = int(stamp[0:4]), int(stamp[5:7]), int(stamp[8:10])
    if not (1970 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    # Days since 1970 in the Gregorian calendar, years beginning in March.
    shifted = year - (month <= 2)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + of_year - 719_468
    return days * 86_400 + int(stamp[11:13]) * 3600 + int(stamp[14:16]) * 60 + int(stamp[17:19])
