"""Logs that are being written: what was read of them is kept, and only what was appended is read.

The sessions are those that reading everything anew would give. A conversation of several files is read anew.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentsim.core.session import Request
from agentsim.traces.growing_file import GrowingFile, GrowingLogs
from agentsim.traces.log_lines import is_packed
from agentsim.traces.readers.claude_code.claude_calls import ClaudeCall
from agentsim.traces.readers.claude_code.claude_conversation import MAX_PROBLEMS, ClaudeConversation
from agentsim.traces.readers.claude_code.claude_requests import request_of
from agentsim.traces.readers.claude_code.claude_scan import is_in_order, scan, scan_blocks
from agentsim.traces.readers.claude_code.claude_steps import CallStep, Tree


class SettledCalls:
    """What was found out about the calls of a unit, as far as nothing appended later can change it."""

    def __init__(self) -> None:
        self._steps: dict[int, CallStep] = {}
        self._requests: dict[int, tuple[tuple[object, ...], Request]] = {}

    def step(self, tree: Tree, call: ClaudeCall) -> CallStep:
        """As :meth:`agentsim.traces.readers.claude_code.claude_steps.Tree.step`."""
        step = self._steps.get(call.index)
        if step is None:
            step = tree.step(call)
            if step.settled:
                self._steps[call.index] = step
        return step

    def request(
        self,
        unit: ClaudeConversation,
        call: ClaudeCall,
        step: CallStep,
        lane: str,
        counted: bool,
        names: Mapping[tuple[str, str], str],
    ) -> Request:
        """As :func:`agentsim.traces.readers.claude_code.claude_requests.request_of`."""
        parent = None if step.parent is None else names.get(step.parent.key)
        name = names.get(call.key)
        # What may still change of a call, and what is not told by the call.
        said = (call.model, call.end, call.stop_reason, call.usage, call.diagnostics)
        key = (*said, step, lane, counted, name, parent)
        before = self._requests.get(call.index)
        if before is not None and before[0] == key:
            return before[1]
        request = request_of(unit, call, step, lane, counted, names)
        self._requests[call.index] = (key, request)
        return request


class GrowingClaudeLogs:
    """Logs of Claude Code that are being written."""

    def __init__(self) -> None:
        self._logs = GrowingLogs(_Log, lambda log, chunks, before: scan_blocks(log.unit, 0, chunks, before))

    def unit(self, files: tuple[str, ...]) -> ClaudeConversation:
        """As :func:`agentsim.traces.readers.claude_code.claude_scan.scan`."""
        path = files[0]
        if len(files) > 1 or is_packed(path):
            return scan(files)
        file, log = self._logs.log(path)
        unit = log.now(file)
        return unit if is_in_order(unit) else scan(files)

    def known(self, unit: ClaudeConversation) -> SettledCalls | None:
        """What is known about the calls of a unit that :meth:`unit` gave."""
        log = self._logs.kept(unit.files[0])
        return log.known if log is not None and log.unit.calls is unit.calls else None


class _Log:
    """What the whole lines of a file gave."""

    def __init__(self, path: str) -> None:
        self.unit = ClaudeConversation((path,))
        self.known = SettledCalls()

    def now(self, file: GrowingFile) -> ClaudeConversation:
        """The unit as the file is now, with its last line however far that is written."""
        if not file.can_grow:
            return scan(self.unit.files)
        rest = file.last_line()
        if not rest:
            return self.unit
        last = ClaudeConversation(self.unit.files)
        scan_blocks(last, 0, rest, file.lines)
        if last.calls:
            # A whole line that only lacks its newline. It may change calls, which could not be undone.
            return scan(self.unit.files)
        last.calls, last.by_key = self.unit.calls, self.unit.by_key
        for name in ("rows", "duplicate", "not_billable"):
            setattr(last, name, getattr(last, name) + getattr(self.unit, name))
        last.session = self.unit.session
        last.first_stamp, last.last_stamp = self.unit.first_stamp, self.unit.last_stamp
        for reason, count in self.unit.skipped.items():
            last.skipped[reason] = last.skipped.get(reason, 0) + count
        last.problems = (self.unit.problems + last.problems)[:MAX_PROBLEMS]
        return last
