"""Which conversation a captured request belongs to.

A capture is a list of requests of several threads mixed together. A request continues the lane whose last prompt it
extends, or whose first message it shares, or most of whose blocks it repeats. A lane has one request in flight at a
time, so what is sent before its last response ended starts a lane of its own. A compaction call repeats the history
under other tools and another system prompt: it belongs to the lane it summarises, and so does the request after it,
which shares little but the head with what came before. Where the harness itself names the agent that asks, that is
its lane, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agentsim.core.prompt import Prompt
from agentsim.core.session import Lane, Purpose

IN_FLIGHT = 50_000_000
"""A request may start this many nanoseconds before the lane's last response was logged as ended."""

MOST_COMPARED = 64
"""Of so many lanes, the last begun, all blocks are compared when nothing simpler finds the lane. A log of many
unrelated requests would take for ever otherwise."""

MOST_ALIKE = 256
"""As many lanes with one first message, the last begun, are looked at."""

_SUMMARY_TEXT = 20_000
_OPENING_TEXT = 400
"""Among so many characters at its beginning a summary says what it is."""
_BEFORE = ("earlier", "previous", "so far", "before this point", "continue")
"""And one of these words, what it sums up."""
_MOST_OPENING = 3
"""A history that was just replaced has no more messages than this."""


class AskingAgent(msgspec.Struct, frozen=True):
    """Who a harness says is asking: an agent by its id, and whose child it is. The main one has no id."""

    id: str | None = None
    parent: str | None = None


class CapturedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request as far as its lane depends on it. ``tools`` and ``messages`` count those of the body. ``summarises`` is
    True where it is known to ask for a summary of its history; else that is told from what it says. ``agent`` is
    ``None`` where the harness names no agents."""

    prompt: Prompt
    model: str
    settings: tuple[tuple[str, str], ...]
    start: int | None
    end: int | None
    max_tokens: int | None
    tools: int
    messages: int
    summarises: bool = False
    agent: AskingAgent | None = None


class LanedRequest(msgspec.Struct, frozen=True):
    """A request that has its place. ``prompt`` is that of the call with its blocks counted."""

    id: str
    call: CapturedCall
    prompt: Prompt


class LaneState:
    """A lane being followed. Mutable."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.last: LanedRequest | None = None
        self.last_ordinary: LanedRequest | None = None
        self.summarised = False
        self._first_message: tuple[bytes, ...] = ()
        self._blocks: frozenset[bytes] | None = None
        self._answers: frozenset[bytes] = frozenset()

    def remember(self, id: str, call: CapturedCall, prompt: Prompt, purpose: Purpose) -> None:
        """This request is the lane's last now."""
        self.last = LanedRequest(id, call, prompt)
        self.summarised = purpose == "summary"
        if not self.summarised:
            self.last_ordinary = self.last
        self._first_message = first_message(call.prompt)
        self._blocks = None

    def cut_short(self, id: str, end: int) -> None:
        """Where this request is the lane's last, it ended already then."""
        last = self.last
        if last is None or last.id != id or last.call.end is None or last.call.end <= end:
            return
        call = msgspec.structs.replace(last.call, end=end)
        self.last = LanedRequest(id, call, last.prompt)
        if self.last_ordinary is last:
            self.last_ordinary = self.last

    def in_flight_at(self, start: int | None) -> bool:
        """Whether the lane's last request had not ended at this time."""
        end = self.last.call.end if self.last is not None else None
        return start is not None and end is not None and start < end - IN_FLIGHT

    def begins_like(self, call: CapturedCall, first: tuple[bytes, ...]) -> bool:
        """Whether a call has the same first message, and is not that conversation begun anew."""
        if self.last is None or not first or first != self._first_message:
            return False
        return call.messages > 1 or self.last.call.messages <= 1

    def shares_most(self, blocks: frozenset[bytes]) -> bool:
        """Whether most blocks of the shorter one of two conversations are in the other: three, or an answer and one."""
        if self._blocks is None:
            prompt = None if self.last is None else self.last.call.prompt
            self._blocks = frozenset() if prompt is None else message_blocks(prompt)
            self._answers = frozenset() if prompt is None else message_blocks(prompt, "assistant")
        shared = blocks & self._blocks
        enough = 2 if not shared.isdisjoint(self._answers) else 3
        return len(shared) >= enough and 2 * len(shared) >= min(len(blocks), len(self._blocks))

    def began_alike(self, call: CapturedCall, first: tuple[bytes, ...]) -> bool:
        """Whether a call goes on from the lane's first message, to whose end something was added or of which something
        was left out."""
        mine = self._first_message
        if self.last is None or call.messages <= self.last.call.messages or not mine or not first:
            return False
        return mine[: len(first)] == first[: len(mine)] and _same_head(self.last.call.prompt, call.prompt)


class LanePlace(msgspec.Struct, frozen=True):
    """Where a request belongs. ``before`` is the request it grew from, in the same lane."""

    lane_state: LaneState
    purpose: Purpose
    before: LanedRequest | None
    after_compaction: bool = False

    @property
    def parent(self) -> str | None:
        """The id of the request it grew from."""
        return None if self.before is None else self.before.id


