"""``agentsim guard status``: what is installed, which limits are in force, and what went wrong lately."""

from __future__ import annotations

import os
import sys

import click

from agentsim.commands.options.command import Command
from agentsim.report.exits import ExitCode

EXAMPLES = (("agentsim guard status", "All three settings files, the limits, and failures of hooks."),)
MOST = 5


@click.command(cls=Command, examples=EXAMPLES, short_help="Show what is installed, the limits, and what went wrong.")
def command() -> ExitCode:
    """Show in which settings the status line and the hooks are, which limits are in force, what is kept, and the
    latest failures, which no harness ever sees. The exit code is 1 when there were any."""
    from agentsim.core.file_problems import WrittenFileError
    from agentsim.guard.guard_policy import load_policy, policy_file
    from agentsim.guard.installation import installed, settings_file
    from agentsim.guard.settings_text import BadSettings
    from agentsim.report.paper import Paper, Style
    from agentsim.traces.kept_places import state_folder

    paper = Paper.on(sys.stdout)
    for scope in ("user", "project", "local"):
        file = settings_file(scope)
        try:
            line, events = installed(file)
        except (BadSettings, OSError) as error:
            paper.line((f"{scope:<8}", Style.STRONG), f"{file}: {error}")
            continue
        words = ["status line"] if line else []
        words += [f"hooks before {', '.join(events)}"] if events else []
        paper.line((f"{scope:<8}", Style.STRONG), f"{file}: {' and '.join(words) or 'nothing'}")
    try:
        limits = load_policy()
        there = os.path.exists(policy_file())
        paper.line(("limits  ", Style.STRONG), f"{policy_file()}" if there else "the usual: a warning from $0.50 on")
        for level, found in limits.items():
            paper.line("        ", f"{level}: {_limit(found)}")
    except (WrittenFileError, OSError) as error:
        paper.line(("limits  ", Style.STRONG), (f"{error}; the usual limits hold", Style.BAD))
    folder = os.path.join(state_folder(), "claude-code")
    kept = (
        [entry for entry in os.scandir(folder) if entry.name.endswith(".kept.jsonl")] if os.path.isdir(folder) else []
    )
    paper.line(
        ("kept    ", Style.STRONG), f"{folder}: {len(kept):,} sessions, {sum(e.stat().st_size for e in kept):,} bytes"
    )
    failures = _failures()
    paper.line(("failures", Style.STRONG), f" {len(failures):,}" if failures else " none")
    for failure in failures[-MOST:]:
        paper.line("        ", (" ".join(f"{name}={value}" for name, value in failure.items()), Style.WARN))
    return ExitCode.FINDINGS if failures else ExitCode.OK


def _limit(found: object) -> str:
    from agentsim.core.money import format_dollars

    words = []
    for name, value in found.items() if isinstance(found, dict) else ():
        if name == "tokens":
            words.append(f"from {value:,} tokens on")
        elif name == "dollars":
            words.append(f"from {format_dollars(value)} on")
        else:
            words.append(f"{format_dollars(value)} a {name}")
    return ", ".join(words)


def _failures() -> list[dict[str, object]]:
    from agentsim.guard.light_json import NotJson, loads
    from agentsim.traces.kept_places import state_folder

    found: list[dict[str, object]] = []
    try:
        with open(os.path.join(state_folder(), "failures.jsonl"), "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            record = loads(line)
        except NotJson:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found
