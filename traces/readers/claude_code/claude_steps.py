"""From one call to the next: what a call grew from, what was appended, and what happened in between.

A log is a tree: every line names its parent. These look-ups walk it from a call back to the call before it, on the
bytes of the file, for that call alone. They cost microseconds to milliseconds each, so a report asks only for the calls
that need explaining, and a replay for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Self

import msgspec

from agentsim.core.session import EventKind
from agentsim.traces.file_views import FileView
from agentsim.traces.hostile_records import split_objects
from agentsim.traces.log_lines import MOST_UNPACKED, is_packed, open_log
from agentsim.traces.readers.claude_code.announced_names import announced
from agentsim.traces.readers.claude_code.claude_calls import ClaudeCall
from agentsim.traces.readers.claude_code.claude_conversation import ClaudeConversation
from agentsim.traces.readers.claude_code.claude_lines import SYNTHETIC_MODEL, BlockHead, Node, decode_input, decode_node
from agentsim.traces.told_names import instruction_file, listed_names, told_name, told_text

_KEPT_BYTES = 16 * 2**20
_MAX_STEPS = 5000
_MAX_REGION_LINES = 5000
_IMAGE = (b'"type":"image"', b'"type": "image"')
_THINKING = ("thinking", "redacted_thinking")

_SYSTEM_EVENTS: dict[str, EventKind] = {
    "compact_boundary": "compaction",
    "microcompact_boundary": "clearing",
    "api_error": "api_error",
}
_ATTACHMENT_EVENTS: dict[str, EventKind] = {
    "deferred_tools_delta": "tools_delta",
    "mcp_instructions_delta": "instructions_delta",
    "skill_listing": "skills_delta",
    "agent_listing_delta": "skills_delta",
    "hook_additional_context": "hook_output",
    "command_permissions": "skill_use",
    "nested_memory": "instructions_edit",
}
_EDITORS = (b'"Edit"', b'"Write"', b'"MultiEdit"')
_SKILL = b'"Skill"'


class CallStep:
    """The way from a call back to its parent.

    ``parent`` is ``None`` for the first call of a conversation. ``assumed`` is True when the log's tree is broken there
    and the call before it in the file was taken instead. ``start`` is the stamp of the last thing that was added before
    the call was sent. ``appended`` counts the content blocks, thinking left out, since the parent's prompt; ``None``
    when the log cannot tell. ``events`` are (kind, stamp, detail) in the order they happened. ``settled`` is True when
    nothing that is appended to the log later can change any of this. ``images`` says that the conversation holds some.
    ``mode`` and ``folder`` are those that the harness worked in, where a line on the way tells them.
    """

    __slots__ = ("appended", "assumed", "events", "folder", "images", "mode", "parent", "settled", "start")

    def __init__(self) -> None:
        self.parent: ClaudeCall | None = None
        self.assumed = False
        self.start: str | None = None
        self.appended: int | None = None
        self.events: list[tuple[EventKind, str | None, str | None]] = []
        self.settled = True
        self.images = False
        self.mode: str | None = None
        self.folder: str | None = None


class Tree:
    """The lines of a unit as a tree. Opens its files when first asked; close it, or use it as a context manager.

    ``whole`` says that all calls will be looked up: small files are then kept in memory until it is closed, as each
    look-up is several reads else.
    """

    def __init__(self, unit: ClaudeConversation, *, whole: bool = False) -> None:
        self._unit = unit
        self._room = _KEPT_BYTES if whole else 0
        self._views: dict[int, bytes | FileView] = dict(unit.texts)
        self._before: dict[int, ClaudeCall | None] | None = None
        self._first_image: dict[int, tuple[int, int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        for view in self._views.values():
            if isinstance(view, FileView):
                view.close()
        self._views = {}

    def before(self, call: ClaudeCall) -> ClaudeCall | None:
        """The call of the same lane that stands before this one in file order."""
        if self._before is None:
            last: dict[str, ClaudeCall] = {}
            self._before = {}
            for other in self._unit.calls:
                self._before[other.index] = last.get(other.lane)
                last[other.lane] = other
        return self._before[call.index]

    def _has_images(self, call: ClaudeCall) -> bool:
        """Whether an image stands in front of a call in its file: sent by a person, or the result of a tool."""
        searched, first = self._first_image.get(call.file, (0, -1))
        if first < 0 and call.position > searched:
            view = self._view(call.file)
            found = [at for needle in _IMAGE if (at := view.find(needle, searched, call.position)) >= 0]
            first = min(found, default=-1)
            self._first_image[call.file] = (call.position, first)
        return 0 <= first < call.position

    def step(self, call: ClaudeCall, *, count: bool = True) -> CallStep:
        """Walk from a call to its parent. Never raises on what a log may hold. ``count=False`` saves the look at all
        lines between the two, without which ``appended`` stays unknown."""
        step = CallStep()
        step.images = self._has_images(call)
        if call.agent_copy:
            step.parent = self.before(call)
            step.assumed = step.parent is not None
            return step
        path: list[Node] = []
        uuids: set[str] = set()
        wanted = call.parent_uuid
        file, position = call.file, call.position
        while wanted is not None and wanted not in uuids and len(path) < _MAX_STEPS:
            found = self._find(wanted, file, position)
            if found is None:
                step.parent = self.before(call)
                step.assumed, step.settled = True, False
                break
            before = (file, position)
            node, file, position, exact = found
            uuids.add(wanted)
            parent = self._call_of(node)
            # A line found further on, or of a reply whose counters are still to come, may be read otherwise later.
            early = exact and file == before[0] and position < before[1]
            step.settled &= early and (parent is not None or not _may_be_billed(node))
            if parent is not None and parent is not call:
                step.parent = parent
                break
            if parent is None:
                path.append(node)
            wanted = node.parentUuid or node.logicalParentUuid
        path.reverse()
        self._read_path(step, path)
        if count and step.parent is not None:
            step.appended = self._appended(step, step.parent, call, uuids)
        return step

    def _read_path(self, step: CallStep, path: list[Node]) -> None:
        for node in path:
            kind: EventKind | None = None
            if node.type == "system":
                kind = _SYSTEM_EVENTS.get(node.subtype or "")
            elif node.type == "attachment":
                kind = _ATTACHMENT_EVENTS.get((node.attachment.type if node.attachment else None) or "")
            elif node.type == "assistant":
                kind = "limit"
            elif node.type == "user":
                if node.isCompactSummary:
                    kind = "compaction"
                elif not node.isMeta and _is_typed(node):
                    kind = "prompt_submitted"
            if kind is not None:
                told = node.compactMetadata
                about = told.trigger if told is not None else announced(node.attachment)
                step.events.append((kind, node.timestamp, about))
            elif node.attachment is not None and (edited := instruction_file(node.attachment.filename)):
                step.events.append(("instructions_edit", node.timestamp, edited))
            if node.permissionMode:
                step.mode = told_text(node.permissionMode) or step.mode
            if node.cwd:
                step.folder = told_text(node.cwd) or step.folder
            sent = node.type in ("user", "attachment") and node.timestamp is not None
            if sent and (step.start is None or (node.timestamp or "") > step.start):
                step.start = node.timestamp

    def _call_of(self, node: Node) -> ClaudeCall | None:
        if not _may_be_billed(node) or node.message is None:
            return None
        if node.message.id is not None:
            return self._unit.by_key.get((node.message.id, node.requestId or ""))
        return self._unit.by_key.get((node.requestId or "", node.uuid or ""))

    def _find(self, uuid: str, file: int, position: int) -> tuple[Node, int, int, bool] | None:
        """The line with this uuid: before the position in its own file, then anywhere, then in the other files; and
        whether it is written as the tool writes it."""
        quoted = b'"' + uuid.encode("utf-8", "surrogatepass") + b'"'
        # As the tool writes it; then with any space, as another program may have saved it again.
        for needle, exact in ((b'"uuid":' + quoted, True), (quoted, False)):
            view = self._view(file)
            found = self._match(view, needle, uuid, 0, position) or self._match(view, needle, uuid, position, len(view))
            if found is not None:
                return found[0], file, found[1], exact
            for other in range(len(self._unit.files)):
                if other != file:
                    view = self._view(other)
                    found = self._match(view, needle, uuid, 0, len(view))
                    if found is not None:
                        return found[0], other, found[1], exact
        return None

    def _match(self, view: bytes | FileView, needle: bytes, uuid: str, low: int, high: int) -> tuple[Node, int] | None:
        at = high
        while (at := view.rfind(needle, low, at)) >= 0:
            begin = view.rfind(b"\n", 0, at) + 1
            for node in _decode(view[begin : _line_end(view, at)]):
                if node.uuid == uuid:
                    return node, begin
        return None

    def _view(self, file: int) -> bytes | FileView:
        view = self._views.get(file)
        if view is None:
            path = self._unit.files[file]
            if is_packed(path):
                with open_log(path) as unpacked:
                    view = unpacked.read(MOST_UNPACKED)
            else:
                view = FileView(path)
                if len(view) <= self._room:
                    text = view[0 : len(view)]
                    view.close()
                    view = text
                    self._room -= len(text)
            self._views[file] = view
        return view

    def _appended(self, step: CallStep, parent: ClaudeCall, call: ClaudeCall, path: set[str]) -> int | None:
        """Content blocks between two prompts: the parent's reply and all that was added to it before this call. The
        tools that it waited for become events of the step."""
        if parent.file != call.file or parent.position > call.position:
            return None
        count = 0
        replies: set[str | None] = set()
        tools: list[str | None] = []
        for node in self._region(call.file, parent.position, call.position):
            if node is None:
                return None
            content = node.message.content if node.message is not None else None
            if node.type == "assistant":
                if self._call_of(node) is parent:
                    replies.add(node.uuid)
                    count += _countable(content)
                    for block in content or () if isinstance(content, list) else ():
                        if block.type == "tool_use":
                            tools.append(told_name(block.name))
                            _add_tool(step, block, node.timestamp)
            elif node.type == "user" and (node.uuid in path or node.parentUuid in replies):
                count += _countable(content)
        if tools:
            step.events.append(("tool_results", None, listed_names(tools)))
        return count

    def _region(self, file: int, low: int, high: int) -> Iterator[Node | None]:
        view = self._view(file)
        at = low
        for _ in range(_MAX_REGION_LINES):
            if at >= high:
                return
            end = _line_end(view, at)
            yield from _decode(view[at:end])
            at = end + 1
        yield None


def _may_be_billed(node: Node) -> bool:
    """Whether it is a line of a reply, which counts once its counters are there."""
    return node.type == "assistant" and node.message is not None and node.message.model != SYNTHETIC_MODEL


def _line_end(view: bytes | FileView, at: int) -> int:
    end = view.find(b"\n", at)
    return len(view) if end < 0 else end


def _decode(text: bytes) -> list[Node]:
    try:
        return [decode_node(text)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_pieces(text)


def _decode_pieces(text: bytes) -> list[Node]:
    """The nodes of a line that is not one well-formed node: objects run together, or content of an unknown shape."""
    nodes: list[Node] = []
    for piece in split_objects(text.strip()):
        try:
            nodes.append(decode_node(piece))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    return nodes


def _add_tool(step: CallStep, block: BlockHead, stamp: str | None) -> None:
    """Calls after which the prompt has other instructions: a skill that was loaded, a file of instructions edited."""
    name = bytes(block.name)
    if name != _SKILL and name not in _EDITORS:
        return
    try:
        given = decode_input(block.input)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    if name == _SKILL:
        step.events = [event for event in step.events if event[0] != "skill_use"]
        step.events.append(("skill_use", stamp, told_name(given.skill)))
    elif (edited := instruction_file(given.file_path)) is not None:
        step.events.append(("instructions_edit", stamp, edited))


def _countable(content: list[BlockHead] | str | None) -> int:
    if content is None:
        return 0
    if isinstance(content, str):
        return 1
    return sum(1 for block in content if block.type not in _THINKING)


def _is_typed(node: Node) -> bool:
    """A person's prompt, and not a tool's result."""
    content = node.message.content if node.message is not None else None
    if isinstance(content, str):
        return True
    return content is not None and all(block.type != "tool_result" for block in content)
