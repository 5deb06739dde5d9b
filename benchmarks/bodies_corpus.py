"""Request bodies like those of a coding agent at work, for measuring how fast bodies are read and compared.

    python benchmarks/bodies_corpus.py OUT.jsonl [--sessions 10] [--requests 40] [--megabytes 39]

One body a line, session by session, in the order in which they were sent. The text is made of source code, diffs, paths
and prose with many characters that JSON escapes, because runs of plain letters flatter a parser. The same arguments
give the same bytes on every machine.

Each body repeats the one before and adds a turn (an answer with tool calls, and their results); the breakpoints move to
its end. Two requests in a hundred lose their prefix in one of five ways: a line edited in an old tool result, an old
result cleared, a tool added in the middle, a clock in the system text, an old message removed.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_VOCABULARY = """
    request prefix cache block token reader session lane write read usage marker entry expire digest chain segment
    position provider model price rule table index offset parse error value field message content result tool input
    output stream begin end time clock seconds count total share keep replace extend length section system order
"""
_WORDS = _VOCABULARY.split()
_TYPES = ("int", "str", "bytes", "float | None", "list[int]", "dict[str, Any]", "tuple[str, ...]")


def sessions(count: int, requests: int, megabytes: float, seed: int = 1) -> Iterator[list[bytes]]:
    """The bodies of each session, encoded. ``megabytes`` is the size to aim at for all of them together."""
    rng = random.Random(seed)
    per_body = megabytes * 1e6 / (count * requests)
    for number in range(count):
        yield list(_session(rng, number, requests, per_body))


def _session(rng: random.Random, number: int, requests: int, mean_bytes: float) -> Iterator[bytes]:
    tools = [_tool(rng, index) for index in range(24)]
    system = [
        {"type": "text", "text": f"You are a coding agent, session {number}."},
        {"type": "text", "text": _prose(rng, 9000)},
    ]
    head = len(json.dumps({"tools": tools, "system": system}))
    turn_bytes = max(400, int((mean_bytes - head) * 2 / (requests + 1) * 0.68))  # JSON and call overhead add the rest
    messages: list[Json] = [{"role": "user", "content": [{"type": "text", "text": _prose(rng, 900)}]}]
    for request in range(requests):
        if request and rng.random() < 0.02:
            _lose_prefix(rng, tools, system, messages)
        yield _encode(tools, system, messages)
        messages += _turn(rng, turn_bytes, request)


def _encode(tools: list[Json], system: list[Json], messages: list[Json]) -> bytes:
    marked = [*messages]
    for index in {len(messages) - 1, len(messages) - 3} & set(range(len(messages))):
        content = messages[index]["content"]
        last = {**content[-1], "cache_control": {"type": "ephemeral"}}
        marked[index] = {**messages[index], "content": [*content[:-1], last]}
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 32000,
        "stream": True,
        "thinking": {"type": "adaptive"},
        "system": [*system[:-1], {**system[-1], "cache_control": {"type": "ephemeral"}}],
        "tools": tools,
        "messages": marked,
        "metadata": {"user_id": "user"},
    }
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def _turn(rng: random.Random, size: int, request: int) -> list[Json]:
    calls = rng.choice((1, 1, 1, 2, 3))
    answer: list[Json] = [{"type": "text", "text": _prose(rng, min(600, size // 8))}]
    results: list[Json] = []
    for call in range(calls):
        name = f"toolu_{request:04d}{call}{rng.getrandbits(48):012x}"
        path = f"/home/user/project/src/{rng.choice(_WORDS)}/{rng.choice(_WORDS)}_{rng.choice(_WORDS)}.py"
        pattern = f"\\b{rng.choice(_WORDS)}\\("
        arguments = {"file_path": path, "pattern": pattern, "limit": rng.randint(10, 2000)}
        answer.append({"type": "tool_use", "id": name, "name": f"Tool{rng.randrange(24)}", "input": arguments})
        results.append({"tool_use_id": name, "type": "tool_result", "content": _code(rng, size // calls)})
    return [{"role": "assistant", "content": answer}, {"role": "user", "content": results}]


def _lose_prefix(rng: random.Random, tools: list[Json], system: list[Json], messages: list[Json]) -> None:
    way = rng.randrange(5)
    if way == 2:
        tools.insert(len(tools) // 2, _tool(rng, 100 + rng.randrange(100)))
    elif way == 3:
        system[-1] = {"type": "text", "text": f"Now: 2026-11-{rng.randint(10, 28)}\n{system[-1]['text']}"}
    elif len(messages) > 4:
        index = 2 * rng.randrange(1, len(messages) // 2)
        old = messages[index]["content"][0]
        if way == 4:
            del messages[index - 1 : index + 1]
        elif way == 1:
            messages[index] = {"role": "user", "content": [{**old, "content": "[old result removed]"}]}
        else:
            lines = old["content"].split("\n")
            lines[len(lines) // 2] += "  # changed"
            messages[index] = {"role": "user", "content": [{**old, "content": "\n".join(lines)}]}


def _tool(rng: random.Random, index: int) -> Json:
    properties = {f"{rng.choice(_WORDS)}_{n}": {"type": "string", "description": _prose(rng, 80)} for n in range(4)}
    schema = {"type": "object", "properties": properties, "required": sorted(properties), "additionalProperties": False}
    return {"name": f"Tool{index}", "description": _prose(rng, 1200), "input_schema": schema}


def _prose(rng: random.Random, size: int) -> str:
    parts: list[str] = []
    length = 0
    while length < size:
        sentence = " ".join(rng.choices(_WORDS, k=rng.randint(5, 14))).capitalize()
        parts.append(f'{sentence} — see "{rng.choice(_WORDS)}".\n' if rng.random() < 0.3 else f"{sentence}. ")
        length += len(parts[-1])
    return "".join(parts)


def _code(rng: random.Random, size: int) -> str:
    lines: list[str] = []
    length = number = 0
    while length < size:
        number += 1
        one, two, three = rng.choices(_WORDS, k=3)
        indent = "    " * rng.randrange(4)
        line = rng.choice(
            (
                f'{indent}if {one}["{two}"] != "{three}\\n":',
                f"{indent}def {one}_{two}(self, {three}: {rng.choice(_TYPES)} = {rng.randint(0, 99)}) -> None:",
                f'{indent}    raise ValueError(f"{one} of {{{two}!r}} is not a \\"{three}\\"")',
                f"{indent}\treturn {one}.{two}({three}[{rng.randrange(64)}])  # {two} → {one}",
                f'{indent}"""{one.capitalize()} the {two}\'s {three}: see C:\\\\src\\\\{one}."""',
                "",
            )
        )
        lines.append(f"{number:6d}→{line}")
        length += len(lines[-1]) + 1
    return "\n".join(lines)


def main() -> None:
    """Writes the corpus and says what is in it."""
    parser = argparse.ArgumentParser(description="Write request bodies of a coding agent, one a line.")
    parser.add_argument("out")
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--megabytes", type=float, default=39.0)
    options = parser.parse_args()
    sizes: list[int] = []
    with open(options.out, "wb") as file:
        for bodies in sessions(options.sessions, options.requests, options.megabytes):
            for body in bodies:
                file.write(body + b"\n")
                sizes.append(len(body))
    sizes.sort()
    quartiles = ", ".join(f"{sizes[len(sizes) * part // 4]:,}" for part in (1, 2, 3))
    print(f"{len(sizes)} bodies, {sum(sizes):,} bytes; quartiles {quartiles}; largest {sizes[-1]:,}")


if __name__ == "__main__":
    main()
