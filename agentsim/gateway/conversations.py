"""Sessions as they happen: whose prompt a body grew from, and which lane a request belongs to."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from agentsim.core.dates import DAY
from agentsim.core.prompt import Prompt
from agentsim.core.session import Event, EventKind, Purpose, Request, Session
from agentsim.traces.capture_lanes import CapturedCall, LanedRequest, LaneFinder, LanePlace, LaneState, helper_key

KEPT_PROMPTS = 256
"""Conversations of a session whose last prompt is remembered for the next body to share."""

IN_FLIGHT = DAY
"""An answer that has not ended is assumed to end long after any request that comes meanwhile."""

HARNESSES = (
    ("claude-cli/", "claude-code"),
    ("codex", "codex"),
    ("pi/", "pi"),
    ("opencode", "opencode"),
    ("GeminiCLI", "gemini-cli"),
    ("QwenCode", "qwen-code"),
)
"""What user agents of harnesses hold, and their names."""


class LaneChange(msgspec.Struct, frozen=True):
    """What was told of a lane so far belongs to another one."""

    lane: str
    to: str
    purpose: Purpose


class _Lanes(LaneFinder):
    """Lanes found while they happen: which models serve the agent itself is learnt from each request.

    A first request without tools may be a whole agent that has none, or an errand such as a title. It is taken for the
    main lane until a request with tools begins one: then it was an errand. ``changes`` tells so.
    """

    def __init__(self) -> None:
        super().__init__(())
        self.changes: list[LaneChange] = []

    def place(self, call: CapturedCall) -> LanePlace:
        """See :meth:`agentsim.traces.capture_lanes.LaneFinder.place`."""
        if call.tools and call.model not in self._models:
            self._models = self._models | {call.model}
        return super().place(call)

    def _begin(self, call: CapturedCall) -> LaneState:
        if call.tools:
            self._step_aside()
        # A lane whose only request failed is begun by the one that takes its place.
        empty = next((state for state in self._states if state.last is None), None)
        return super()._begin(call) if empty is None else empty

    def _step_aside(self) -> None:
        """Make room for the main lane where an errand took its name."""
        state = next((one for one in self._states if one.lane.purpose == "main"), None)
        if state is None or state.last is None or state.last.call.tools or state.last.call.messages > 1:
            return
        call, old = state.last.call, state.lane
        self._states.remove(state)
        for alike in self._by_first_message.values():
            if state in alike:
                alike.remove(state)
        self._order.remove(old)
        self._counts["main"] -= 1
        state.lane = self._open("helper", f"helper {call.model}", "helper", "main").lane
        self._helpers[helper_key(call)] = state
        self.changes.append(LaneChange(old.id, state.lane.id, "helper"))


class LanedBody(msgspec.Struct, frozen=True):
    """Where a request belongs, before it is recorded. ``id`` is its own; ``before`` is what it grew from, and ``last``
    the request that was its lane's last when it came."""

    id: str
    state: LaneState
    came_as: Purpose
    before: LanedRequest | None
    last: LanedRequest | None
    after_compaction: bool

    @property
    def lane(self) -> str:
        """The lane, by what is known now."""
        return self.state.lane.id

    @property
    def purpose(self) -> Purpose:
        """What the request is for, by what is known now."""
        return "helper" if self.came_as == "main" and self.state.lane.purpose == "helper" else self.came_as

    @property
    def parent(self) -> str | None:
        """The id of the request it grew from."""
        return None if self.before is None else self.before.id


