"""What each thing that could be done next would cost: :func:`next_acts`, known as ``agentsim.next``."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from agentsim.core.dates import SECOND
from agentsim.core.session import Problem, Session
from agentsim.outlook.act_pricing import ActPricing, Made
from agentsim.outlook.cache_state import CacheState, Deadline, NothingToPrice, state_of
from agentsim.outlook.priced_act import NotPriced, PricedAct
from agentsim.rules.prices import default_book
from agentsim.rules.providers import bare_name

PAUSE = 12 * 60
"""Seconds of the pause that is priced unless another is asked for."""


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """A session's cache at a time, and its acts. ``thousand_new`` is what a thousand tokens that are typed, or that
    tools return, cost when they are first sent (picodollars). ``left_out`` are acts that could not be priced."""

    state: CacheState
    now: int
    ends: Deadline
    acts: tuple[PricedAct, ...]
    left_out: tuple[NotPriced, ...]
    thousand_new: int | None

    @property
    def warmth(self) -> str:
        """``warm``, ``cold``, ``unsure``, or ``empty`` where nothing was cached."""
        return self.ends.state(self.now) if self.state.cached else "empty"

    def act(self, name: str) -> PricedAct | None:
        """The first act of a name; ``None`` where it could not be priced."""
        return next((act for act in self.acts if act.name == name), None)


def next_acts(
    session: Session | str | os.PathLike[str] | None = None,
    *,
    now: int | None = None,
    after: int | None = None,
    pause: int = PAUSE,
    models: Sequence[str] = (),
    lane: str | None = None,
) -> Outlook:
    """Price what could be done next in a session, a log of one, or (``None``) the newest one on this machine.

    ``now`` is a time in nanoseconds (UTC); without it, ``after`` seconds after the last row, by default at once.
    ``pause`` are the seconds of a wait, ``models`` other models to go to (default: those of the session, or their
    siblings), ``lane`` which lane (default: the main conversation that came last). Changes nothing. Raises
    NothingToPrice (a ValueError), and OSError for a path without a session.
    """
    if not isinstance(session, Session):
        session = _read(session)
    state = state_of(session, lane)
    return price_acts(state, last_reply(state) + (after or 0) * SECOND if now is None else now, pause, models)


def last_reply(state: CacheState) -> int:
    """When the last row of a state ended, or began where no end is known (nanoseconds, UTC); 0: nobody knows."""
    row = state.chain[0]
    return (row.end if row.end is not None else row.start) or 0


def price_acts(state: CacheState, now: int, pause: int = PAUSE, models: Sequence[str] = ()) -> Outlook:
    """The acts of a state at a time (nanoseconds, UTC): see :func:`next_acts`. Takes a few milliseconds."""
    pricing = ActPricing(state, now)
    made: list[Made] = [
        pricing.go_on(),
        pricing.wait(pause),
        pricing.wait_until_cold(),
        *(pricing.other_model(model) for model in (models or other_models(state))),
        pricing.other_effort(),
        pricing.change_tools(),
        pricing.compact("compact-now"),
        pricing.compact("compact-before-cold"),
        pricing.compact("compact-when-cold"),
        pricing.fork(),
        pricing.resume(),
        pricing.rewind(),
        pricing.start_afresh(),
    ]
    new = pricing.price_of_new(1000)
    return Outlook(
        state=state,
        now=now,
        ends=state.deadline(state.chain[0]),
        acts=tuple(act for act in made if isinstance(act, PricedAct)),
        left_out=tuple(act for act in made if isinstance(act, NotPriced)),
        thousand_new=new,
    )


def other_models(state: CacheState) -> tuple[str, ...]:
    """The models to price a switch to: those of the session's main rows, else siblings of the same generation."""
    mine = state.last.model
    seen = [request.model for request in state.session.requests if request.lane == state.last.lane]
    others = tuple(dict.fromkeys(model for model in reversed(seen) if model != mine))
    if others:
        return others[:3]
    return siblings(state.last.provider, mine)


_VERSIONS = ("5-5", "5", "4-8", "4-7", "4-6", "4-5")
_FAMILIES = ("opus", "sonnet", "haiku")


def siblings(provider: str, model: str) -> tuple[str, ...]:
    """The models of a Claude model's other families: of each the newest priced one that is not newer than itself."""
    name = bare_name(model)
    own = next((family for family in _FAMILIES if name.startswith(f"claude-{family}-")), None)
    if own is None:
        return ()
    version = name.removeprefix(f"claude-{own}-")
    known = [known for known in _VERSIONS if version == known or version.startswith(f"{known}-")]
    versions = _VERSIONS[_VERSIONS.index(known[0]) :] if known else _VERSIONS
    book = default_book()
    found = []
    for family in _FAMILIES:
        names = (f"claude-{family}-{number}" for number in versions if family != own)
        priced = next((one for one in names if book.card(provider, one, None, 0) is not None), None)
        if priced is not None:
            found.append(priced)
    return tuple(found)


def last_moment(session: Session) -> int:
    """When the last request of a session ended or began; before all others where no time is known."""
    return max((time for request in session.requests for time in (request.start, request.end) if time), default=-1)


def _read(path: str | os.PathLike[str] | None) -> Session:
    from agentsim.traces.format_registry import read
    from agentsim.traces.harness_places import found_places, newest_log

    if path is None:
        path = newest_log([place.path for place in found_places()])
        if path is None:
            raise NothingToPrice("there are no logs of a harness on this machine")
    problems: list[Problem] = []
    return max(read([os.fspath(path)], problems), key=last_moment)
