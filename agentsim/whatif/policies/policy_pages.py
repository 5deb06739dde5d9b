"""The documentation page of all policies, made from the registry.

python -m agentsim.whatif.policies.policy_pages docs/policies.md
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill

from agentsim.whatif.policies import NAMES, kind_of, parameters
from agentsim.whatif.policies.parameter_meanings import meanings
from agentsim.whatif.policies.policy import Policy

_HARNESSES = {"claude-code": "Claude Code", "pi": "Pi", "own-code": "own code"}
_NOTE = "<!-- Written by agentsim.whatif.policies.policy_pages from the policies themselves. Edit those. -->"
_WIDTH = 118

_GROUPS = (
    ("How long entries live", ("ttl-", "keep-alive", "no-caching", "uncached-")),
    ("Where markers stand", ("marker-",)),
    ("What prompts are made of", ("combine-", "deferred-", "fixed-", "tool-", "volatile-", "prune-")),
    ("Settings", ("free-", "pin-")),
    ("When requests are sent", ("stagger-",)),
    ("Compaction", ("compact-",)),
)


def page() -> str:
    """The page, in Markdown."""
    lines = ["# Policies", "", _paragraph(_INTRODUCTION), ""]
    for title, beginnings in _GROUPS:
        lines += [f"## {title}", ""]
        for name in NAMES:
            if name.startswith(beginnings):
                lines += _policy(kind_of(name))
    return "\n".join([*lines, _NOTE, ""])


_INTRODUCTION = (
    "`agentsim compare` tries these on recorded sessions; [compare](compare.md) tells how. "
    "A policy rewrites what is sent, never what was answered. Its condition says what the simulation cannot know. "
    "`agentsim policies NAME` prints the same in a terminal."
)


def _policy(kind: type[Policy]) -> list[str]:
    lines = [f"### `{kind.name}`", "", _paragraph(kind.summary), ""]
    lines.append(_item(f"**Condition**: {kind.assumes}"))
    if kind.changes:
        lines.append(_item(f"**The model is shown something else**: {kind.changes}."))
    if kind.needs_bodies:
        lines.append(_item("**Needs** a trace with bodies, or with fingerprints of them."))
    if kind.origin:
        lines.append(_item(f"**Constants from**: {kind.origin}"))
    lines += [_item(f"**{_HARNESSES[name]}**: {text}") for name, text in kind.how.items()]
    found = parameters(kind)
    texts = meanings(kind)
    if found:
        lines += ["", "| parameter | default | meaning |", "|--|--|--|"]
        for parameter in found:
            default = f"`{parameter.default}`" if parameter.default else ""
            lines.append(f"| `{parameter.name}` | {default} | {texts[parameter.name]} |")
    return [*lines, ""]


def _paragraph(text: str) -> str:
    return fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _item(text: str) -> str:
    return fill(
        text, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def main(arguments: list[str]) -> int:
    """Writes the page into the file given."""
    if len(arguments) != 1:
        print("usage: python -m agentsim.whatif.policies.policy_pages FILE", file=sys.stderr)
        return 2
    Path(arguments[0]).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
