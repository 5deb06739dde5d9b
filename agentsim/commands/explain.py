"""``agentsim explain``: what a cause means, how to confirm it, and how to fix it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command
from agentsim.core.near_words import did_you_mean, nearest
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from agentsim.diagnose.harness_settings import KnownHarness

EXAMPLES = (
    ("agentsim explain AS301", "One cause."),
    ("agentsim explain AS201 --harness codex", "What a user of Codex can set against it."),
    ("agentsim explain", "All causes by their codes."),
)


def complete_codes(_ctx: click.Context, _parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
    """The codes that begin so, with their titles, for the shell."""
    from click.shell_completion import CompletionItem

    from agentsim.diagnose.cause_registry import CAUSES

    found = [cause for cause in CAUSES.values() if cause.code.startswith(beginning.upper())]
    return [CompletionItem(cause.code, help=cause.title) for cause in found]


@click.command(cls=Command, examples=EXAMPLES, short_help="Explain the code of a cause.")
@click.argument("code", required=False, shell_complete=complete_codes)
@click.option(
    "--harness", metavar="NAME", help="Only the settings of this harness: claude-code, codex, pi, opencode and others."
)
def command(code: str | None, harness: str | None) -> ExitCode:
    """Explain the CODE of a cause: its meaning, how to confirm it, how to fix it. Without CODE: list all of them.

    Under the fix stand the settings that harnesses have against it, with the version that was looked at.
    """
    from agentsim.diagnose.cause_registry import CAUSES, cause
    from agentsim.report.paper import Paper
    from agentsim.report.screen.cause_page import write_cause, write_causes

    paper = Paper.on(sys.stdout)
    only = _harness(harness) if harness is not None else None
    if code is None:
        write_causes(paper, CAUSES.values())
        return ExitCode.OK
    try:
        found = cause(code)
    except KeyError:
        raise Failure(
            f"no cause has the code {code}", remedy=_nearest(code, list(CAUSES)), code=ExitCode.USAGE
        ) from None
    write_cause(paper, found, only)
    return ExitCode.OK


def _harness(name: str) -> KnownHarness:
    from agentsim.diagnose.harness_settings import known_harness, known_harnesses

    found = known_harness(name)
    if found is None:
        known = [one.name for one in known_harnesses()]
        remedy = did_you_mean(name, known, f"known are {', '.join(known)}")
        raise Failure(f"no settings of {name[:40]} are known", remedy=remedy, code=ExitCode.USAGE)
    return found


def _nearest(code: str, known: list[str]) -> str:
    near = nearest(code, known, 3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return "'agentsim explain' lists all codes"
