"""The status line: what the cache holds, for how long, what it costs when it is cold, and the last loss."""

from __future__ import annotations

import os
import time

from agentsim.guard import cache_words, kept_words
from agentsim.guard.light_json import NotJson, count, loads, share, table, text
from agentsim.guard.model_prices import PriceFile
from agentsim.guard.private_files import note_failure, place, read_table, write_table
from agentsim.guard.transcript_tail import newest_main, read_on, ttl_of, warm_of
from agentsim.traces.kept_places import safe_name

Table = dict[str, object]

LONGEST_INPUT = 2**20
SOON = 60
"""Seconds before the end of a lifetime from which on the time is drawn as a warning."""

_GOOD, _WARN, _BAD, _FAINT = "32", "33", "31", "2"


def main(arguments: list[str]) -> int:
    """Read a document from standard input and write one line. Whatever goes wrong, the harness sees nothing of it."""
    now = int(time.time())
    line = ""
    data = b""
    try:
        data = read_input()
        line = line_of(data, now, colour=wants_colour())
    except Exception as error:  # a status line never breaks the program that shows it
        note_failure("statusline", error, now)
    wrapped = ""
    if len(arguments) >= 2 and arguments[0] == "--wrap":
        try:
            from agentsim.guard.wrapped_line import run

            wrapped = run(arguments[1], data)
        except Exception as error:
            note_failure("statusline --wrap", error, now)
    parts = [part for part in (wrapped, line) if part]
    if parts:
        os.write(1, ("\n".join(parts) + "\n").encode("utf-8", "replace"))
    return 0


def read_input() -> bytes:
    """All of standard input, as far as a document may be long."""
    parts = []
    left = LONGEST_INPUT
    while left > 0:
        part = os.read(0, min(left, 65_536))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def wants_colour() -> bool:
    """Whether the line may be coloured: NO_COLOR forbids it."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def line_of(data: bytes, now: int, *, colour: bool) -> str:
    """The line for a document of Claude Code; empty where it says nothing. Keeps what passes by."""
    try:
        document = loads(data)
    except NotJson:
        return ""
    session = safe_name(text(document, "session_id") or "")
    if not isinstance(document, dict) or session is None:
        return ""
    file = place("claude-code", f"{session}.state")
    state = read_table(file)
    before = loads_of(state)
    prices = PriceFile(patient=True)
    tail = table(state, "tail")
    transcript = document.get("transcript_path")
    if isinstance(transcript, str):
        read_on(tail, transcript, prices)
    state["tail"] = tail
    said = kept_words.words_of(document)
    if said is not None:
        old = table(state, "said")
        if kept_words.keep(session, said, old, now):
            _note_loss(state, tail, old, said)
            state["said"] = said
    _note_settings(state, document)
    line = _line(state, tail, said, document, prices, now, colour)
    if loads_of(state) != before:
        write_table(file, state)
    return line


def loads_of(state: Table) -> str:
    """The state as text: to see whether it changed."""
    from agentsim.guard.light_json import dumps

    return dumps(state)


def _note_settings(state: Table, document: Table) -> None:
    """What the harness would send next: model and effort; and what it says that the session has cost."""
    model = text(table(document, "model"), "id")
    if model is not None:
        state["model"] = model
    effort = text(table(document, "effort"), "level", 20)
    if effort is not None:
        state["effort"] = effort
    paid = table(document, "cost").get("total_cost_usd")
    if isinstance(paid, (int, float)) and not isinstance(paid, bool) and 0 <= paid < 10**6:
        state["harness_cost"] = round(paid * 10**6) * 10**6


def _note_loss(state: Table, tail: Table, old: Table, said: Table) -> None:
    """Remember the price of a loss that the harness has just told: by the transcript, or by its tokens."""
    misses, before = count(said, "misses") or 0, count(old, "misses") or 0
    if misses > before:
        loss = table(tail, "loss")
        fits = count(loss, "at") is not None and abs((count(loss, "at") or 0) - (count(said, "missed") or 0)) < 300
        tokens = (count(said, "recached") or 0) - (count(old, "recached") or 0) if misses == before + 1 else None
        state["loss"] = {"cost": loss.get("cost") if fits else None, "tokens": tokens}


def _line(
    state: Table, tail: Table, said: Table | None, document: Table, prices: PriceFile, now: int, colour: bool
) -> str:
    def ink(words: str, style: str) -> str:
        return f"\x1b[{style}m{words}\x1b[0m" if colour else words

    row = newest_main(tail)
    if said is None and not row:
        return ""
    hit = share(table(document, "prompt_cache"), "hit_ratio", 100)
    if hit is None and count(tail, "input"):
        hit = 100 * (count(tail, "reads") or 0) // (count(tail, "input") or 1)
    parts = (
        [f"cache {ink(f'{hit} %', _GOOD if hit >= 80 else _WARN if hit >= 40 else _BAD)}"] if hit is not None else []
    )
    ttl = (count(said, "ttl") if said else None) or ttl_of(row) or 300
    expires = count(said, "expires") if said else None
    if expires is None and count(row, "at") is not None:
        expires = (count(row, "at") or 0) + ttl
    left = None if expires is None else expires - now
    if left is not None:
        cold_for = cache_words.span(-left)
        parts.append(
            ink(f"warm {cache_words.clock(left)}", _WARN if left < SOON else _GOOD)
            if left > 0
            else ink(f"cold since {cold_for}", _BAD)
        )
    cold = (count(said, "cold") if said else None) or warm_of(row)
    model = str(state.get("model") or row.get("model") or "")
    if cold:
        card = prices.of(model, cold)
        price = "" if card is None else f" = {cache_words.dollars(cold * card.write(ttl))}"
        parts.append(f"{cache_words.tokens(cold)} {'cold' if left is None or left > 0 else 'to write'}{price}")
    loss = _loss_words(state, tail, said)
    if loss:
        parts.append(ink(f"last miss: {loss}", _FAINT))
    return " · ".join(parts)


def _loss_words(state: Table, tail: Table, said: Table | None) -> str:
    loss = table(tail, "loss")
    if said is None:
        tokens, paid = count(loss, "tokens"), loss.get("cost")
        if tokens is None:
            return ""
        price = f", {cache_words.dollars(paid)}" if type(paid) is int else ""
        return f"{cache_words.tokens(tokens)}{price}"
    if not count(said, "misses"):
        return ""
    found = said.get("causes")
    words = cache_words.causes(
        [str(cause) for cause in found] if isinstance(found, list) else [],
        count(said, "added"),
        count(said, "removed"),
        said["system"] if type(said.get("system")) is int else None,  # type: ignore[arg-type]
    )
    kept = table(state, "loss")
    paid = kept.get("cost")
    return f"{words}, {cache_words.dollars(paid)}" if type(paid) is int else words