class Conversation:
    """A session that is going on. Mutable."""

    def __init__(self, id: str, format: str) -> None:
        self.id = id
        self.format = format
        self.harness: str | None = None
        self._lanes = _Lanes()
        self._prompts: OrderedDict[tuple[str, bytes], Prompt] = OrderedDict()
        self._ids: dict[str, int] = {}
        self._used: set[str] = set()
        self._lane_of_id: OrderedDict[str, LaneState] = OrderedDict()

    def before(self, model: str, first: bytes) -> Prompt | None:
        """The last prompt of the conversation that begins with this first message, as raw JSON."""
        return self._prompts.get((model, first[:4096]))

    def grew(self, model: str, first: bytes, prompt: Prompt) -> None:
        """Remember a prompt for the next body of its conversation."""
        key = (model, first[:4096])
        self._prompts[key] = prompt
        self._prompts.move_to_end(key)
        if len(self._prompts) > KEPT_PROMPTS:
            self._prompts.popitem(last=False)

    def place(self, id: str, call: CapturedCall) -> LanedBody:
        """The lane of a request that arrives now."""
        place = self._lanes.place(call)
        state = place.lane_state
        self._lane_of_id[id] = state
        if len(self._lane_of_id) > KEPT_PROMPTS:
            self._lane_of_id.popitem(last=False)
        return LanedBody(self._unique(id), state, place.purpose, place.before, state.last, place.after_compaction)

    def take_changes(self) -> list[LaneChange]:
        """What became of lanes since the last time."""
        changes, self._lanes.changes = self._lanes.changes, []
        for change in changes:
            if change.lane in self._used:
                self._used.add(change.to)
        return changes

    def remember(self, placed: LanedBody, call: CapturedCall, prompt: Prompt) -> None:
        """The request is the last of its lane now."""
        self.use(placed)
        placed.state.remember(placed.id, call, prompt, placed.purpose)

    def hold(self, placed: LanedBody, call: CapturedCall, prompt: Prompt) -> None:
        """The request is on its way, and its lane is taken until it is settled or forgotten."""
        call = msgspec.structs.replace(call, end=(call.start or 0) + IN_FLIGHT)
        placed.state.remember(placed.id, call, prompt, placed.purpose)

    def settle(self, placed: LanedBody, call: CapturedCall, prompt: Prompt) -> None:
        """The request is answered, and the last of its lane unless another one came since."""
        last = placed.state.last
        if last is placed.last or (last is not None and last.id == placed.id):
            self.remember(placed, call, prompt)
        else:
            self.use(placed)

    def see_harness(self, agent: str | None) -> None:
        """Learn from a user agent which program this is."""
        if self.harness is None and agent is not None:
            for name, harness in HARNESSES:
                if name in agent:
                    self.harness = harness
                    return

    def use(self, placed: LanedBody) -> None:
        """The request's lane is one that has requests."""
        self._used.add(placed.lane)

    def renamed(self, placed: LanedBody, id: str | None) -> LanedBody:
        """The request under the id that its provider gave it."""
        return placed if not id else msgspec.structs.replace(placed, id=self._unique(id))

    def forget(self, placed: LanedBody) -> None:
        """The request failed: its lane is as it was before it, unless another one came since."""
        state, last = placed.state, placed.last
        if state.last is None or state.last.id != placed.id:
            return
        if last is None:
            state.last = state.last_ordinary = None
        else:
            state.remember(last.id, last.call, last.prompt, state.lane.purpose)

    def lane_of(self, call: CapturedCall) -> str | None:
        """The lane that a request would continue; nothing is changed."""
        lane = self._lanes.continued(call)
        return None if lane is None else lane.id

    @property
    def first_lane(self) -> str | None:
        """The lane that began first; ``None`` before there is any."""
        return next((lane.id for lane in self._lanes.lanes() if lane.id in self._used), None)

    def cut_short(self, id: str, now: int) -> str | None:
        """The lane of a request that was placed not long ago and ends now: it is free for the next one."""
        state = self._lane_of_id.get(id)
        if state is None:
            return None
        state.cut_short(id, now)
        return state.lane.id

    def header(self) -> Session:
        """The session without its requests: what is known of it by now."""
        return Session(
            id=self.id,
            format=self.format,
            completeness="full",
            lanes=tuple(lane for lane in self._lanes.lanes() if lane.id in self._used),
            requests=(),
            harness=self.harness,
        )

    def _unique(self, id: str) -> str:
        count = self._ids[id] = self._ids.get(id, 0) + 1
        return id if count == 1 else f"{id}/{count}"


def api_error(lane: str, time: int, status: int, told: str | None = None) -> Event:
    """The event of a request that was refused."""
    return Event(kind="api_error", time=time, lane=lane, detail=told or f"HTTP {status}")


def marker(kind: EventKind, lane: str, time: int, before: Request | None = None) -> Event:
    """Another event of a lane."""
    return Event(kind=kind, time=time, lane=lane, before=None if before is None else before.id)
