"""What stands between the requests of a Pi session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agentsim.core.additions import Addition, SinceParent
from agentsim.core.session import Request, Session
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.hostile_records import rows_of
from agentsim.traces.words.said_pieces import PieceMaker, strings

_objects = msgspec.json.Decoder(dict[str, Any])


class _TreeEntry(msgspec.Struct):
    """An entry. ``before`` is the one that it follows, ``kept`` the first that a compaction left."""

    line: int
    before: _TreeEntry | None
    pieces: list[Addition]
    id: str | None = None
    anew: bool = False
    kept: str | None = None


def _pieces(entry: Mapping[str, Any], make: PieceMaker, line: int) -> list[Addition]:
    kind, message = entry.get("type"), entry.get("message")
    if kind == "compaction":
        return [make.text("summary", str(entry.get("summary") or ""), line=line)]
    if kind == "custom_message":
        return [make.text("harness", "".join(strings(entry.get("content"))), line=line)]
    if kind != "message" or not isinstance(message, Mapping):
        return []
    role, content = message.get("role"), message.get("content")
    if role in ("toolResult", "tool"):
        id, name = message.get("toolCallId"), message.get("toolName")
        return make.result(id if isinstance(id, str) else None, content, line, name if isinstance(name, str) else None)
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    pieces: list[Addition] = []
    for block in blocks:
        said = block.get("type") if isinstance(block, Mapping) else None
        if said == "thinking":
            pieces.append(make.thinking(str(block.get("thinking") or ""), line))
        elif said == "toolCall":
            id = block.get("id")
            name = str(block.get("name") or "")
            pieces.append(make.call(name, id if isinstance(id, str) else None, block.get("arguments"), line))
        elif said == "image":
            pieces.append(make.image(block.get("data") if isinstance(block.get("data"), str) else None, line))
        elif said is not None:
            text, replied = "".join(strings(block.get("text"))), role == "assistant"
            pieces.append(make.text("text" if replied else "user", text, line=line, replied=replied))
    return pieces


def _read(path: str, models: Mapping[int, str], make: PieceMaker) -> dict[int, _TreeEntry]:
    by_id: dict[str, _TreeEntry] = {}
    by_line: dict[int, _TreeEntry] = {}
    last: _TreeEntry | None = None
    for row in rows_of(path, _objects):
        try:
            entry = row.checked()
        except BadRow:
            continue
        make.model = models.get(row.line, make.model)
        before = last
        if "parentId" in entry and entry.get("type") != "session":
            parent = entry["parentId"]
            before = by_id.get(parent, last) if isinstance(parent, str) else None
        id, kept = entry.get("id"), entry.get("firstKeptEntryId")
        last = _TreeEntry(
            row.line,
            before,
            _pieces(entry, make, row.line),
            id if isinstance(id, str) else None,
            entry.get("type") == "compaction",
            kept if isinstance(kept, str) else None,
        )
        by_line[row.line] = last
        if last.id is not None:
            by_id[last.id] = last
    return by_line


def _growth(request: Request, parent: Request | None, lines: Mapping[int, _TreeEntry]) -> SinceParent | None:
    here = lines.get(request.source.line) if request.source is not None else None
    if here is None:
        return None
    until = parent.source.line if parent is not None and parent.source is not None else None
    path: list[_TreeEntry] = []
    told = here.before
    anew: _TreeEntry | None = None
    while told is not None:
        if anew is None and told.line == until:
            path.append(told)
            break
        path.append(told)
        if anew is None and told.anew:
            anew = told
            if told.kept is None:
                break
        if anew is not None and told.id == anew.kept:
            break
        told = told.before
    path.reverse()
    if anew is not None:
        rest = [piece for one in path if one is not anew for piece in one.pieces]
        return SinceParent(additions=(*anew.pieces, *rest), anew=True)
    return SinceParent(additions=tuple(piece for one in path for piece in one.pieces))


def growths(session: Session, content: bool = False) -> dict[str, SinceParent]:
    """By request what its prompt grew by. Raises OSError when a file cannot be read."""
    by_id = {request.id: request for request in session.requests}
    models: dict[str, dict[int, str]] = {}
    for request in session.requests:
        if request.source is not None:
            models.setdefault(request.source.file, {})[request.source.line] = request.model
    logs = {path: _read(path, of_lines, PieceMaker(content)) for path, of_lines in models.items()}
    found: dict[str, SinceParent] = {}
    for request in session.requests:
        if request.source is None:
            continue
        growth = _growth(request, by_id.get(request.parent or ""), logs[request.source.file])
        if growth is not None:
            found[request.id] = growth
    return found
