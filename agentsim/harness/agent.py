"""An agent as a process: it goes through its steps, waits for answers, runs tools, and keeps its conversation."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

from agentsim.core.prompt import Breakpoint, Prompt
from agentsim.core.session import Purpose
from agentsim.harness import compaction, result_clearing, subagents, tool_loading
from agentsim.harness.agent_steps import (
    ChangeSettings,
    Compact,
    FanOut,
    LoadTool,
    Restart,
    Round,
    Send,
    Step,
    ToolCall,
    Tools,
    User,
    Wait,
    WordsReply,
)
from agentsim.harness.conversation_thread import ConversationThread, block_of
from agentsim.harness.keep_alive_timer import Warmer
from agentsim.harness.plan import CallStyle, Compaction, PromptLayout
from agentsim.harness.request_failures import STATUS, Fate, fate, wait_before_retry
from agentsim.harness.simulated_endpoint import SimulatedAnswer
from agentsim.harness.task_account import CompactionMeter
from agentsim.harness.world import GaveUp, World

if TYPE_CHECKING:
    import simpy

Process = Generator["simpy.Event", Any, None]
Exchange = Generator["simpy.Event", Any, SimulatedAnswer]


class Agent:
    """One conversation with a model and the mechanisms around it. Mutable."""

    def __init__(self, world: World, name: str, thread: ConversationThread, purpose: Purpose = "main") -> None:
        self.world = world
        self.name = name
        self.thread = thread
        self.purpose: Purpose = purpose
        self.children = 0
        self.summaries = 0
        self.compacted: CompactionMeter | None = None
        self.wants_compaction = False
        self.sent: simpy.Event | None = None
        """Succeeds with the first answer, where somebody waits for it."""
        self.service = world.streams.stream(f"{name}/service")
        self._failures = world.streams.stream(f"{name}/failures")
        self._mechanisms = world.streams.stream(f"{name}/mechanisms")
        self.peak = 0
        self._turn: int | None = None
        self._wanted: list[LoadTool] = []
        """Tools that will be looked for when somebody has asked for something."""
        keep_alive = world.plan.harness.keep_alive
        self.warmer = Warmer(world, thread, keep_alive) if keep_alive is not None and purpose == "main" else None

    def go_through(self, steps: Iterable[Step]) -> Process:
        """The main loop's process: all steps, then the account of the task."""
        world, meter = self.world, self.world.recorder.meter
        began = world.now
        meter.started += 1
        try:
            for step in steps:
                yield from self.do(step)
            meter.finished += 1
            meter.tasks.append(world.now - began)
            passes = world.plan.passes
            if passes is not None and world.streams.stream(f"{self.name}/outcome").happens(passes):
                meter.accepted += 1
        except GaveUp:
            pass
        finally:
            meter.peaks.append(self.peak)
            if self.warmer is not None:
                self.warmer.stop()

    def do(self, step: Step) -> Iterable[simpy.Event]:
        """Do one step: what to wait for, one after the other. Must be gone through to its end."""
        # Not a generator itself: each level of them costs every request a little time.
        kind = type(step)
        if self._wanted and isinstance(step, Round | WordsReply | FanOut):
            for late in self._wanted:  # nobody said anything in between that could have been answered by looking for it
                self._bring(late)
            self._wanted.clear()
        if kind is Round:
            return self.round(step)  # type: ignore[arg-type]
        if isinstance(step, User):
            return self.user(step)
        if isinstance(step, WordsReply):
            return self.reply(step)
        if isinstance(step, FanOut):
            return subagents.run(self, step)
        if isinstance(step, Wait):
            return self.wait(step.pause, "waiting", "pauses")
        if isinstance(step, Restart):
            return self.restart(step)
        if isinstance(step, Send):
            return self.send(step)
        if isinstance(step, LoadTool):
            return self.load(step)
        if isinstance(step, Tools):
            tool_loading.change(self.thread, step)
            self.event("tools_delta", step.insert or step.remove)
        elif isinstance(step, ChangeSettings):
            self.change_settings(step)
        else:
            assert isinstance(step, Compact)
            self.wants_compaction = True
        return ()

    def user(self, step: User) -> Process:
        """A person speaks: a new turn begins."""
        yield from self.wait(step.pause, "user", "pauses")
        now = self._turn = self.world.now
        self.event("prompt_submitted")
        for tokens in step.blocks:
            self.thread.append("user", "text", tokens)
        wanted, self._wanted = self._wanted, []
        helper = self.world.plan.harness.helper
        if helper is not None:
            self.world.endpoint.send(
                self.thread,
                Prompt.of([block_of("messages", "text", f"{self.name} turn {now}", helper.tokens, role="user")]),
                now,
                self.service,
                output=helper.output,
                purpose="helper",
                took=helper.seconds,
                lane=f"{self.name}/helper",
                model=helper.model,
            )
        for late in wanted:
            yield from self._look_for(late)

    def load(self, step: LoadTool) -> Iterable[simpy.Event]:
        """A tool is needed: it is brought in, or looked for by a request of its own."""
        if not tool_loading.is_looked_for(self.world.plan.harness.tools):
            self._bring(step)
        elif self.thread.awaits_answer:
            return self._look_for(step)
        else:
            self._wanted.append(step)
        return ()

    def _look_for(self, step: LoadTool) -> Process:
        search = ToolCall(tokens=self.world.plan.harness.tools.search, result=step.tokens, name="search_tools")
        yield from self.exchange(search.tokens, None, None, stop_reason="tool_use")
        self.append_answer(0, 0, (search,))
        self._bring(step, found=True)

    def _bring(self, step: LoadTool, *, found: bool = False) -> None:
        if tool_loading.load(self.thread, step, self.world.plan.harness.tools, found=found):
            self.event("tools_delta", step.name)

    def reply(self, step: WordsReply) -> Process:
        """The model answers with words: the turn ends."""
        yield from self.exchange(step.text + step.thinking, step.took, step.first_token, stop_reason="end_turn")
        self.append_answer(step.thinking, step.text, ())
        now = self.world.now
        if self._turn is not None:
            self.world.recorder.meter.turns.append(now - self._turn)
            self._turn = None

    def round(self, step: Round) -> Process:
        """One round of tool calls, made in the harness's way."""
        calls, harness = step.calls, self.world.plan.harness
        style = step.style or harness.calls.style
        if style == "script" and calls:
            return self._script(step, harness.calls)
        if style == "one_per_round" and len(calls) > 1:
            return self._one_by_one(step)
        return self.one_round(step, calls, max([call.took for call in calls], default=0))

    def _one_by_one(self, step: Round) -> Process:
        for index, call in enumerate(step.calls):
            yield from self.one_round(step, (call,), call.took, first=index == 0)

    def _script(self, step: Round, style: CallStyle) -> Process:
        """A script makes the calls, and returns what it selects of their results."""
        calls = step.calls
        raw = sum(call.result for call in calls)
        script = ToolCall(
            tokens=style.script.draw(self._mechanisms),
            result=min(style.selected.draw(self._mechanisms), raw),
            name="script",
        )
        self.world.recorder.meter.kept_outside += raw - script.result
        yield from self.one_round(step, (script,), sum(call.took for call in calls))

    def one_round(self, step: Round, calls: tuple[ToolCall, ...], took: int, first: bool = True) -> Process:
        """A request, the tools that it calls, and their results."""
        thinking, text = (step.thinking, step.text) if first else (0, 0)
        output = thinking + text
        for call in calls:
            output += call.tokens
        yield from self.exchange(output, step.took, step.first_token, stop_reason="tool_use")
        self.append_answer(thinking, text, calls)
        if took:
            world = self.world
            began = world.now
            yield world.clock.timeout(took)
            name = (calls[0].name or "tool") if len(calls) == 1 else f"{len(calls)} tools"
            world.recorder.span(self.thread.lane, name, "tools", began, world.now)
        for call in calls:
            self.thread.append("user", "tool_result", call.result, call.name)

    def append_answer(self, thinking: int, text: int, calls: tuple[ToolCall, ...]) -> None:
        """Append what the model said."""
        thread = self.thread
        if thinking:
            thread.append("assistant", "thinking", thinking)
        if text:
            thread.append("assistant", "text", text)
        for call in calls:
            thread.append("assistant", "tool_use", call.tokens, call.name)

    def exchange(self, output: int, took: int | None, first_token: int | None, *, stop_reason: str) -> Exchange:
        """Send the conversation and wait for the answer; compaction and clearing come before, retries after."""
        world, thread = self.world, self.thread
        harness = world.plan.harness
        if harness.clearing is not None:
            freed = result_clearing.clear(thread, harness.clearing)
            if freed:
                world.recorder.meter.cleared += freed
                self.event("clearing", f"{freed} tokens")
        delay = 0
        inside = None
        if harness.compaction is not None and (self.wants_compaction or thread.tokens >= harness.compaction.trigger):
            self.wants_compaction = False
            delay, inside = yield from compaction.compact(self, harness.compaction)
            if inside is None:
                yield from self._read_again(harness.compaction)
        prompt = thread.request_prompt()
        self.peak = max(self.peak, prompt.tokens)
        attempt = 0
        again = False
        while True:
            attempt += 1
            trouble = None if world.plan.failures is None else fate(world.plan.failures, self._failures)
            if trouble is not None and trouble != "timed_out":
                yield from self._refused(trouble, attempt)
                continue
            now = world.now
            answer = world.endpoint.send(
                thread,
                prompt,
                now,
                self.service,
                output=output if trouble is None else output // 2,
                purpose="retry" if again else self.purpose,
                took=took,
                first_token=first_token,
                delay=delay,
                stop_reason=stop_reason if trouble is None else None,
                parent=thread.parent,
                following=self.compacted,
            )
            if answer.pending is not None:
                answer = yield from self._await(answer)
            if inside is not None:
                world.recorder.enlarge_last(*inside)
                inside, delay = None, 0
            if answer.rejected is not None:
                self.event("api_error", "400")
                raise GaveUp(answer.rejected)
            thread.parent = answer.request.id
            if self.sent is not None and not self.sent.triggered:
                self.sent.succeed(answer)
            if self.warmer is not None:
                self.warmer.sent(answer)
            if trouble is None:
                yield world.clock.timeout(max(0, answer.end - world.now))
                return answer
            prompt = yield from self._timed_out(answer, attempt, prompt)
            again = True

    def _read_again(self, rule: Compaction) -> Process:
        """Read what a summary left out, a piece a request, where there is room for it."""
        if self.thread.tokens + rule.reread >= rule.trigger:
            return
        for number in range(1, rule.rereads + 1):
            size = rule.reread * number // rule.rereads - rule.reread * (number - 1) // rule.rereads
            call = ToolCall(tokens=100, result=size, name="read_again")
            yield from self.exchange(call.tokens, None, None, stop_reason="tool_use")
            self.append_answer(0, 0, (call,))
            self.thread.append("user", "tool_result", call.result, call.name)

    def _await(self, answer: SimulatedAnswer) -> Exchange:
        """Wait for an answer that takes its own time, and tell whoever waits for its first token."""
        pending, fan_out = answer.pending, self.world.plan.harness.fan_out
        assert pending is not None
        if self.sent is not None and not self.sent.triggered and fan_out.wait == "first_token":
            yield pending.first
            now = self.world.now
            self.sent.succeed(answer._replace(first_token=now, end=now))
        yield pending.done
        assert pending.answer is not None
        return pending.answer

    def _refused(self, trouble: Fate, attempt: int) -> Process:
        rule = self.world.plan.failures
        assert rule is not None
        self.world.recorder.meter.refused += 1
        self.event("api_error", STATUS[trouble])
        if attempt >= rule.attempts:
            raise GaveUp(STATUS[trouble])
        pause = wait_before_retry(rule, trouble, attempt, self._failures)
        yield from self.wait(pause, f"after {STATUS[trouble]}", "failures")

    def _timed_out(self, answer: SimulatedAnswer, attempt: int, prompt: Prompt) -> Generator[simpy.Event, Any, Prompt]:
        rule = self.world.plan.failures
        assert rule is not None
        self.world.recorder.meter.timed_out += 1
        self.event("api_error", STATUS["timed_out"])
        # The stream stalls: the harness notices when its time is up, however far the answer came.
        yield from self.wait(max(rule.timeout, answer.end - self.world.now), "timeout", "failures")
        if attempt >= rule.attempts:
            raise GaveUp("timeout")
        yield from self.wait(wait_before_retry(rule, "timed_out", attempt, self._failures), "retry", "failures")
        if rule.retry == "new_prefix":
            self.rebuild_prefix(f"attempt {attempt + 1} of {answer.request.id}")
            return self.thread.request_prompt()
        return prompt

    def send(self, step: Send) -> Process:
        """A request written out in full."""
        yield from self.wait(step.pause, "pause", "pauses")
        world, thread = self.world, self.thread
        blocks = [
            block_of(
                piece.section,
                "text",
                piece.name,
                piece.tokens,
                role="user" if piece.section == "messages" else None,
                name=piece.name,
                message=0,
                part=index if piece.section == "messages" else None,
            )
            for index, piece in enumerate(step.pieces)
        ]
        markers = [
            Breakpoint(index, thread.ttl) for index, piece in enumerate(step.pieces) if piece.mark and thread.ttl
        ]
        prompt = Prompt.of(blocks, markers)
        self.peak = max(self.peak, prompt.tokens)
        now = world.now
        answer = world.endpoint.send(
            thread,
            prompt,
            now,
            self.service,
            output=step.output,
            purpose=step.purpose,
            took=step.took,
            first_token=step.first_token,
            stop_reason="end_turn",
        )
        if answer.pending is not None:
            answer = yield from self._await(answer)
        yield world.clock.timeout(max(0, answer.end - world.now))
        if answer.rejected is not None or (step.stop_unless_read and not answer.read):
            raise GaveUp("nothing was read from the cache")

    def restart(self, step: Restart) -> Process:
        """Close the harness and resume the history."""
        if self.warmer is not None:
            self.warmer.stop()
        yield from self.wait(step.pause, "closed", "pauses")
        if step.version is not None and step.version != self.thread.version:
            self.thread.version = step.version
            self.event("version_change", step.version)
        self.event("resume")
        if not step.same_prefix:
            self.rebuild_prefix(f"resumed at {self.world.now}")

    def rebuild_prefix(self, reason: str) -> None:
        """Let the first system block have other bytes of the same length (the first block, where there is no system
        prompt)."""
        thread = self.thread
        thread.flush()
        at = thread.tools_end if thread.system_end > thread.tools_end else 0
        old = thread.prompt[at]
        new = block_of(
            old.section, old.kind, f"{old.name}: {reason}", old.tokens or 0, name=old.name, message=old.message
        )
        thread.replace_front(at, [new], 1)

    def change_settings(self, step: ChangeSettings) -> None:
        """Send other parameters from now on."""
        thread = self.thread
        given = dict(thread.settings)
        for name, value in step.values:
            if value is None:
                given.pop(name, None)
            else:
                given[name] = value
            if name == "effort":
                self.event("effort_change", value)
        thread.settings = tuple(sorted(given.items()))
        if step.model is not None and step.model != thread.model:
            thread.model = step.model
            self.event("model_change", step.model)

    def wait(self, duration: int, name: str, stage: str) -> Process:
        """Let time pass."""
        if duration > 0:
            world = self.world
            began = world.now
            yield world.clock.timeout(duration)
            world.recorder.span(self.thread.lane, name, stage, began, world.now)

    def subagent(self, lane: str, thread: ConversationThread) -> Agent:
        """A child with a conversation of its own."""
        return Agent(self.world, lane, thread, "subagent")

    def fresh_thread(self, lane: str) -> ConversationThread:
        """The conversation of a subagent that starts without its parent's."""
        plan = self.world.plan
        return opened(self.world, lane, plan.subagent_layout or plan.layout, subagent=True)

    def event(self, kind: Any, detail: str | None = None) -> None:
        """Note that something happened before the next request."""
        self.world.recorder.event(kind, self.world.now, self.thread.lane, detail)


def opened(world: World, lane: str, layout: PromptLayout, *, subagent: bool = False) -> ConversationThread:
    """A conversation with its front, and its lane announced by the caller."""
    plan = world.plan
    ttl = plan.marks.subagent_ttl if subagent else plan.marks.ttl
    thread = ConversationThread(lane, plan.model, plan.marks.at, ttl)
    thread.settings = plan.settings
    needed = [step for step in plan.source.written if isinstance(step, LoadTool)] if layout is plan.layout else []
    thread.open(tool_loading.opening(layout, plan.harness.tools, needed))
    return thread
