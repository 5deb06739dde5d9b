"""Content for sessions: tools, system texts and results, drawn from recorded bodies where there are any, else made up.

The same seed gives the same content. Recorded bodies lend the shape of their tools and the words of their texts; what a
session says is made for it, so that two sessions never share a prefix by chance.
"""

from __future__ import annotations

import json
import random
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"
RECORDED = Path(__file__).parents[3] / "shared" / "data"
_WORD = re.compile(r"[A-Za-z][a-z]{2,11}")
_NAMES = (
    "read_file write_file edit_file list_files search_code run_command apply_patch fetch_page query_database "
    "run_tests format_code git_log git_diff show_symbol rename_symbol plan_tasks ask_user take_screenshot"
).split()
_MADE = (
    "window ledger branch commit parser tensor socket buffer margin record stream column worker signal bridge "
    "harbor garden copper velvet lantern meadow orchard compass winter anchor basket candle desert engine "
    "fabric glacier hammer island jungle kernel ladder magnet needle oxygen packet quarry rocket saddle timber "
    "unicorn valley wagon yellow zenith"
).split()


@lru_cache(maxsize=1)
def recorded_words() -> tuple[str, ...]:
    """The words of recorded bodies: of the bundled samples, and of the shared data where it lies beside the project."""
    texts = [path.read_text("utf-8", "replace")[:400_000] for path in sorted(SAMPLES.glob("*.jsonl"))]
    folder = RECORDED / "claude-trace"
    if folder.is_dir():
        texts += [path.read_text("utf-8", "replace")[:2_000_000] for path in sorted(folder.glob("*.jsonl"))]
    words = sorted({word.lower() for text in texts for word in _WORD.findall(text)})
    return tuple(words) if len(words) > 200 else tuple(_MADE)


@lru_cache(maxsize=1)
def recorded_schemas() -> tuple[str, ...]:
    """The input schemas of tools in recorded bodies, as JSON."""
    found: set[str] = set()
    paths = [SAMPLES / "claude-trace.jsonl", *sorted((RECORDED / "claude-trace").glob("*.jsonl"))]
    for path in paths:
        for line in path.read_text("utf-8", "replace").splitlines() if path.exists() else ():
            try:
                body = json.loads(line)["request"]["body"]
            except (ValueError, KeyError, TypeError):
                continue
            for tool in body.get("tools", ()) if isinstance(body, dict) else ():
                schema = json.dumps(tool.get("input_schema", {}))
                if len(schema) < 1_500:
                    found.add(schema)
    return tuple(sorted(found)) or ('{"type": "object", "properties": {"path": {"type": "string"}}}',)


class Content:
    """Makes texts of a wanted size. ``words`` are those of recorded bodies, or made up."""

    def __init__(self, rng: random.Random, *, shipped_only: bool = False) -> None:
        self.rng = rng
        self.words = tuple(_MADE) if shipped_only else recorded_words()
        self.schemas = recorded_schemas()
        self.count = 0

    def text(self, words: int) -> str:
        """So many words in sentences, a line each now and then."""
        out: list[str] = []
        for number in range(words):
            word = self.rng.choice(self.words)
            out.append(word.capitalize() if number % 12 == 0 else word)
            out.append("\n" if number % 48 == 47 else ". " if number % 12 == 11 else " ")
        return "".join(out).strip() + "."

    def id(self, prefix: str) -> str:
        """A new id."""
        self.count += 1
        return f"{prefix}_{self.rng.getrandbits(48):012x}{self.count:03d}"

    def tool(self, name: str | None = None, words: int = 90) -> Json:
        """A tool definition."""
        self.count += 1
        name = name or f"{self.rng.choice(_NAMES)}_{self.count}"
        return {
            "name": name,
            "description": self.text(words),
            "input_schema": json.loads(self.rng.choice(self.schemas)),
        }

    def arguments(self) -> Json:
        """The input of a call."""
        return {
            "path": f"src/{self.rng.choice(self.words)}/{self.rng.choice(self.words)}.py",
            "pattern": self.text(6),
            "limit": self.rng.randrange(10, 400),
        }

    def image(self) -> Json:
        """A picture: a few bytes that stand for one."""
        data = "iVBORw0KGgo" + "".join(self.rng.choice("ABCDEFGHabcdefgh0123456789") for _ in range(220))
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    def changed(self, text: str) -> str:
        """The text with some words in its first half replaced by others."""
        pieces = text.split(" ")
        at = self.rng.randrange(len(pieces) // 4, max(len(pieces) // 2, len(pieces) // 4 + 1))
        new = self.text(5).rstrip(".")
        return " ".join([*pieces[:at], new, *pieces[at + 3 :]])
