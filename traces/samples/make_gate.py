"""Makes ``gate-before.jsonl`` and ``gate-after.jsonl``: one session, recorded before and after a change of its harness.

Run ``python -m agentsim.traces.samples.make_gate`` to write both files again beside this module. The session is made
up. After the change the harness lists its tools in the order in which their servers answered, and from the seventh
request on that is another order: the whole prompt is written again. The sizes of blocks are set, not counted; what each
request read and wrote follows from the documented rules of the provider.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentsim.bodies import MessagesReader
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Lane, Request, Session, Usage
from agentsim.traces.samples.sample_sizes import with_sizes

MODEL = "claude-sonnet-4-5"
BEGIN = int(datetime(2026, 9, 2, 9, 0, tzinfo=UTC).timestamp())
MARKER = {"type": "ephemeral"}

TOOLS = (
    ("fetch_page", "Fetch a page of the manual by its number.", 540),
    ("open_ticket", "Open a ticket for a person to look at.", 710),
    ("read_order", "Read an order: its items, its state, its payments.", 660),
    ("search_manual", "Search the manual and list the pages that match.", 590),
)
SYSTEM, SYSTEM_TOKENS = "You help customers of a bicycle shop. Look things up before you answer.", 1_500
QUESTION, QUESTION_TOKENS = "My order 1184 came without its pedals. What now?", 400
REQUESTS = 12
CALL_TOKENS, RESULT_TOKENS = 120, 880
"""Each round adds a call of a tool and its result: 1,000 tokens."""
FIRST_MOVED = 7
"""The first request with another order of tools, after the change."""
OUTPUT = 120


def session(moved: bool) -> Session:
    """The session before the change, or after it (``moved``)."""
    reader = MessagesReader()
    requests: list[Request] = []
    prompt: Prompt | None = None
    for row in range(1, REQUESTS + 1):
        other_order = moved and row >= FIRST_MOVED
        prompt = _prompt(reader, row, other_order, prompt)
        # All of the request before is read, unless the tools in front of it are not the ones that were sent then.
        read = 0 if row == 1 or (moved and row == FIRST_MOVED) else requests[-1].prompt.tokens  # type: ignore[union-attr]
        start = BEGIN + 20 * (row - 1)
        requests.append(
            Request(
                id=f"r{row:02}",
                lane="main",
                parent=f"r{row - 1:02}" if row > 1 else None,
                model=MODEL,
                start=start * SECOND,
                first_token=(start + 2) * SECOND,
                end=(start + 6) * SECOND,
                prompt=prompt,
                settings=reader.settings({"messages": []}),
                usage=Usage(fresh=0, write_short=prompt.tokens - read, write_long=0, read=read, output=OUTPUT),
                stop_reason="tool_use" if row < REQUESTS else "end_turn",
            )
        )
    return Session(
        id="gate-after" if moved else "gate-before",
        format="agentsim/1",
        completeness="full",
        lanes=(Lane(id="main", title="main"),),
        requests=tuple(requests),
        harness="example",
        title="A recording for a gate: twelve requests" + (", the order of the tools changed" if moved else ""),
    )


def _prompt(reader: MessagesReader, row: int, other_order: bool, grew_from: Prompt | None) -> Prompt:
    tools = TOOLS[2:] + TOOLS[:2] if other_order else TOOLS
    schema = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
    sizes = [size for _, _, size in tools] + [SYSTEM_TOKENS, QUESTION_TOKENS]
    for number in range(1, row):
        call = {"type": "tool_use", "id": f"toolu_{number:02}", "name": "fetch_page", "input": {"what": str(number)}}
        answer = {"type": "tool_result", "tool_use_id": f"toolu_{number:02}", "content": f"Page {number}: not this."}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
        sizes += [CALL_TOKENS, RESULT_TOKENS]
    messages[-1]["content"][-1]["cache_control"] = MARKER
    body = {
        "model": MODEL,
        "tools": [{"name": name, "description": text, "input_schema": schema} for name, text, _ in tools],
        "system": [{"type": "text", "text": SYSTEM, "cache_control": MARKER}],
        "messages": messages,
    }
    return with_sizes(reader.prompt(body), sizes, grew_from)


def main() -> None:
    """Write both files."""
    from agentsim.traces.readers.agentsim1 import write

    folder = Path(__file__).parent
    write([session(False)], folder / "gate-before.jsonl")
    write([session(True)], folder / "gate-after.jsonl")


if __name__ == "__main__":
    main()
