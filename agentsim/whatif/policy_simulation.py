"""A session, simulated: as it was recorded, and as it would have been under policies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from agentsim.cache.simulate import pricing_of
from agentsim.core.session import Row, Session
from agentsim.core.sums import Sums as Consumed
from agentsim.core.sums import add, named, new_sums
from agentsim.core.verdict import Verdict
from agentsim.diagnose import diagnose
from agentsim.whatif.policies import NAMES, Policy
from agentsim.whatif.policies.session_rewriting import has_markers, profile_of
from agentsim.whatif.rebuilt_prompts import rebuild, with_known_parents
from agentsim.whatif.recorded_world import by_id, live, observe
from agentsim.whatif.reproduction import Calibration, calibrate
from agentsim.whatif.unknown_facts import PLAIN, Unknowns
from agentsim.whatif.unlogged_calls import with_unlogged_calls
from agentsim.whatif.world_facts import RecordedWorld


class CannotSimulate(ValueError):
    """A session that no model can replay, and why. ``left_out``: of several sessions each one's id and reason."""

    def __init__(self, reason: str, left_out: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(reason)
        self.left_out = tuple(left_out)


class SimulatedSums(Consumed, frozen=True, kw_only=True, gc=False):
    """What the counted requests consumed.

    ``refused`` ones were rejected by the provider. ``weight`` orders policies where there is no price: input at the
    usual ratios, in hundredths of a token.
    """

    refused: int = 0
    weight: int = 0

    def __add__(self, other: SimulatedSums) -> SimulatedSums:
        return SimulatedSums(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A session with prompts, as it came out of the simulation."""

    session: Session
    profile: str | None
    rows: tuple[Row, ...]
    sums: SimulatedSums
    calibration: Calibration
    world: RecordedWorld = RecordedWorld()


def prepare(session: Session, verdicts: Sequence[Verdict] | None = None) -> Case:
    """A session ready for policies: prompts made from its rows where it has none, simulated as recorded.

    ``verdicts`` are those of a diagnosis, where one was made already. Raises CannotSimulate for a session without
    requests, without counters, or of a provider whose rules are not known.
    """
    if not session.requests:
        raise CannotSimulate("it holds no requests")
    rebuilt = session.completeness != "full" or not any(r.prompt is not None for r in session.requests)
    if rebuilt:
        if not has_markers(session):
            raise CannotSimulate("its provider keeps prompts by itself, and rows alone do not tell what it kept")
        if _tells_no_writes(session):
            raise CannotSimulate("its log tells what was read and never what was written, so not where entries stood")
        known = with_known_parents(session)
        if verdicts is None or known is not session:
            verdicts = diagnose(known).verdicts
        session = rebuild(known, verdicts)
        if session.completeness == "full":
            session = msgspec.structs.replace(session, completeness="usage")
    if not any(request.prompt is not None and request.counted for request in session.requests):
        raise CannotSimulate("it reports no cache counters and holds no prompts")
    session = _with_own_ids(session)
    profile = profile_of(session)
    try:
        world, rows = observe(session, profile, pricing_of(True))
        called = session if rebuilt else with_unlogged_calls(session, world.facts)
        if called is not session:
            session = called
            world, rows = observe(session, profile, pricing_of(True))
    except ValueError as error:
        raise CannotSimulate(str(error)) from None
    calibration = calibrate(
        rows,
        {request: found[0].predicted for request, found in world.facts.items()},
        {verdict.request: verdict for verdict in verdicts or ()} if rebuilt else None,
    )
    return Case(session=session, profile=profile, rows=rows, sums=add_up(rows), calibration=calibration, world=world)


def _tells_no_writes(session: Session) -> bool:
    """Whether later requests read more and more although none of them reports to have written anything."""
    reads = {request.usage.read or 0 for request in session.requests if request.usage is not None}
    written = any(request.usage is not None and request.usage.write for request in session.requests)
    return len(reads - {0}) > 1 and not written


def _with_own_ids(session: Session) -> Session:
    """The session, in which no two requests have the same id: policies tell requests apart by it."""
    seen: dict[str, int] = {}
    requests = []
    for request in session.requests:
        number = seen[request.id] = seen.get(request.id, 0) + 1
        requests.append(request if number == 1 else msgspec.structs.replace(request, id=f"{request.id}/again-{number}"))
    return session if len(seen) == len(requests) else msgspec.structs.replace(session, requests=tuple(requests))


def under(case: Case, policies: Sequence[Policy]) -> tuple[Session, list[Policy]]:
    """The session under several policies, applied in the order of their stages, and those that applied."""
    session = case.session
    applied = []
    for policy in in_order(policies):
        if policy.applies(session) is None:
            session = policy.rewrite(session)
            applied.append(policy)
    return session, applied


def simulate(case: Case, session: Session, unknown: Unknowns = PLAIN) -> tuple[Row, ...]:
    """The rows of a rewritten session of a case, in the world of the recorded one. ``unknown`` is how that is where
    the log does not tell."""
    recorded = by_id(case.session.requests) if case.world.facts else None
    return live(session, case.world, case.profile, pricing_of(True), recorded=recorded, unknown=unknown)


def in_order(policies: Iterable[Policy]) -> list[Policy]:
    """Policies in the order in which they are applied: by stage, then as they are listed."""
    places = {name: number for number, name in enumerate(NAMES)}  # policies of others come last in their stage
    return sorted(policies, key=lambda policy: (policy.stage, places.get(policy.name, len(places)), policy.spec))


def add_up(rows: Iterable[Row]) -> SimulatedSums:
    """The sums over counted rows."""
    found = new_sums()
    refused = weight = 0
    for row in rows:
        request, usage = row.request, row.usage
        if not request.counted:
            continue
        add(found, usage, row.cost, row.equivalents)
        hour = usage.write_long or 0
        weight += 100 * (usage.fresh or 0) + 125 * ((usage.write or 0) - hour) + 200 * hour + 10 * (usage.read or 0)
        refused += request.prompt is not None and usage.total_input == 0 and request.prompt.tokens > 0
    return SimulatedSums(**named(found), refused=refused, weight=weight)
