"""Judge the calls of one conversation at the speed of a scan.

Nearly every call reads exactly what the one before it left, which a comparison of two numbers shows. Only the others
are looked at closely: their way back to their parent is walked, and the verdict is that of a replay, from the same
code.
"""

from __future__ import annotations

from array import array

import msgspec

from agentsim.bodies.messages_usage import diagnosis_of, usage_of
from agentsim.core.dates import DAY
from agentsim.core.session import Usage
from agentsim.core.verdict import Verdict
from agentsim.diagnose.diagnosis_totals import in_equivalents, price_of_loss, price_of_unlogged, unlogged_base
from agentsim.diagnose.lifetime_clock import OBSERVED_CLOCK
from agentsim.diagnose.row_facts import FIVE_MINUTES, ONE_HOUR, LaneMemory, RowFacts
from agentsim.diagnose.row_judge import judge_row
from agentsim.fleet.summary.summary_shape import UnitLoss, UnitReport
from agentsim.rules.prices import PriceBook, RateCard
from agentsim.rules.providers import has_own_rules, rules_for
from agentsim.traces.readers.claude_code.claude_calls import ClaudeCall
from agentsim.traces.readers.claude_code.claude_conversation import ClaudeConversation
from agentsim.traces.readers.claude_code.claude_files import LogFile
from agentsim.traces.readers.claude_code.claude_requests import output_is_final, request_id, request_of
from agentsim.traces.readers.claude_code.claude_scan import scan
from agentsim.traces.readers.claude_code.claude_steps import Tree
from agentsim.traces.time_stamps import nanoseconds

_ANY_SIZE = 10**12
_SHORT, _DROPPED, _LONG = (FIVE_MINUTES, False), (FIVE_MINUTES, True), (ONE_HOUR, False)


def report_on(
    group: tuple[LogFile, ...], book: PriceBook, owned: frozenset[tuple[str, str]] = frozenset()
) -> UnitReport:
    """Scan, judge and price one conversation. Calls in ``owned`` belong to another: they are context, and not counted.

    Raises OSError when a file cannot be read.
    """
    unit = scan(tuple(file.path for file in group), keep=True)
    with Tree(unit) as tree:
        return _Judge(unit, tree, book, owned).report(group)


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
        self.facts: dict[int, RowFacts] = {}
        self.lifetimes: list[tuple[int | None, bool]] = []
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
            if before is not None and call.read == before.warm and call.read:
                # It reads exactly what the call before it left: nothing to explain.
                lane = lane_of[before.index]
                lane_of.append(lane)
                memories[lane].ends[call.warm] = call.key[0] or call.key[1]
                life = lifetimes[before.index]
                split = call.usage.cache_creation
                if split is None or life is not _SHORT or not split.ephemeral_5m_input_tokens:
                    life = _lifetime(call, life)
                lifetimes.append(life)
                hits += mine
                continue
            verdict = self._look_closely(call)
            if mine:
                self._record(call, verdict)
        if hits:
            self.kinds["hit"] = self.kinds.get("hit", 0) + hits
        for card, sums in self.sums.items():
            self._price_sums(card, sums)
        return self._result(group, counted)

    def _look_closely(self, call: ClaudeCall) -> Verdict:
        step = self.tree.step(call)
        parent = step.parent if step.parent is not None and step.parent.index < call.index else None
        if parent is None:
            self.memories.append(LaneMemory())
            lane = len(self.memories) - 1
        else:
            lane = self.lane_of[parent.index]
        self.lane_of.append(lane)
        self.lifetimes.append(_lifetime(call, self.lifetimes[parent.index] if parent is not None else (None, False)))
        row = self._facts(call)
        row.appended, row.image = step.appended, step.images
        row.events = tuple(kind for kind, _, _ in step.events)
        row.start = nanoseconds(step.start)
        if row.start is not None and row.end is not None and row.start > row.end:
            row.start = row.end
        if parent is not None:
            row.parent = self._facts(parent)
            above = self.tree.step(parent, count=False)
            row.parent.start, row.parent.image = nanoseconds(above.start), above.images
            if above.parent is not None and above.parent.index < parent.index:
                row.parent.parent = self._facts(above.parent)
        return judge_row(row, self.memories[lane], OBSERVED_CLOCK, use_provider=True, has_messages=True)

    def _facts(self, call: ClaudeCall) -> RowFacts:
        row = RowFacts(
            request_id(call), call.model, call.read, call.write, call.total - call.warm, measured=call.measured
        )
        row.output = call.output if output_is_final(call) and call.output >= 0 else None
        row.end = nanoseconds(call.end)
        row.stop_reason = call.stop_reason
        row.version = call.version
        row.effort = call.effort
        row.speed, row.harness = call.usage.speed, "claude-code"
        row.ttl, row.ttl_dropped = self.lifetimes[call.index]
        if has_own_rules("anthropic"):
            rules = rules_for("anthropic", call.model, row.end)
            row.lookback = rules.lookback
            row.ttl = {FIVE_MINUTES: rules.ttl_short, ONE_HOUR: rules.ttl_long}.get(row.ttl or 0, row.ttl)
        row.diagnosis = diagnosis_of(call.diagnostics)
        row.calls = max(1, len(call.usage.iterations or ()))
        return row

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
                    cause=verdict.cause or "AS902",
                    tokens=verdict.lost,
                    cost=cost,
                    equivalents=in_equivalents(cost, card) if cost is not None and card is not None else None,
                    file=self.unit.files[call.file],
                    line=call.line,
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


def _lifetime(call: ClaudeCall, before: tuple[int | None, bool]) -> tuple[int | None, bool]:
    """As :func:`agentsim.diagnose.facts_from_session.lifetime`, from the log's own counters."""
    split = call.usage.cache_creation
    if split is None:
        return before
    if split.ephemeral_5m_input_tokens:
        return _DROPPED if before[1] or before[0] == ONE_HOUR else _SHORT
    if split.ephemeral_1h_input_tokens:
        return _LONG
    return before
