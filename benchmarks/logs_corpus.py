"""Session logs like those of a coding agent at work, for measuring how fast logs are read and judged.

    python -m benchmarks.logs_corpus OUT [--text letters|source] [--projects 20] [--sessions 10] [--requests 300]

The default is 200 sessions with 60,000 requests under OUT/projects, about 370 MB. Each request is logged as two rows
with the same ids and the same usage, as the real tool does, and two in a hundred lose their cache. ``letters`` fills
the rows with runs of one letter, which any parser skips at full speed; ``source`` with text like source code, in which
every few characters are escaped. The same arguments give the same bytes on every machine.

What the logs hold in all is written to OUT/totals.json, so that a program's answer can be checked before it is timed.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

Text = Literal["letters", "source"]
Json = dict[str, Any]

MODEL = "claude-opus-4-8"
FIRST_DAY = datetime(2026, 11, 2, 8, tzinfo=UTC)
MISS = 0.02
POOL = 400_000
"""Characters of source text that the rows are cut from."""


class Filler:
    """Text of a wanted length."""

    def __init__(self, kind: Text, rng: random.Random) -> None:
        self._rng = rng
        self._pool = "" if kind == "letters" else _source(random.Random(7), POOL)

    def __call__(self, shortest: int, longest: int) -> str:
        """A text of a length between the two."""
        length = self._rng.randint(shortest, longest)
        if not self._pool:
            return "x" * length
        start = self._rng.randrange(len(self._pool) - longest)
        return self._pool[start : start + length]


def _source(rng: random.Random, length: int) -> str:
    """Lines of several languages, rich in quotes, backslashes, tabs and characters outside ASCII."""
    names = [
        a + b for a in ("read", "row", "miss", "entry", "lane", "cost") for b in ("_table", "Index", "_of", "s", "At")
    ]
    shapes = (
        'def {a}({b}: str = "") -> dict[str, "{c}"]:\n',
        '\t"""Return the {a} of \\"{b}\\".\n\n\t:raises KeyError: no such {c}\n\t"""\n',
        '    assert {a}["{b}"] == \'{c}\', f"{{{a}!r}} → {{{b}}}"\n',
        '\t\tif (re.match(/^\\s*"{a}":\\s*\\d+,?$/, {b})) {{ return `${{{c}}}\\n`; }}\n',
        '  {{"{a}": [1, 2, {{"{b}": "C:\\\\{c}\\\\bin"}}], "ok": true}},\n',
        "diff --git a/{a}/{b}.py b/{a}/{b}.py\n@@ -12,7 +12,9 @@ class {c}:\n-    return None\n+    return {b}\n",
        "  File \"/srv/{a}/{b}.py\", line 77, in {c}\n    raise ValueError('é ≠ e')\n",
        "# {a}: „{b}“ – 漢字, naïve, {c}…\n",
    )
    lines: list[str] = []
    size = 0
    while size < length:
        a, b, c = rng.choices(names, k=3)
        lines.append(rng.choice(shapes).format(a=a, b=b, c=c))
        size += len(lines[-1])
    return "".join(lines)


def write(out: Path, text: Text, projects: int, sessions: int, requests: int, seed: int = 1) -> Counter[str]:
    """Write the corpus under a folder and return what it holds: requests and tokens by kind, each request once."""
    rng = random.Random(seed)
    filler = Filler(text, rng)
    totals: Counter[str] = Counter()
    for project in range(projects):
        folder = out / "projects" / f"-home-dev-project{project}"
        folder.mkdir(parents=True, exist_ok=True)
        for _ in range(sessions):
            name = _uuid(rng)
            with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
                file.writelines(_session(rng, name, filler, requests, totals))
    (out / "totals.json").write_text(json.dumps(totals, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return totals


def _session(rng: random.Random, name: str, filler: Filler, requests: int, totals: Counter[str]) -> Iterator[str]:
    now = FIRST_DAY + timedelta(minutes=rng.randrange(20 * 24 * 60))
    base: Json = {
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/dev/project",
        "sessionId": name,
        "version": "2.1.240",
        "gitBranch": "main",
    }
    parent: str | None = None
    cached, tool = rng.randrange(15_000, 25_000), None
    for _ in range(requests):
        said: Json | str = filler(200, 6_000)
        content = [{"type": "tool_result", "tool_use_id": tool, "content": said}] if tool else said
        identity = _uuid(rng)
        yield _line(base, parent, identity, now, "user", {"role": "user", "content": content})
        parent = identity
        now += timedelta(milliseconds=rng.randrange(500, 40_000))
        added, lost = rng.randrange(300, 3_000), rng.random() < MISS
        written, read = (cached + added, 0) if lost else (added, cached)
        output = rng.randrange(50, 900)
        usage = {
            "input_tokens": 3,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output,
            "service_tier": "standard",
        }
        cached += added
        totals.update(requests=1, fresh=3, written=written, read=read, output=output)
        message, request = f"msg_{rng.getrandbits(96):024x}", f"req_{rng.getrandbits(96):024x}"
        tool = f"toolu_{rng.getrandbits(96):024x}"
        command = {"command": filler(40, 700), "description": "Look at it"}
        blocks = (
            {"type": "text", "text": filler(50, 1_500)},
            {"type": "tool_use", "id": tool, "name": "Bash", "input": command},
        )
        for block in blocks:
            identity = _uuid(rng)
            answer = {
                "id": message,
                "type": "message",
                "role": "assistant",
                "model": MODEL,
                "content": [block],
                "stop_reason": None if block is blocks[0] else "tool_use",
                "usage": usage,
            }
            yield _line(base, parent, identity, now, "assistant", answer, requestId=request)
            parent = identity
        now += timedelta(milliseconds=rng.randrange(500, 30_000))


def _line(base: Json, parent: str | None, identity: str, now: datetime, kind: str, message: Json, **more: str) -> str:
    stamp = f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}Z"
    record = {
        "parentUuid": parent,
        **base,
        "message": message,
        "type": kind,
        "uuid": identity,
        "timestamp": stamp,
        **more,
    }
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n"


def _uuid(rng: random.Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a corpus of session logs.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--text", choices=get_args(Text), default="letters")
    parser.add_argument("--projects", type=int, default=20)
    parser.add_argument("--sessions", type=int, default=10, help="in each project")
    parser.add_argument("--requests", type=int, default=300, help="in each session")
    given = parser.parse_args()
    print(dict(write(given.out, given.text, given.projects, given.sessions, given.requests)))


if __name__ == "__main__":
    main()
