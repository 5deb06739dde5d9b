"""The documentation pages of all causes, made from the registry.

python -m agentsim.diagnose.cause_pages docs/causes
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill

from agentsim.diagnose.cause_registry import CAUSES, GROUPS, Cause
from agentsim.diagnose.harness_settings import known_harnesses, settings_for

_NOTE = "<!-- Written by agentsim.diagnose.cause_pages from causes.toml. Edit that. -->"


def page(item: Cause) -> str:
    """The page of one cause, in Markdown."""
    parts = (
        f"# {item.code}: {item.title}",
        f"`{item.slug}` · {item.group}",
        "## What it means",
        fill(item.meaning, 100),
        "## How to confirm it",
        fill(item.how_to_confirm, 100),
        "## What to do",
        fill(item.fix, 100),
        *_settings(item),
        f"In the terminal: `agentsim explain {item.code}`. [All causes](README.md)",
        _NOTE,
    )
    return "\n\n".join(parts) + "\n"


def _settings(item: Cause) -> list[str]:
    """What harnesses have against it, as paragraphs."""
    lines = []
    for harness in known_harnesses():
        for one in settings_for(harness.name, cause=item.code):
            words = one.words.replace(one.set, f"`{one.set}`", 1) if one.set else one.effect
            since = f" Since {one.since}." if one.since else ""
            text = f"- **{harness.title}** ({harness.looked_at}): {words}{since} Source: {one.source}."
            lines.append(fill(text, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
    return ["## Settings", "\n".join(lines)] if lines else []


def index() -> str:
    """The page that lists all causes, in Markdown."""
    lines = ["# Causes", "", "Why a request lost its prompt cache, by code.", ""]
    for prefix, group in GROUPS.items():
        lines += [f"## {group}", ""]
        lines += [f"- [{code}]({code}.md) {item.title}" for code, item in CAUSES.items() if code.startswith(prefix)]
        lines.append("")
    return "\n".join([*lines, _NOTE, ""])


def pages() -> dict[str, str]:
    """All pages by file name."""
    return {"README.md": index(), **{f"{code}.md": page(item) for code, item in CAUSES.items()}}


def main(arguments: list[str]) -> int:
    """Writes all pages into the folder given."""
    if len(arguments) != 1:
        print("usage: python -m agentsim.diagnose.cause_pages FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
