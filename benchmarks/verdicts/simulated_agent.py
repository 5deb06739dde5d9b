"""An agent that lives a session: it thinks, calls tools, answers, pauses, and sends each prompt to a provider's world.

A conversation is kept in one form and written as the wire wants it. What a scenario changes between two requests is the
injected cause; the world answers, and :mod:`benchmarks.verdicts.session_truth` is told what was lost.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.verdicts.automatic_world import AutomaticWorld
from benchmarks.verdicts.breakpoint_world import Billed, BreakpointWorld, Sent
from benchmarks.verdicts.documented_rules import CODEX, DEEPSEEK, GPT_54, OPUS_48, SONNET_5, SONNET_46, ModelRules
from benchmarks.verdicts.made_content import Content
from benchmarks.verdicts.session_truth import Truth
from benchmarks.verdicts.wire_positions import Json, Position, count_tokens, positions_of, shared
from benchmarks.verdicts.wire_writing import write_body

SWITCHES: dict[str, tuple[ModelRules, ...]] = {
    "claude": (OPUS_48, SONNET_46, SONNET_5),
    "openai": (GPT_54, replace(GPT_54, model="gpt-5.4-mini")),
    "deepseek": (DEEPSEEK, replace(DEEPSEEK, model="deepseek-flash")),
    "codex": (CODEX, replace(CODEX, model="gpt-5.5")),
}
World = BreakpointWorld | AutomaticWorld


@dataclass(frozen=True)
class LivedCall:
    """A request that was answered. ``logged`` is False for one that no log holds; ``since`` tells what the harness
    noted between the request before and this one, as (kind, detail)."""

    id: str
    lane: str
    parent: str | None
    body: Json
    rules: ModelRules
    start: float
    first_token: float
    end: float
    billed: Billed
    positions: list[Position]
    output: int
    reply: list[Json]
    truth: Truth
    logged: bool = True
    host: str | None = None
    purpose: str = "main"
    version: str = "2.1.240"
    since: tuple[tuple[str, str], ...] = ()
    added: list[Json] = field(default_factory=list)


@dataclass
class Life:
    """A lived session: calls in the order of their starts."""

    id: str
    cell: str
    family: str
    rules: ModelRules
    calls: list[LivedCall] = field(default_factory=list)
    lanes: dict[str, str | None] = field(default_factory=dict)

    def logged(self) -> list[LivedCall]:
        """The calls that a log holds."""
        return [call for call in self.calls if call.logged]


class Agent:
    """Lives one session. Mutable; scenarios change its fields between :meth:`step` and :meth:`send`."""

    def __init__(self, life: Life, world: World, rng: random.Random, now: float, content: Content) -> None:
        self.life, self.world, self.rng, self.now, self.content = life, world, rng, now, content
        self.rules = life.rules
        self.tools: list[Json] = [content.tool(words=rng.randrange(40, 110)) for _ in range(rng.randrange(4, 9))]
        self.system: list[str] = [content.text(rng.randrange(120, 200)), content.text(rng.randrange(300, 700))]
        while self._head() < 1.2 * self.rules.minimum:
            self.system[-1] += content.text(150)
        self.messages: list[Json] = [
            {"role": "user", "content": [{"type": "text", "text": content.text(rng.randrange(150, 400))}]}
        ]
        self.settings: dict[str, Any] = {}
        self.lifetime = 300
        self.marked: Callable[[Agent], list[tuple[str, int]]] | None = default_markers
        self.place = "home"
        self.host: str | None = None
        self.late_after_end: float | None = None
        self.lane = "main"
        self.purpose = "main"
        self.version = "2.1.240"
        self.gateway: Callable[[Json], Json] | None = None
        self.since: list[tuple[str, str]] = []
        self.thinks = False
        self.head_is_warm = False
        self.words = (60, 320) if self.rules.step <= 128 else (300, 700)
        self.life.lanes.setdefault("main", None)
        self._last: dict[str, LivedCall] = {}

    def _head(self) -> int:
        """Tokens of tools and system text. They have to be enough for an entry of their own: a change of settings that
        keeps them would look like the loss of everything otherwise."""
        texts = [tool["description"] for tool in self.tools] + self.system
        return sum(count_tokens(text) for text in texts)

    def reply(self, calls: int = 1, *, words: tuple[int, int] | None = None) -> None:
        """The model answers with tool calls, and their results come: longer ones where steps of reads are wide."""
        words = words or self.words
        content, rng = self.content, self.rng
        said: list[Json] = []
        if self.thinks:
            said.append(
                {"type": "thinking", "thinking": content.text(rng.randrange(40, 120)), "signature": content.id("sig")}
            )
        said.append({"type": "text", "text": content.text(rng.randrange(8, 30))})
        results: list[Json] = []
        for _ in range(calls):
            id = content.id("toolu")
            name = rng.choice(self.tools)["name"] if self.tools else "run"
            said.append({"type": "tool_use", "id": id, "name": name, "input": content.arguments()})
            results.append(
                {"type": "tool_result", "tool_use_id": id, "content": content.text(rng.randrange(*words)) + "\n"}
            )
        self.messages.append({"role": "assistant", "content": said})
        self.messages.append({"role": "user", "content": results})

    def answer_and_ask(self, words: int = 40) -> None:
        """The model gives its answer, and the user asks something new."""
        said: list[Json] = []
        if self.thinks:
            said.append({"type": "thinking", "thinking": self.content.text(60), "signature": self.content.id("sig")})
        said.append({"type": "text", "text": self.content.text(self.rng.randrange(30, 120))})
        self.messages.append({"role": "assistant", "content": said})
        self.messages.append({"role": "user", "content": [{"type": "text", "text": self.content.text(words)}]})

    def warm(self, steps: int | None = None) -> None:
        """The first request and some healthy ones. Where ``head_is_warm``, another session with the same tools and
        system text ran before: no log of this one shows it, but for its reads."""
        if self.head_is_warm:
            kept, self.messages = self.messages, [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
            self.send(gap=0, logged=False)
            self.messages, self.now = kept, self.now + 60
        self.send(gap=0)
        for _ in range(steps if steps is not None else self.rng.randrange(2, 5)):
            self.step()

    def step(self, truth: Truth | None = None, *, gap: float | None = None, calls: int | None = None) -> LivedCall:
        """One tool round and the request after it."""
        self.reply(calls if calls is not None else self.rng.choice((1, 1, 1, 2)))
        return self.send(truth, gap=gap)

    def go_on(self, steps: int | None = None) -> None:
        """Healthy requests after what happened."""
        for _ in range(steps if steps is not None else self.rng.randrange(1, 4)):
            self.step()

    def body(self) -> Json:
        """The body that would be sent now."""
        return write_body(self)

    def send(
        self,
        truth: Truth | None = None,
        *,
        gap: float | None = None,
        logged: bool = True,
        grew_from: LivedCall | None = None,
        beside: LivedCall | None = None,
    ) -> LivedCall:
        """Send the prompt as it stands, ``gap`` seconds after the last response ended. It grew from the lane's last
        call if no other is named; ``beside`` is a call of another lane whose work it might have shared."""
        rng = self.rng
        self.now += gap if gap is not None else rng.uniform(2, 45)
        start = self.now
        first = start + rng.uniform(0.6, 2.4)
        end = first + rng.uniform(0.5, 14)
        body = self.body()
        seen = self.gateway(copy.deepcopy(body)) if self.gateway is not None else body
        late = 0.0 if self.late_after_end is None else end - first + self.late_after_end
        sent = Sent(seen, start, first, end, self.place, late)
        billed = self.world.answer(sent, self.rules)
        positions = positions_of(body, self.rules.api)
        before = grew_from or self._last.get(self.lane)
        call = LivedCall(
            id=self.content.id("msg"),
            lane=self.lane,
            parent=before.id if before is not None else None,
            body=body,
            rules=self.rules,
            start=start,
            first_token=first,
            end=end,
            billed=billed,
            positions=positions,
            output=rng.randrange(60, 400),
            reply=[],
            truth=self._truth(truth, beside or before, billed, positions),
            logged=logged,
            host=self.host,
            purpose=self.purpose,
            version=self.version,
            since=tuple(self.since),
            added=copy.deepcopy(self.messages),
        )
        self.since = []
        self.life.calls.append(call)
        if logged:
            self._last[self.lane] = call
        self.now = end
        return call

    def rewound(self, calls: int) -> None:
        """The user went back: what comes next grows from an earlier call of this lane."""
        mine = [call for call in self.life.calls if call.lane == self.lane and call.logged]
        self._last[self.lane] = mine[-1 - calls]

    def switch_model(self) -> None:
        """Another model of the same provider from now on."""
        others = [other for other in SWITCHES[self.life.family] if other.model != self.rules.model]
        self.rules = replace(self.rng.choice(others), api=self.rules.api)

    def _truth(self, told: Truth | None, before: LivedCall | None, billed: Billed, positions: list[Position]) -> Truth:
        lost = lost_tokens(before, billed, positions) if before is not None else 0
        if lost < max(self.rules.step, 1):
            lost = 0
        if told is not None:
            return Truth(told.outcome, told.cell, told.right, told.coarse, lost, told.hidden, told.note)
        if before is None:
            return Truth("first")
        earlier = [call for call in self.life.calls if call.lane == self.lane and call.logged and call is not before]
        settled = not lost and all(
            lost_tokens(call, billed, positions) < max(self.rules.step, 1) for call in earlier[-3:]
        )
        return Truth("healthy" if settled else "free", lost=lost)

    @property
    def last(self) -> LivedCall | None:
        """The last logged call of this lane."""
        return self._last.get(self.lane)


def lost_tokens(before: LivedCall, billed: Billed, positions: list[Position]) -> int:
    """What the request before had cached, is still in the prompt, and was not read: whole positions, and of the first
    one that differs the text in front of its edit and behind it."""
    cached: Counter[tuple[str, str]] = Counter()
    left = before.billed.kept
    edit = unchanged_text(before.positions, positions, left)
    for position in before.positions:
        cached[position.section, position.data] += max(0, min(position.tokens, left))
        left -= position.tokens
    size = lost = 0
    for position in positions:
        size += position.tokens
        key = (position.section, position.data)
        usable = min(cached[key], position.tokens)
        if usable:
            cached[key] -= usable
            unread = size - billed.read - (position.tokens - usable)
            lost += max(0, min(usable, unread))
        elif edit is not None and position is edit[0]:
            lost += max(0, min(edit[1], size - billed.read))
    return lost


def unchanged_text(old: list[Position], new: list[Position], cached: int) -> tuple[Position, int] | None:
    """The first position that was edited where it stands, if it is among the first so many tokens, and how many tokens
    of its text are what they were."""
    for before, after in zip(old, new, strict=False):
        cached -= before.tokens
        if cached < 0:
            return None
        if before.data == after.data and before.section == after.section:
            continue
        if (before.section, before.kind, before.role, before.name) != (
            after.section,
            after.kind,
            after.role,
            after.name,
        ):
            return None
        front = shared(before.main, after.main)
        back = shared(before.main[front:][::-1], after.main[front:][::-1])
        kept = before.main[:front] + before.main[len(before.main) - back :]
        rest = count_tokens(after.rest) if before.rest == after.rest else 0
        return (after, count_tokens(kept) + rest) if 2 * len(kept) > len(before.main) else None
    return None


def default_markers(agent: Agent) -> list[tuple[str, int]]:
    """Markers on the last system block and on the last block of the conversation."""
    return [("system", agent.lifetime), ("last", agent.lifetime)]


def with_previous(agent: Agent) -> list[tuple[str, int]]:
    """The same, and the block that the request before ended with."""
    return [("system", agent.lifetime), ("previous", agent.lifetime), ("last", agent.lifetime)]


def with_tools(agent: Agent) -> list[tuple[str, int]]:
    """On the last tool, the last system block and the last block."""
    return [("tools", agent.lifetime), ("system", agent.lifetime), ("last", agent.lifetime)]


def system_only(agent: Agent) -> list[tuple[str, int]]:
    """On the last system block alone."""
    return [("system", agent.lifetime)]
