"""Makes ``atlas-14.jsonl`` and ``atlas-14.usage.jsonl``: fourteen requests that lose their cache in five ways.

Run ``python -m agentsim.traces.samples.make_atlas`` to write both files again beside this module. The session is made
up: the sizes of its blocks are set, not counted, and its texts are abridged to what is needed to recognise them. What
each request read and wrote follows from the documented rules of the provider (two breakpoints a request, twenty
positions of lookback, five minutes from the start of a request); the tests replay the bodies and compare.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from agentsim.bodies import MessagesReader
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Lane, Purpose, Request, Session, Usage
from agentsim.traces.samples.atlas_content import FILES, REPLY, ROUNDS, SYSTEM, TASK, TOOLS, file_text, repository_map
from agentsim.traces.samples.sample_sizes import with_sizes

MODEL = "claude-opus-4-8"
"""Its prices have the ratios that the totals are counted in: writing 1.25, reading 0.1 times ordinary input."""

BEGIN = int(datetime(2026, 9, 1, 10, 0, tzinfo=UTC).timestamp())
FIRST_TOKEN_AFTER = 4
MARKER = {"type": "ephemeral"}
AUTO = {"type": "auto"}
FORCED = {"type": "tool", "name": "submit_patch"}

ROWS = (
    # start, duration, total, written, read
    (0, 20, 8_500, 8_500, 0),
    (30, 15, 10_000, 1_500, 8_500),
    (55, 18, 11_500, 1_500, 10_000),
    (80, 25, 32_800, 21_300, 11_500),
    (115, 15, 34_650, 34_650, 0),
    (140, 150, 36_150, 1_500, 34_650),
    (475, 20, 37_650, 37_650, 0),
    (505, 15, 39_150, 1_500, 37_650),
    (530, 15, 40_650, 33_300, 7_350),
    (555, 15, 42_150, 3_000, 39_150),
    (580, 20, 51_870, 44_520, 7_350),
    (610, 25, 82_370, 30_500, 51_870),
    (610, 25, 82_370, 30_500, 51_870),
    (610, 25, 82_370, 30_500, 51_870),
)
WRITTEN, READ, EQUIVALENTS = 280_420, 311_760, 381_701

Message = tuple[str, list[tuple[dict[str, Any], int]]]
"""A message: its role, and its blocks with their sizes in tokens."""


def atlas_session() -> Session:
    """The session with bodies: texts, sizes, settings and reported usage."""
    reader = MessagesReader()
    requests: list[Request] = []
    prompt: Prompt | None = None
    for row in range(1, 12):
        prompt = _prompt(reader, _tools(row), _history(row), prompt)
        requests.append(_request(row, "main", prompt, reader, f"r{row - 1:02}" if row > 1 else None))
    for row in (12, 13, 14):
        child = _prompt(reader, _tools(row), _history(row), prompt)
        requests.append(_request(row, _lane_of(row), child, reader, "r11"))
    _check(requests)
    return Session(
        id="atlas-14",
        format="agentsim/1",
        completeness="full",
        lanes=(
            Lane(id="main", title="main"),
            *(Lane(id=_lane_of(r), title=_lane_of(r), purpose="subagent", parent="main") for r in (12, 13, 14)),
        ),
        requests=tuple(requests),
        harness="example",
        title="Fourteen requests, five lost caches: a worked example with abridged texts",
    )


def usage_session() -> Session:
    """The same rows as a log without content knows them: times and usage, and the sections of the first prompt."""
    full = atlas_session()
    requests = [msgspec.structs.replace(request, prompt=None, settings=()) for request in full.requests]
    first = full.requests[0].prompt
    assert first is not None
    tools, system = (first.tokens_until(first.section_end(section)) for section in ("tools", "system"))
    sizes = (("messages", first.tokens - system), ("system", system - tools), ("tools", tools))
    requests[0] = msgspec.structs.replace(requests[0], section_tokens=sizes)
    return msgspec.structs.replace(full, id="atlas-14-usage", completeness="usage", requests=tuple(requests))


def _lane_of(row: int) -> str:
    return "main" if row < 12 else f"subagent-{'abc'[row - 12]}"


def _tools(row: int) -> list[tuple[dict[str, Any], int]]:
    """The tools of a row: ``db_query`` appears among them at row 5."""
    return [(tool, size) for tool, size in TOOLS if row >= 5 or tool["name"] != "db_query"]


def _history(row: int) -> list[Message]:
    """The messages of a row's request."""
    messages: list[Message] = [("user", [({"type": "text", "text": TASK}, 1_500)])]
    for number, (words, tool, arguments, result, size) in enumerate(ROUNDS[: min(row, 10) - 1], 1):
        call = {"type": "tool_use", "id": f"toolu_{number:02}", "name": tool, "input": arguments}
        answer = {"type": "tool_result", "tool_use_id": f"toolu_{number:02}", "content": result}
        messages.append(("assistant", [({"type": "text", "text": words}, 90), (call, 210)]))
        messages.append(("user", [(answer, size)]))
    if row >= 11:
        messages.append(("assistant", [({"type": "text", "text": REPLY}, 120)]))
        messages.append(("user", [({"type": "text", "text": file_text(name)}, 400) for name in FILES]))
    if row >= 12:
        part = ("the readers", "the ledger", "the exports")[row - 12]
        plan = "The files fit together. I will have three reviewers look at them, each with the whole map."
        task = f"You review {part} only. List each function whose rounding can lose a cent, with its line."
        messages.append(("assistant", [({"type": "text", "text": plan}, 300)]))
        blocks = [({"type": "text", "text": repository_map()}, 30_000), ({"type": "text", "text": task}, 200)]
        messages.append(("user", blocks))
    return messages