class LaneFinder:
    """Finds the lane of each request of a session, in order of their start. Mutable."""

    def __init__(self, calls: Iterable[CapturedCall]) -> None:
        self._models = frozenset(call.model for call in calls if call.tools)
        self._states: list[LaneState] = []
        self._named: dict[str, LaneState] = {}
        self._by_first_message: dict[tuple[bytes, ...], list[LaneState]] = {}
        self._helpers: dict[tuple[str, bytes, bool], LaneState] = {}
        self._counts: dict[str, int] = {}
        self._order: list[Lane] = []

    def lanes(self) -> tuple[Lane, ...]:
        """The lanes in the order in which they began."""
        return tuple(self._order)

    def continued(self, call: CapturedCall) -> Lane | None:
        """The lane that a request would continue; nothing is changed."""
        if self._helps(call):
            state = self._helpers.get(helper_key(call))
        elif (named := _name_of(call)) is not None:
            state = self._named.get(named)
        else:
            state, _ = self._best(call)
        return None if state is None else state.lane

    def place(self, call: CapturedCall) -> LanePlace:
        """The request's lane, begun now if there is none. The caller tells the lane what it put there
        (:meth:`LaneState.remember`)."""
        if self._helps(call):
            return self._place_helper(call)
        named = _name_of(call)
        if named is not None:
            state = self._named_state(named, call)
            after_compaction = _replaced(state, call)
        else:
            found, after_compaction = self._best(call)
            if found is None and (found := self._main_agent(call)) is not None:
                after_compaction = _replaced(found, call)
            state = self._begin(call) if found is None else found
            alike = self._by_first_message.setdefault(first_message(call.prompt), [])
            if state not in alike[-MOST_ALIKE:]:
                alike.append(state)
        purpose = state.lane.purpose
        if call.summarises:
            purpose = "summary"
        elif state.last is not None and not after_compaction:
            if _summarises(call, state.last.call):
                purpose = "summary"
            else:
                after_compaction = _sums_up(call.prompt, state.last.call.prompt, asked_for=state.summarised)
        return LanePlace(state, purpose, _grew_from(state, call), after_compaction)

    def _best(self, call: CapturedCall) -> tuple[LaneState | None, bool]:
        best: LaneState | None = None
        best_rank = (0, 0, False)
        first = first_message(call.prompt)
        for state in self._by_first_message.get(first, ())[-MOST_ALIKE:]:
            if state.last is None or state.in_flight_at(call.start):
                continue
            last = state.last.call.prompt
            front = last.common_length(call.prompt)
            if front == len(last) and front > last.section_end("system"):
                grade = 2
            elif state.begins_like(call, first):
                grade = 1
            else:
                continue
            rank = (grade, front, state.last.call.model == call.model)
            if rank >= best_rank:
                best, best_rank = state, rank
        if best is not None:
            return best, False
        recent = [state for state in self._states[: -MOST_COMPARED - 1 : -1] if not state.in_flight_at(call.start)]
        blocks = message_blocks(call.prompt) if recent else frozenset[bytes]()
        for state in recent:
            if state.shares_most(blocks) or state.began_alike(call, first):
                return state, False
        told = _opens_with_summary(call)
        for state in recent:
            ordinary = state.last_ordinary
            if ordinary is None or not (state.summarised or (told and _longer(ordinary.call, call))):
                continue
            if _same_head(ordinary.call.prompt, call.prompt):
                return state, True
        return None, False

    def _named_state(self, name: str, call: CapturedCall) -> LaneState:
        """The lane of the agent of this name, begun now if there is none."""
        state = self._named.get(name)
        if state is None:
            parent = None if call.agent is None else self._named.get(call.agent.parent or "")
            main = next((one for one in self._states if one.lane.purpose == "main"), None)
            above = parent or main
            state = self._open("subagent", "subagent", "subagent", None if above is None else above.lane.id)
            self._named[name] = state
        return state

    def _main_agent(self, call: CapturedCall) -> LaneState | None:
        """The main lane, where the harness says that its main agent asks, with an agent's tools and not an errand's."""
        if call.agent is None or call.agent.id is not None:
            return None
        main = next((state for state in self._states if state.lane.purpose == "main"), None)
        if main is None or main.last_ordinary is None or main.in_flight_at(call.start):
            return None
        return main if 2 * call.tools >= main.last_ordinary.call.tools > 0 else None

    def _begin(self, call: CapturedCall) -> LaneState:
        main = next((state for state in self._states if state.lane.purpose == "main"), None)
        is_main = main is None or main.last_ordinary is None
        if main is not None and main.last_ordinary is not None and not main.in_flight_at(call.start):
            is_main = _same_head(main.last_ordinary.call.prompt, call.prompt)
        if is_main:
            state = self._open("main", "main", "main", None)
        else:
            parent = main.lane.id if main is not None else None
            state = self._open("subagent", "subagent", "subagent", parent)
        self._states.append(state)
        return state

    def _helps(self, call: CapturedCall) -> bool:
        """Whether a call serves the harness and not the conversation: a quota probe, a title, a topic."""
        if call.summarises:
            return False
        if call.max_tokens == 1:
            return True
        return bool(self._models) and not call.tools and (call.model not in self._models or call.messages == 1)

    def _place_helper(self, call: CapturedCall) -> LanePlace:
        key = helper_key(call)
        state = self._helpers.get(key)
        if state is None:
            main = self._states[0].lane.id if self._states else None
            name = "probe" if key[2] else "helper"
            state = self._helpers[key] = self._open(name, f"{name} {call.model}", "helper", main)
        return LanePlace(state, "probe" if key[2] else "helper", state.last)

    def _open(self, name: str, title: str, purpose: Purpose, parent: str | None) -> LaneState:
        count = self._counts[name] = self._counts.get(name, 0) + 1
        id = name if count == 1 else f"{name}-{count}"
        lane = Lane(id=id, title=title if count == 1 else f"{title} {count}", purpose=purpose, parent=parent)
        self._order.append(lane)
        return LaneState(lane)


