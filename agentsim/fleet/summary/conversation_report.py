"""Judge the calls of one conversation at the speed of a scan.

Nearly every call reads exactly what the one before it left, which a comparison of two numbers shows. Only the others
are looked at closely: their way back to their parent is walked, and the verdict is that of a replay, from the same
code.
"""

from __future__ import annotations

import os
from array import array

import msgspec

from agentsim.bodies.messages_usage import usage_of
from agentsim.bodies.serving_provider import is_vendor
from agentsim.core.dates import DAY
from agentsim.core.session import Request, Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.diagnosis_totals import in_equivalents, price_of_loss, price_of_unlogged, unlogged_base
from agentsim.diagnose.facts_from_session import EntryLifetime, facts_of_request, lifetime
from agentsim.diagnose.lifetime_clock import OBSERVED_CLOCK
from agentsim.diagnose.loss_findings import kind_by_row
from agentsim.diagnose.row_facts import FIVE_MINUTES, LaneMemory, RowFacts
from agentsim.diagnose.row_judge import judge_row
from agentsim.fleet.summary.summary_shape import UnitLoss, UnitReport
from agentsim.rules.prices import PriceBook, RateCard
from agentsim.rules.providers import has_own_rules
from agentsim.traces.kept_places import kept_file
from agentsim.traces.readers.claude_code.claude_calls import ClaudeCall
from agentsim.traces.readers.claude_code.claude_conversation import ClaudeConversation
from agentsim.traces.readers.claude_code.claude_files import LogFile
from agentsim.traces.readers.claude_code.claude_requests import HARNESS, events_of, request_id, request_of
from agentsim.traces.readers.claude_code.claude_scan import scan
from agentsim.traces.readers.claude_code.claude_steps import CallStep, Tree
from agentsim.traces.session_assembly import changes_between
from agentsim.traces.time_stamps import nanoseconds

_ANY_SIZE = 10**12
_NO_STEP = CallStep()


def report_on(
    group: tuple[LogFile, ...], book: PriceBook, owned: frozenset[tuple[str, str]] = frozenset()
) -> UnitReport:
    """Scan, judge and price one conversation. Calls in ``owned`` belong to another: they are context, and not counted.

    Raises OSError when a file cannot be read.
    """
    unit = scan(tuple(file.path for file in group), keep=True)
    with Tree(unit) as tree:
        return _Judge(unit, tree, book, owned).report(group)


def _needs_replay(session: str, unit: ClaudeConversation) -> bool:
    """Whether another server than Anthropic's may have answered, or the harness's own words are kept."""
    kept = kept_file(session)
    if kept is not None and os.path.exists(kept):
        return True
    return not all(is_vendor("anthropic", model) for model in {call.model for call in unit.calls})


def _may_be_idle(before: ClaudeCall, call: ClaudeCall) -> bool:
    """Whether an entry of five minutes may have been left alone for as long."""
    ended, sent = nanoseconds(before.end), nanoseconds(call.end)
    return ended is None or sent is None or sent - ended > FIVE_MINUTES * 10**9


