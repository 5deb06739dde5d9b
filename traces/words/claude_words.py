"""What stands between the requests of a Claude Code log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agentsim.core.additions import Addition, AdditionKind, SinceParent
from agentsim.core.session import Request, Session
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.hostile_records import rows_of
from agentsim.traces.words.said_pieces import PieceMaker, strings

_SENT = ("content", "text", "snippet", "addedLines", "addedBlocks", "prompt", "file")
"""Where an attachment keeps what is put into the prompt."""
_FILES = ("file", "edited_text_file")
_objects = msgspec.json.Decoder(dict[str, Any])

Place = tuple[str, int]


class _TreeLine(msgspec.Struct):
    """A line of the tree, as far as it is part of prompts. ``message`` is set on a model's reply."""

    number: int
    uuid: str | None
    parent: str | None
    message: str | None
    pieces: list[Addition]
    summary: bool = False
    cleared: frozenset[str] = frozenset()


class _Log:
    """The lines of a session's files."""

    def __init__(self, session: Session, make: PieceMaker) -> None:
        self.by_uuid: dict[str, _TreeLine] = {}
        self.by_place: dict[Place, _TreeLine] = {}
        self.replies: dict[str, list[_TreeLine]] = {}
        self.children: dict[str, list[_TreeLine]] = {}
        self.in_order: dict[str, list[_TreeLine]] = {}
        self._make = make
        models = {(r.source.file, r.source.line): r.model for r in session.requests if r.source is not None}
        for path in session.files:
            for row in rows_of(path, _objects):
                try:
                    record = row.checked()
                except BadRow:
                    continue
                make.model = models.get((path, row.line), make.model)
                self._take(path, row.line, record)

    def _take(self, path: str, number: int, record: Mapping[str, Any]) -> None:
        kind = record.get("type")
        message = record.get("message")
        message = message if isinstance(message, Mapping) else {}
        pieces: list[Addition] = []
        cleared: frozenset[str] = frozenset()
        if kind == "assistant":
            pieces = self._replied(message.get("content"), number)
        elif kind == "user":
            summary = record.get("isCompactSummary") is True
            pieces = self._user(message.get("content"), number, summary, record.get("isMeta") is True)
        elif kind == "attachment" and isinstance(record.get("attachment"), Mapping):
            pieces = [self._attached(record["attachment"], number)]
        elif kind == "system":
            told = record.get("microcompactMetadata")
            ids = told.get("compactedToolIds") if isinstance(told, Mapping) else None
            cleared = frozenset(id for id in ids if isinstance(id, str)) if isinstance(ids, list) else cleared
        elif kind != "progress":
            return
        id = message.get("id") if kind == "assistant" else None
        said = _TreeLine(
            number,
            _word(record.get("uuid")),
            _word(record.get("parentUuid")) or _word(record.get("logicalParentUuid")),
            id if isinstance(id, str) else None,
            pieces,
            kind == "user" and record.get("isCompactSummary") is True,
            cleared,
        )
        self.by_place[path, number] = said
        self.in_order.setdefault(path, []).append(said)
        if said.uuid is not None and said.uuid not in self.by_uuid:
            self.by_uuid[said.uuid] = said
            if said.parent is not None:
                self.children.setdefault(said.parent, []).append(said)
            if said.message is not None:
                self.replies.setdefault(said.message, []).append(said)

    def _replied(self, content: object, number: int) -> list[Addition]:
        pieces: list[Addition] = []
        for block in content if isinstance(content, list) else []:
            kind = block.get("type") if isinstance(block, Mapping) else None
            if kind in ("thinking", "redacted_thinking"):
                pieces.append(self._make.thinking(str(block.get("thinking") or ""), number))
            elif kind == "tool_use":
                name, id = str(block.get("name") or ""), _word(block.get("id"))
                pieces.append(self._make.call(name, id, block.get("input"), number))
            elif kind is not None:
                text = "".join(strings(block))
                pieces.append(self._make.text("text", text, line=number, replied=True))
        return pieces

    def _user(self, content: object, number: int, summary: bool, meta: bool) -> list[Addition]:
        if isinstance(content, str):
            return [self._make.text(_who(summary, meta), content, line=number)]
        pieces: list[Addition] = []
        for block in content if isinstance(content, list) else []:
            kind = block.get("type") if isinstance(block, Mapping) else None
            if kind == "tool_result":
                pieces += self._make.result(_word(block.get("tool_use_id")), block.get("content"), number)
            elif kind == "image":
                source = block.get("source")
                pieces.append(self._make.image(source.get("data") if isinstance(source, Mapping) else None, number))
            elif kind is not None:
                text = "".join(strings(block))
                pieces.append(self._make.text(_who(summary, meta), text, line=number))
        return pieces

    def _attached(self, attachment: Mapping[str, Any], number: int) -> Addition:
        name = str(attachment.get("type") or "attachment")
        path = attachment.get("filename")
        text = "".join(strings({key: attachment[key] for key in attachment if key in _SENT}, _SENT))
        if name in _FILES and isinstance(path, str):
            return self._make.file(path, text, number, name=name)
        return self._make.text("harness", text, name=name, line=number)

    def growth(self, request: Request, parent: Request | None) -> SinceParent | None:
        """What a request's prompt grew by."""
        if request.source is None:
            return None
        here = self.by_place.get((request.source.file, request.source.line))
        if here is None:
            return None
        before = self.by_place.get((parent.source.file, parent.source.line)) if parent and parent.source else None
        path: list[_TreeLine] = []
        seen: set[str] = set()
        at, reached = here.parent, parent is None
        while at is not None and at not in seen and (said := self.by_uuid.get(at)) is not None:
            seen.add(at)
            if said.message is not None and said.message != here.message and said.message in self.replies:
                reached = before is not None and said.message == before.message
                if reached or parent is None:
                    break
            elif said.message is None:
                path.append(said)
            at = said.parent
        reply = self.replies.get(before.message or "", []) if before is not None else []
        if not reached and before is not None and parent is not None and parent.source is not None:
            low, high = before.number, here.number
            path = [
                said
                for said in self.in_order.get(parent.source.file, ())
                if low < said.number < high and said.message is None
            ]
        chosen = {id(said) for said in path}
        for said in reply:
            for child in self.children.get(said.uuid or "", ()):
                if child.message is None and child.number < here.number and id(child) not in chosen:
                    chosen.add(id(child))
                    path.append(child)
        path.sort(key=lambda said: said.number)
        start = next((index for index, said in enumerate(path) if said.summary), None)
        cleared: frozenset[str] = frozenset().union(*(said.cleared for said in path)) if path else frozenset()
        if start is not None:
            pieces = [piece for said in path[start:] for piece in said.pieces]
        else:
            pieces = [piece for said in [*reply, *path] for piece in said.pieces]
        return SinceParent(additions=tuple(pieces), anew=start is not None, cleared=cleared)


def _who(summary: bool, meta: bool) -> AdditionKind:
    return "summary" if summary else "harness" if meta else "user"


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def growths(session: Session, content: bool = False) -> dict[str, SinceParent]:
    """By request what its prompt grew by. Raises OSError when a file cannot be read."""
    log = _Log(session, PieceMaker(content))
    by_id = {request.id: request for request in session.requests}
    found: dict[str, SinceParent] = {}
    for request in session.requests:
        growth = log.growth(request, by_id.get(request.parent or ""))
        if growth is not None:
            found[request.id] = growth
    return found
