"""What stands between the calls of a Codex rollout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agentsim.core.additions import Addition, AdditionKind, SinceParent
from agentsim.core.session import Session
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.hostile_records import rows_of
from agentsim.traces.words.said_pieces import PieceMaker, strings

_REPLIES = frozenset({"reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_objects = msgspec.json.Decoder(dict[str, Any])


class _Waiting:
    """What was said since the last call: what it answered, and what came before that."""

    def __init__(self) -> None:
        self.before: list[Addition] = []
        self.after: list[Addition] = []
        self.anew = False
        self.replying = False

    def take(self, pieces: list[Addition], reply: bool) -> None:
        self.replying |= reply
        (self.after if self.replying else self.before).extend(pieces)

    def replace(self, pieces: list[Addition]) -> None:
        self.before, self.after, self.anew, self.replying = pieces, [], True, False

    def called(self) -> SinceParent:
        growth = SinceParent(additions=tuple(self.before), anew=self.anew)
        self.before, self.after, self.anew, self.replying = self.after, [], False, False
        return growth


def _item(item: Mapping[str, Any], make: PieceMaker, line: int) -> list[Addition]:
    kind, content = item.get("type"), item.get("content")
    if kind == "message":
        role, text = item.get("role"), "".join(strings(content))
        images = [
            make.image(part.get("image_url"), line)
            for part in (content if isinstance(content, list) else [])
            if isinstance(part, Mapping) and part.get("type") == "input_image"
        ]
        if images:
            text = "".join(strings([part for part in content if part.get("type") != "input_image"]))  # type: ignore[union-attr]
        said: AdditionKind = "text" if role == "assistant" else "user"
        if role in ("developer", "system") or (role == "user" and text.lstrip().startswith(("<", "# AGENTS.md"))):
            said = "harness"
        return [make.text(said, text, line=line, replied=role == "assistant"), *images]
    if kind == "reasoning":
        return [make.thinking("".join(strings(item.get("summary"))), line)]
    if kind in ("function_call", "custom_tool_call", "local_shell_call", "web_search_call"):
        given = next((item[key] for key in ("arguments", "input", "action") if key in item), None)
        id = item.get("call_id")
        return [make.call(str(item.get("name") or kind), id if isinstance(id, str) else None, given, line)]
    if kind in ("function_call_output", "custom_tool_call_output"):
        id = item.get("call_id")
        return make.result(id if isinstance(id, str) else None, item.get("output"), line)
    if kind in ("compaction", "compaction_summary", "context_compaction"):
        return [make.text("summary", "".join(strings(item)), line=line)]
    return []


def _file(path: str, calls: Mapping[int, str], make: PieceMaker) -> dict[str, SinceParent]:
    found: dict[str, SinceParent] = {}
    waiting = _Waiting()
    for row in rows_of(path, _objects):
        try:
            record = row.checked()
        except BadRow:
            continue
        kind, payload = record.get("type"), record.get("payload")
        if not isinstance(payload, Mapping):
            continue
        if kind == "session_meta" and not found and not waiting.before:
            told = payload.get("base_instructions") or payload.get("instructions")
            text = "".join(strings(told))
            if text:
                waiting.take([make.text("system", text, line=row.line)], False)
        elif kind == "response_item":
            reply = payload.get("type") in _REPLIES or payload.get("role") == "assistant"
            waiting.take(_item(payload, make, row.line), reply)
        elif kind == "compacted":
            history = payload.get("replacement_history")
            pieces = [
                piece
                for item in (history if isinstance(history, list) else [])
                if isinstance(item, Mapping)
                for piece in _item(item, make, row.line)
            ]
            message = payload.get("message")
            if isinstance(message, str) and message:
                pieces.append(make.text("summary", message, line=row.line))
            waiting.replace(pieces)
        if row.line in calls:
            found[calls[row.line]] = waiting.called()
    return found


def growths(session: Session, content: bool = False) -> dict[str, SinceParent]:
    """By request what its prompt grew by. Raises OSError when a file cannot be read."""
    places: dict[str, dict[int, str]] = {}
    models: dict[str, str] = {}
    for request in session.requests:
        if request.source is not None:
            places.setdefault(request.source.file, {})[request.source.line] = request.id
            models.setdefault(request.source.file, request.model)
    found: dict[str, SinceParent] = {}
    for path, calls in places.items():
        make = PieceMaker(content)
        make.model = models[path]
        found.update(_file(path, calls, make))
    return found