def _name_of(call: CapturedCall) -> str | None:
    """The id of the agent that asks, where it is not the main one."""
    return None if call.agent is None else call.agent.id


def _replaced(state: LaneState, call: CapturedCall) -> bool:
    """Whether a summary that was asked for stands now where the lane's history was."""
    ordinary = state.last_ordinary
    if not state.summarised or ordinary is None:
        return False
    return ordinary.call.prompt.common_length(call.prompt) < len(ordinary.call.prompt)


def helper_key(call: CapturedCall) -> tuple[str, bytes, bool]:
    """By what errands of one kind are told from others."""
    return (call.model, call.prompt.chain(call.prompt.section_end("system")), call.max_tokens == 1)


def _grew_from(state: LaneState, call: CapturedCall) -> LanedRequest | None:
    """The lane's last request, or the last ordinary one where more of that is left: a compaction call is a detour."""
    last, ordinary = state.last, state.last_ordinary
    if last is None or ordinary is None or last is ordinary:
        return last
    if ordinary.call.prompt.common_length(call.prompt) > last.call.prompt.common_length(call.prompt):
        return ordinary
    return last


def _summarises(call: CapturedCall, last: CapturedCall) -> bool:
    """Whether a request that goes on from ``last`` asks for a summary of it instead of the next step."""
    if call.messages <= 1:
        return False
    if 2 * call.tools < last.tools and not _same_head(call.prompt, last.prompt):
        return True
    text = call.prompt[len(call.prompt) - 1].text if len(call.prompt) else None
    if text is None or len(text) > _SUMMARY_TEXT:
        return False
    text = text.lower()
    return "summary of the conversation" in text or "summary of our conversation" in text


def _opens_with_summary(call: CapturedCall) -> bool:
    """Whether a conversation begins with words that call themselves a summary, as one does whose history was replaced
    by a call that the log does not hold. They may stand behind material that stays the same."""
    begin = call.prompt.section_end("system")
    # Some bodies count the system text as a message.
    if len({call.prompt[at].message for at in range(begin, len(call.prompt))}) > _MOST_OPENING:
        return False
    for at in range(begin, len(call.prompt)):
        text = (call.prompt[at].text or "")[:_OPENING_TEXT].lower()
        if "summary" in text and any(word in text for word in _BEFORE):
            return True
    return False


def _longer(one: CapturedCall, other: CapturedCall) -> bool:
    """Whether a conversation of the same model has more of it: more messages, or more in them."""
    more = one.messages > other.messages or one.prompt.tokens > other.prompt.tokens
    return one.model == other.model and more


def _sums_up(prompt: Prompt, last: Prompt, *, asked_for: bool) -> bool:
    """Whether a provider's own summary stands where the prompt before had something else: one that is new, or any where
    the request before asked for it (the same words may sum up twice)."""
    front = last.common_length(prompt)
    if front == len(last):
        return False
    places = [at for at, block in enumerate(prompt) if block.kind == "compaction"]
    if asked_for:
        return bool(places)
    made = {prompt[at].digest for at in places if at >= front}
    return bool(made) and not any(last[at].digest in made for at in range(front, len(last)))


def _same_head(one: Prompt, other: Prompt) -> bool:
    """Whether tools and system prompt are the same."""
    end = one.section_end("system")
    return end == other.section_end("system") and one.chain(end) == other.chain(end)


def first_message(prompt: Prompt) -> tuple[bytes, ...]:
    """The digests of the blocks of a prompt's first message."""
    digests = []
    for at in range(prompt.section_end("system"), len(prompt)):
        block = prompt[at]
        if block.message not in (0, None):
            break
        digests.append(block.digest)
    return tuple(digests)


def message_blocks(prompt: Prompt, role: str | None = None) -> frozenset[bytes]:
    """The digests of all blocks of a prompt's messages, or of those of one role."""
    blocks = (prompt[at] for at in range(prompt.section_end("system"), len(prompt)))
    return frozenset(block.digest for block in blocks if role is None or block.role == role)