def _prompt(
    reader: MessagesReader,
    tools: list[tuple[dict[str, Any], int]],
    messages: list[Message],
    grew_from: Prompt | None,
) -> Prompt:
    """The prompt of a request body, with the sizes that were set for its blocks."""
    system = {"type": "text", "text": SYSTEM, "cache_control": MARKER}
    body: dict[str, Any] = {"model": MODEL, "tools": [tool for tool, _ in tools], "system": [system]}
    body["messages"] = [{"role": role, "content": [block for block, _ in blocks]} for role, blocks in messages]
    body["messages"][-1]["content"][-1] = {**body["messages"][-1]["content"][-1], "cache_control": MARKER}
    sizes = [size for _, size in tools] + [1_800] + [size for _, blocks in messages for _, size in blocks]
    return with_sizes(reader.prompt(body), sizes, grew_from)


def _request(row: int, lane: str, prompt: Prompt, reader: MessagesReader, parent: str | None) -> Request:
    start, duration, _, written, read = ROWS[row - 1]
    output = 120 if row == 10 else 300 if row < 12 else 400
    choice = FORCED if row == 9 else AUTO
    purpose: Purpose = "main" if row < 12 else "subagent"
    return Request(
        id=f"r{row:02}",
        lane=lane,
        parent=parent,
        purpose=purpose,
        model=MODEL,
        start=(BEGIN + start) * SECOND,
        first_token=(BEGIN + start + FIRST_TOKEN_AFTER) * SECOND,
        end=(BEGIN + start + duration) * SECOND,
        prompt=prompt,
        settings=reader.settings({"messages": [], "tool_choice": choice}),
        usage=Usage(fresh=0, write_short=written, write_long=0, read=read, output=output),
        stop_reason="end_turn" if row == 10 else "tool_use",
    )


def _check(requests: list[Request]) -> None:
    """Raise ValueError unless the rows are the ones intended: each prompt's size, and the sums."""
    for number, (request, (_, _, total, written, read)) in enumerate(zip(requests, ROWS, strict=True), 1):
        assert request.prompt is not None
        if not request.prompt.tokens == total == written + read:
            raise ValueError(f"row {number}: its blocks have {request.prompt.tokens} tokens, not {total}")
    sums = sum(row[3] for row in ROWS), sum(row[4] for row in ROWS)
    if sums != (WRITTEN, READ) or (sums[0] * 125 + sums[1] * 10) != EQUIVALENTS * 100:
        raise ValueError(f"the rows add up to {sums}")


def main() -> None:
    """Write both files."""
    from agentsim.traces.readers.agentsim1 import write

    folder = Path(__file__).parent
    write([atlas_session()], folder / "atlas-14.jsonl")
    write([usage_session()], folder / "atlas-14.usage.jsonl")


if __name__ == "__main__":
    main()
