"""What is kept of a lived session: the log that a person would have, in several forms.

Nothing that is hidden stands in any: no call that nobody wrote down, no host, no entry, no diagnosis.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentsim.core.prompt import Prompt
from agentsim.core.session import Request, Session
from agentsim.traces.readers.agentsim1.trace_writer import write
from benchmarks.whatif.backtest_sessions import LivedSession, logged
from benchmarks.whatif.log_words import stamp, words

Json = dict[str, Any]
Requests = tuple[Request, ...]
VERSION = "2.1.240"
UNWRITTEN = frozenset({"helper", "summary", "keep_alive", "probe"})
"""Purposes of requests that Claude Code does not write down."""


def in_claude_code(lived: LivedSession) -> Requests:
    """The requests that a log of Claude Code holds."""
    return tuple(r for r in logged(lived) if r.purpose not in UNWRITTEN and r.stop_reason is not None)


def in_trace(lived: LivedSession) -> Requests:
    """The requests that a trace holds."""
    return logged(lived)


def claude_code_log(lived: LivedSession, path: Path) -> None:
    """Write a session file of Claude Code."""
    _ClaudeLines(lived).write(path)


def counters(lived: LivedSession, path: Path) -> None:
    """Write counters, times and which request grew from which."""
    _write(lived, path, "usage", parents=True)


def bare_counters(lived: LivedSession, path: Path) -> None:
    """Write counters and times alone."""
    _write(lived, path, "usage", parents=False)


def bodies(lived: LivedSession, path: Path) -> None:
    """Write whole prompts with their counters."""
    _write(lived, path, "full", parents=True)


def _write(lived: LivedSession, path: Path, known: str, *, parents: bool) -> None:
    requests = in_trace(lived)
    ids = {request.id for request in requests}
    kept = tuple(
        msgspec.structs.replace(
            request,
            prompt=request.prompt if known == "full" else None,
            settings=request.settings if known == "full" else (),
            parent=request.parent if parents and request.parent in ids else None,
            host=None,
            harness_version=VERSION,
        )
        for request in requests
    )
    events = tuple(event for event in lived.session.events if event.before in ids)
    session: Session = msgspec.structs.replace(
        lived.session, requests=kept, events=events, completeness=known, format="agentsim/1", harness="claude-code"
    )
    write(session, path)


class _ClaudeLines:
    """Lines as Claude Code writes them: what was said, and counters on each line of a reply."""

    def __init__(self, lived: LivedSession) -> None:
        self.lived = lived
        self.requests = in_claude_code(lived)
        self.lines: list[str] = []
        self.count = 0
        self.compacted = {event.before for event in lived.session.events if event.kind == "compaction"}
        self.following: dict[str, Request] = {}
        for request in lived.session.requests:
            if request.parent is not None:
                self.following.setdefault(request.parent, request)

    def write(self, path: Path) -> None:
        """All lines."""
        leaf: dict[str, str] = {}
        prompts = {request.id: request for request in self.lived.session.requests}
        for request in self.requests:
            written = _written_parent(request, prompts, leaf)
            parent = leaf.get(written) if written in prompts and prompts[written].lane == request.lane else None
            before = prompts.get(request.parent or "")
            while before is not None and before.purpose == "summary":
                before = prompts.get(before.parent or "")
            compacted = request.id in self.compacted
            parent = self._said(request, before, parent, compacted)
            leaf[request.id] = self._reply(request, parent)
        path.write_text("".join(line + "\n" for line in self.lines), encoding="utf-8")

    def _said(self, request: Request, before: Request | None, parent: str | None, compacted: bool) -> str | None:
        """What the user or the tools said between two requests."""
        prompt = request.prompt
        assert prompt is not None
        at = (request.start or 0) - 10_000_000
        if compacted:
            boundary = {"subtype": "compact_boundary", "content": "Conversation compacted", "logicalParentUuid": parent}
            parent = self._add(request, "system", at, None, **boundary, compactMetadata={"trigger": "auto"})
        old = before.prompt if before is not None else None
        start = prompt.section_end("system") if old is None or compacted else old.common_length(prompt)
        first = True
        for block in [prompt[place] for place in range(start, len(prompt))]:
            if block.role != "user":
                continue
            text = words(block.tokens or 0)
            if block.kind == "tool_result":
                content = [{"type": "tool_result", "tool_use_id": f"toolu_{self.count}", "content": text}]
                parent = self._add(request, "user", at, parent, message={"role": "user", "content": content})
            else:
                extra: Json = {"isCompactSummary": True} if compacted and first else {}
                parent = self._add(request, "user", at, parent, message={"role": "user", "content": text}, **extra)
            first = False
        return parent

    def _reply(self, request: Request, parent: str | None) -> str:
        usage = request.usage
        assert usage is not None
        short, long = short_and_long(request)
        counters = {
            "input_tokens": usage.fresh,
            "cache_creation_input_tokens": short + long,
            "cache_read_input_tokens": usage.read,
            "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
            "service_tier": "standard",
        }
        blocks = self._answer(request)
        for number, block in enumerate(blocks):
            last = number == len(blocks) - 1
            message = {
                "model": request.model,
                "id": f"msg_{request.id}",
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": request.stop_reason if last else None,
                "usage": counters | {"output_tokens": usage.output if last else 1},
            }
            parent = self._add(
                request, "assistant", request.end or 0, parent, message=message, requestId=f"req_{request.id}"
            )
        assert parent is not None
        return parent

    def _answer(self, request: Request) -> list[Json]:
        found: list[Json] = []
        next_one = self.following.get(request.id)
        if next_one is not None and next_one.prompt is not None and request.prompt is not None:
            for place in range(len(request.prompt), len(next_one.prompt)):
                block = next_one.prompt[place]
                if block.role != "assistant":
                    break
                found.append(_spoken(block.kind, block.tokens or 0, f"{request.id}_{place}"))
        return found or [{"type": "text", "text": "Done."}]

    def _add(self, request: Request, kind: str, at: int, parent: str | None, **fields: Any) -> str:
        self.count += 1
        uuid = f"{self.lived.session.id}-{self.count:06d}"
        record: Json = {
            "parentUuid": parent,
            "isSidechain": request.lane.count("/") > 0 or "child" in request.lane,
            "type": kind,
            **fields,
            "uuid": uuid,
            "timestamp": stamp(at),
            "userType": "external",
            "cwd": "/home/user/project",
            "sessionId": self.lived.session.id,
            "version": VERSION,
        }
        if record["isSidechain"]:
            record["agentId"] = request.lane.replace("/", "-")
        self.lines.append(json.dumps(record, separators=(",", ":")))
        return uuid


def short_and_long(request: Request) -> tuple[int, int]:
    """Tokens that were written for five minutes, and for an hour."""
    assert request.usage is not None
    return request.usage.write_short or 0, request.usage.write_long or 0


def _written_parent(request: Request, all_of_them: dict[str, Request], leaf: dict[str, str]) -> str:
    """The nearest request before this one that the log holds."""
    at = request.parent
    while at is not None and at not in leaf:
        before = all_of_them.get(at)
        at = before.parent if before is not None else None
    return at or ""


def _spoken(kind: str, tokens: int, name: str) -> Json:
    if kind == "thinking":
        return {"type": "thinking", "thinking": "", "signature": "s" * min(4 * tokens, 4_000)}
    if kind == "tool_use":
        return {"type": "tool_use", "id": f"toolu_{name}", "name": "Bash", "input": {"command": words(tokens)}}
    return {"type": "text", "text": words(tokens)}


FORMS: dict[str, tuple[Callable[[LivedSession, Path], None], Callable[[LivedSession], Requests]]] = {
    "claude-code": (claude_code_log, in_claude_code),
    "counters": (counters, in_trace),
    "bare": (bare_counters, in_trace),
    "bodies": (bodies, in_trace),
}
"""How a form is written, and which requests it holds."""


def prompts(requests: Sequence[Request]) -> list[Prompt]:
    """The prompts that were sent."""
    return [request.prompt for request in requests if request.prompt is not None]
