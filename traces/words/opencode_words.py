"""What stands between the requests of an OpenCode session that was exported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agentsim.core.additions import Addition, SinceParent
from agentsim.core.session import Session
from agentsim.traces.log_lines import MOST_UNPACKED, open_log
from agentsim.traces.words.said_pieces import PieceMaker, strings


def _part(part: Mapping[str, Any], role: object, make: PieceMaker, line: int) -> tuple[list[Addition], list[Addition]]:
    """What a part is to the prompts behind it: of a reply, and of what came to it."""
    kind = part.get("type")
    if kind == "text":
        text, replied = str(part.get("text") or ""), role == "assistant"
        piece = make.text("text" if replied else "user", text, line=line, replied=replied)
        return ([piece], []) if replied else ([], [piece])
    if kind == "reasoning":
        return [make.thinking(str(part.get("text") or ""), line)], []
    if kind == "subtask":
        return [], [make.text("user", str(part.get("prompt") or ""), line=line)]
    if kind == "file":
        name = part.get("filename")
        return [], [make.file(name if isinstance(name, str) else None, "", line)]
    state = part.get("state")
    if kind != "tool" or not isinstance(state, Mapping):
        return [], []
    id, name = part.get("callID"), str(part.get("tool") or "")
    id = id if isinstance(id, str) else None
    call = make.call(name, id, state.get("input"), line)
    return [call], make.result(id, state.get("output") or state.get("error") or "", line)


def _file(path: str, calls: Mapping[int, list[str]], make: PieceMaker) -> dict[str, SinceParent]:
    with open_log(path) as file:
        data = file.read(MOST_UNPACKED)
    try:
        export = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    messages = export.get("messages") if isinstance(export, Mapping) else None
    found: dict[str, SinceParent] = {}
    waiting: list[Addition] = []
    anew = False
    for place, message in enumerate(messages if isinstance(messages, list) else [], 1):
        if not isinstance(message, Mapping) or not isinstance(message.get("parts"), list):
            continue
        info = message.get("info")
        info = info if isinstance(info, Mapping) else {}
        waiting_calls = list(calls.get(place, ()))
        if waiting_calls:
            found[waiting_calls.pop(0)] = SinceParent(additions=tuple(waiting), anew=anew)
            waiting, anew = [], False
        summary = info.get("summary") is True
        for part in message["parts"]:
            if not isinstance(part, Mapping):
                continue
            said, came = _part(part, info.get("role"), make, place)
            if summary:
                text = "".join(strings(part.get("text"))) if part.get("type") == "text" else ""
                said, came = ([make.text("summary", text, line=place)] if text else []), []
            waiting += [*said, *came]
            if part.get("type") == "step-finish" and waiting_calls:
                found[waiting_calls.pop(0)] = SinceParent(additions=tuple(waiting))
                waiting = []
        anew |= summary
    return found


def growths(session: Session, content: bool = False) -> dict[str, SinceParent]:
    """By request what its prompt grew by. Raises OSError when a file cannot be read."""
    places: dict[str, dict[int, list[str]]] = {}
    for request in session.requests:
        if request.source is not None and request.source.file.endswith(".json"):
            places.setdefault(request.source.file, {}).setdefault(request.source.line, []).append(request.id)
    found: dict[str, SinceParent] = {}
    for path, calls in places.items():
        found.update(_file(path, calls, PieceMaker(content)))
    return found
