"""Prices for a status line: those of a model are looked up once a day and kept in a file.

Money is whole picodollars, as in :mod:`agentsim.core.money`.
"""

from __future__ import annotations

import os
import time

from agentsim.guard.private_files import place, read_table, write_table

PICODOLLARS = 10**12
_DAY = 86_400
_MOST = 200


class ModelPrices:
    """Picodollars a token, for prompts above ``above`` tokens."""

    __slots__ = ("above", "fresh", "long", "output", "read", "short")

    def __init__(self, above: int, fresh: int, output: int, read: int, short: int, long: int) -> None:
        self.above = above
        self.fresh = fresh
        self.output = output
        self.read = read
        self.short = short
        self.long = long

    def write(self, ttl: int) -> int:
        """The price of writing for so many seconds."""
        return self.long if ttl > 300 else self.short


class PriceFile:
    """The kept prices. ``patient`` says whether there is time to look up what is missing; else it is looked up behind
    the caller's back, for the next time."""

    def __init__(self, *, patient: bool) -> None:
        self._path = place("prices.json")
        self._known: dict[str, object] | None = None
        self._patient = patient
        self._started = False

    def of(self, model: str, tokens: int, speed: str | None = None) -> ModelPrices | None:
        """The prices of a model for a prompt of so many tokens; ``None`` where they are not known (yet)."""
        key = f"{model}|{speed or ''}"
        if self._known is None:
            self._known = read_table(self._path)
        found = self._known.get(key)
        day = int(time.time()) // _DAY
        if not isinstance(found, list) or not found or found[0] != day:
            if self._patient:
                found = self._look_up(model, speed, day)
            elif not self._started:
                self._started = True
                _behind(lambda: PriceFile(patient=True).of(model, tokens, speed))
        if not isinstance(found, list):
            return None
        for tier in found[1:]:
            if (
                isinstance(tier, list)
                and len(tier) == 6
                and all(type(part) is int for part in tier)
                and tokens > tier[0]
            ):
                return ModelPrices(*tier)
        return None

    def _look_up(self, model: str, speed: str | None, day: int) -> list[object]:
        """Look a model up, and those that one would switch to: a hook has no time for it."""
        from agentsim.guard.installed_packages import packages

        packages()
        from agentsim.outlook.next_acts import siblings

        known = read_table(self._path)
        if len(known) > _MOST:
            known = {}
        found = known[f"{model}|{speed or ''}"] = _tiers(model, speed, day)
        for other in siblings("anthropic", model):
            known[f"{other}|"] = _tiers(other, None, day)
        write_table(self._path, known)
        self._known = known
        return found


def _tiers(model: str, speed: str | None, day: int) -> list[object]:
    """The prices of a model by prompt size, as they are kept."""
    from agentsim.rules.prices import default_book

    found: list[object] = [day]
    for above, card in default_book().tiers("anthropic", model, time.time_ns(), speed):
        if card is not None:
            read = card.fresh if card.read is None else card.read
            short = card.fresh if card.write_short is None else card.write_short
            long = short if card.write_long is None else card.write_long
            found.append([above, card.fresh, card.output, read, short, long])
    return found


def _behind(work: object) -> None:
    """Do something in a process of its own, which nobody waits for."""
    try:
        if os.fork():
            return
    except (OSError, AttributeError):
        return
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        from agentsim.guard.time_limit import no_limit

        no_limit()
        assert callable(work)
        work()
    finally:
        os._exit(0)
