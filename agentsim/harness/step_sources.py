"""Where the steps of a task come from: a script that is written out, or distributions."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agentsim.core.dates import SECOND
from agentsim.harness.agent_steps import Child, FanOut, Round, Step, ToolCall, User, WordsReply
from agentsim.harness.prompt_part import PromptPart
from agentsim.harness.random_draws import Draw, FixedNumber
from agentsim.harness.random_streams import Stream


class ScriptedSteps(msgspec.Struct, frozen=True):
    """Steps that are the same for every agent and seed."""

    written: tuple[Step, ...]

    def steps(self, stream: Stream) -> Iterator[Step]:
        """The steps as they are written."""
        return iter(self.written)


class Delegation(msgspec.Struct, frozen=True, kw_only=True):
    """Subagents of a generated task: how often a round starts some (millionths), and what they do: all of them the same
    (``alike``), or each something of its own size."""

    chance: int
    children: Draw = FixedNumber(3)
    rounds: Draw = FixedNumber(3)
    brief: PromptPart | None = None
    own: Draw = FixedNumber(200)
    reply: Draw = FixedNumber(600)
    alike: bool = True


class GeneratedTasks(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of turns of rounds, whose numbers and sizes are drawn. ``extra`` are steps that stand before a turn, by
    its number (from 1)."""

    turns: Draw = FixedNumber(1)
    prompt: Draw = FixedNumber(200)
    rounds: Draw = FixedNumber(5)
    thinking: Draw = FixedNumber(0)
    text: Draw = FixedNumber(60)
    calls: Draw = FixedNumber(1)
    call: Draw = FixedNumber(120)
    result: Draw = FixedNumber(1_000)
    tool_time: Draw = FixedNumber(2 * SECOND)
    reply: Draw = FixedNumber(300)
    pause: Draw = FixedNumber(60 * SECOND)
    delegation: Delegation | None = None
    extra: tuple[tuple[int, tuple[Step, ...]], ...] = ()

    @property
    def written(self) -> tuple[Step, ...]:
        """The steps that stand before a turn."""
        return tuple(step for _, steps in self.extra for step in steps)

    def steps(self, stream: Stream) -> Iterator[Step]:
        """The steps, drawn one after the other as they are asked for."""
        extra = dict(self.extra)
        for turn in range(1, self.turns.draw(stream) + 1):
            yield from extra.get(turn, ())
            yield User(blocks=(self.prompt.draw(stream),), pause=self.pause.draw(stream) if turn > 1 else 0)
            for _ in range(self.rounds.draw(stream)):
                yield self._round(stream)
                if self.delegation is not None and stream.happens(self.delegation.chance):
                    yield self._fan_out(stream, self.delegation)
            yield WordsReply(text=self.reply.draw(stream), thinking=self.thinking.draw(stream))

    def _round(self, stream: Stream) -> Round:
        calls = tuple(
            [
                ToolCall(
                    tokens=self.call.draw(stream), result=self.result.draw(stream), took=self.tool_time.draw(stream)
                )
                for _ in range(self.calls.draw(stream))
            ]
        )
        return Round(calls=calls, thinking=self.thinking.draw(stream), text=self.text.draw(stream))

    def _child(self, stream: Stream, what: Delegation) -> Child:
        rounds = tuple([self._round(stream) for _ in range(what.rounds.draw(stream))])
        return Child(own=what.own.draw(stream), steps=rounds, reply=what.reply.draw(stream))

    def _fan_out(self, stream: Stream, what: Delegation) -> FanOut:
        count = what.children.draw(stream)
        if not what.alike:
            return FanOut(
                children=tuple([self._child(stream, what) for _ in range(count)]),
                text=self.text.draw(stream),
                shared=() if what.brief is None else (what.brief,),
            )
        return FanOut(
            children=tuple(what.own.draw(stream) for _ in range(count)),
            text=self.text.draw(stream),
            shared=() if what.brief is None else (what.brief,),
            rounds=tuple(self._round(stream) for _ in range(what.rounds.draw(stream))),
            reply=what.reply.draw(stream),
        )