class _Judge:
    """The running state of one conversation."""

    def __init__(
        self, unit: ClaudeConversation, tree: Tree, book: PriceBook, owned: frozenset[tuple[str, str]]
    ) -> None:
        self.unit = unit
        self.tree = tree
        self.book = book
        self.owned = owned
        self.memories: list[LaneMemory] = []
        self.lane_of: list[int] = []
        self.lifetimes: list[EntryLifetime] = []
        self.known_facts: dict[int, tuple[RowFacts, Request]] = {}
        """Of the calls that were looked at closely: the next one in the lane often is, too."""
        self.known_lifetimes: dict[tuple[EntryLifetime | None, bool, bool, int], EntryLifetime] = {}
        self.own_rules = has_own_rules("anthropic")
        self.days: dict[tuple[str, str], int | None] = {}
        self.sums: dict[RateCard, list[int]] = {}
        self.cost = 0
        self.equivalents = 0
        self.unpriced: dict[str, int] = {}
        self.kinds: dict[str, int] = {}
        self.losses: list[UnitLoss] = []
        self.unlogged = 0
        self.unlogged_cost = 0
        self.rest = [0, 0, 0, 0, 0]
        """Tokens of calls that are priced one by one, or not at all."""
        self.ways: dict[tuple[str, str, str | None, str | None, str | None], list[int]] = {}
        """The sums for calls of one model, day and way of processing, where the size of a prompt changes no price."""

    def report(self, group: tuple[LogFile, ...]) -> UnitReport:
        if _needs_replay(group[0].session, self.unit):
            return self._as_replayed(group)
        unit, owned = self.unit, self.owned
        counted = hits = 0
        last: dict[str, ClaudeCall] = {}
        lane_of, memories, lifetimes = self.lane_of, self.memories, self.lifetimes
        for call in unit.calls:
            before = last.get(call.lane)
            last[call.lane] = call
            mine = not owned or call.key not in owned
            counted += mine
            if mine:
                self._add(call)
            grows = call.parent_uuid is not None or call.agent_copy
            if before is not None and call.read == before.warm and call.read and grows:
                # It reads exactly what the call before it left: nothing to explain.
                lane = lane_of[before.index]
                lane_of.append(lane)
                memory = memories[lane]
                memory.extend(call.key[0] or call.key[1], call.warm, call.total)
                memory.grow(call.total - before.total)
                inherited = lifetimes[before.index]
                lifetimes.append(self._lifetime(call, inherited))
                if inherited[0] is None and _may_be_idle(before, call):
                    return _Judge(unit, self.tree, self.book, owned)._as_replayed(group)
                hits += mine
                continue
            verdict = self._look_closely(call)
            if verdict is None:
                return _Judge(unit, self.tree, self.book, owned)._as_replayed(group)
            if mine:
                self._record(call, verdict)
        if hits:
            self.kinds["hit"] = self.kinds.get("hit", 0) + hits
        for card, sums in self.sums.items():
            self._price_sums(card, sums)
        return self._result(group, counted)

    def _as_replayed(self, group: tuple[LogFile, ...]) -> UnitReport:
        """Where rows must be known together: all of them are judged at once."""
        from agentsim.diagnose.diagnosis import judge_rows
        from agentsim.traces.readers.claude_code.claude_session import session_of

        session, names = session_of(group[0].session, (self.unit,), set())
        verdicts = {verdict.request: verdict for verdict in judge_rows(session)}
        mine = [call for call in self.unit.calls if call.key not in self.owned]
        for call in mine:
            self._add(call)
            self._record(call, verdicts[names[call.key]])
        for card, sums in self.sums.items():
            self._price_sums(card, sums)
        return self._result(group, len(mine))

    def _look_closely(self, call: ClaudeCall) -> Verdict | None:
        """The verdict on a call; ``None`` where it may prove a lifetime that the log does not tell."""
        step = self.tree.step(call)
        parent = step.parent if step.parent is not None and step.parent.index < call.index else None
        if parent is None:
            self.memories.append(LaneMemory())
            lane = len(self.memories) - 1
        else:
            lane = self.lane_of[parent.index]
        self.lane_of.append(lane)
        inherited = None if parent is None else self.lifetimes[parent.index]
        self.lifetimes.append(self._lifetime(call, inherited))
        came_from = None if parent is None else self.known_facts.get(parent.index)
        if parent is not None and came_from is None:
            up = self.tree.step(parent, count=False)
            first = up.parent if up.parent is not None and up.parent.index < parent.index else None
            came_from = self._facts(parent, up, None if first is None else self._facts(first, _NO_STEP, None))
        row, _ = self.known_facts[call.index] = self._facts(call, step, came_from)
        above = row.parent
        reads_all = above is not None and row.read >= above.warm > 0
        if parent is not None and above is not None and above.ttl is None and reads_all and _may_be_idle(parent, call):
            return None
        return judge_row(row, self.memories[lane], OBSERVED_CLOCK, use_provider=True, has_messages=True)

    def _facts(
        self, call: ClaudeCall, step: CallStep, came_from: tuple[RowFacts, Request] | None
    ) -> tuple[RowFacts, Request]:
        """The facts of a call, as a request, beside those of the one it grew from."""
        request = request_of(self.unit, call, step)
        events = events_of(step, request)
        if came_from is not None:
            events += changes_between(came_from[1], request)
        above = None if came_from is None else came_from[0]
        row = facts_of_request(request, above, events, harness=HARNESS, writes=True)
        row.ttl, row.ttl_dropped = self.lifetimes[call.index]
        return row, request

    def _lifetime(self, call: ClaudeCall, inherited: EntryLifetime | None) -> EntryLifetime:
        """As the judge has it, which is asked once for each kind of write."""
        split = call.usage.cache_creation
        short = hour = None
        if split is not None and call.total:
            short, hour = split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens
        way = (inherited, bool(short), bool(hour), call.index if self.own_rules else 0)
        known = self.known_lifetimes.get(way)
        if known is None:
            request = request_of(self.unit, call, _NO_STEP)
            known = self.known_lifetimes[way] = lifetime(request, inherited)
        return known

    def _card(self, call: ClaudeCall) -> RateCard | None:
        usage = call.usage
        when = self._safe_day(call.model, (call.end or "")[:10])
        if when is None:
            return self.book.card_for(request_of(self.unit, call, self.tree.step(call, count=False)))
        return self.book.card(
            "anthropic", call.model, when, call.total, usage.service_tier, usage.speed, usage.inference_geo
        )

    def _safe_day(self, model: str, day: str) -> int | None:
        """A time in a day on which the model's prices are those of the day before too, so that it does not matter when
        a request that ended then had begun; ``None`` where it may matter."""
        known = self.days.get((model, day), -1)
        if known != -1:
            return known
        noon = nanoseconds(day + "T12:00:00Z")
        same = (
            noon is not None
            and model.startswith("claude")
            and all(
                self.book.card("anthropic", model, noon, size) == self.book.card("anthropic", model, noon - DAY, size)
                for size in (1, _ANY_SIZE)
            )
        )
        self.days[(model, day)] = when = noon if same else None
        return when

    def _add(self, call: ClaudeCall) -> None:
        usage = call.usage
        if usage.iterations is not None and len(usage.iterations) > 1:
            sums = self._price_alone(call)
        else:
            way = (call.model, (call.end or "")[:10], usage.service_tier, usage.speed, usage.inference_geo)
            known = self.ways.get(way)
            sums = self._sums_of(call, way) if known is None else known
        split = usage.cache_creation
        hour = 0 if split is None else split.ephemeral_1h_input_tokens or 0
        sums[0] += call.total - call.warm
        sums[1] += call.write - hour
        sums[2] += hour
        sums[3] += call.read
        if call.output > 0:
            sums[4] += call.output

    def _price_alone(self, call: ClaudeCall) -> list[int]:
        """Price a call that was served by several inner ones; where its tokens are counted."""
        cost, equivalents = self.book.price(request_of(self.unit, call, self.tree.step(call, count=False)))
        if cost is None:
            self.unpriced[call.model] = self.unpriced.get(call.model, 0) + 1
        else:
            self.cost += cost
            self.equivalents += equivalents or 0
        return self.rest

    def _sums_of(self, call: ClaudeCall, way: tuple[str, str, str | None, str | None, str | None]) -> list[int]:
        """Where the tokens of a call are counted; remembered where any prompt processed that way has its prices."""
        card = self._card(call)
        if card is None:
            self.unpriced[call.model] = self.unpriced.get(call.model, 0) + 1
            return self.rest
        sums = self.sums.setdefault(card, [0, 0, 0, 0, 0])
        when = self._safe_day(way[0], way[1])
        if when is not None and all(
            self.book.card("anthropic", way[0], when, size, way[2], way[3], way[4]) == card for size in (1, _ANY_SIZE)
        ):
            self.ways[way] = sums
        return sums

    def _price_sums(self, card: RateCard, sums: list[int]) -> None:
        from agentsim.rules.prices import cost, equivalents

        usage = Usage(fresh=sums[0], write_short=sums[1], write_long=sums[2], read=sums[3], output=sums[4])
        self.cost += cost(card, usage) or 0
        self.equivalents += equivalents(card, usage) or 0

    def _record(self, call: ClaudeCall, verdict: Verdict) -> None:
        self.kinds[verdict.kind] = self.kinds.get(verdict.kind, 0) + 1
        if verdict.kind != "miss" and verdict.unlogged is None:
            return
        usage = usage_of(call.usage)
        card = self._card(call)
        if verdict.unlogged is not None:
            self.unlogged += 1
            if card is not None:
                base = unlogged_base(verdict, usage)
                self.unlogged_cost += price_of_unlogged(base, verdict.unlogged, bool(usage.write_long), card) or 0
        if verdict.kind == "miss":
            cost = price_of_loss(verdict.lost, usage, card) if card is not None else None
            self.losses.append(
                UnitLoss(
                    request=request_id(call),
                    stamp=call.end,
                    cause=verdict.code,
                    tokens=verdict.lost,
                    cost=cost,
                    equivalents=in_equivalents(cost, card) if cost is not None and card is not None else None,
                    file=self.unit.files[call.file],
                    line=call.line,
                    kind=kind_by_row(verdict, call.read),
                )
            )

    def _result(self, group: tuple[LogFile, ...], counted: int) -> UnitReport:
        unit = self.unit
        fresh, short, long, read, output = map(sum, zip(self.rest, *self.sums.values(), strict=True))
        return UnitReport(
            session=group[0].session,
            project=group[0].project,
            files=unit.files,
            first_stamp=unit.first_stamp,
            last_stamp=unit.last_stamp,
            key_hashes=array("q", map(hash, unit.by_key)).tobytes(),
            packed_keys=msgspec.msgpack.encode(list(unit.by_key)),
            requests=counted,
            fresh=fresh,
            written=short + long,
            read=read,
            output=output,
            cost=self.cost,
            equivalents=self.equivalents,
            unpriced=self.unpriced,
            unreported=self.kinds.get("unreported", 0),
            kinds=self.kinds,
            unlogged=self.unlogged,
            unlogged_cost=self.unlogged_cost,
            losses=self.losses,
            rows=unit.rows,
            duplicate=unit.duplicate,
            not_billable=unit.not_billable,
            skipped=unit.skipped,
            problems=unit.problems,
        )
