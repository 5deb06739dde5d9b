"""``agentsim summary``: what many sessions cost, and what they lost to the cache."""

from __future__ import annotations

import sys

import click

from agentsim.commands.options.command import Command, json_option, paths_argument, strict_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

EXAMPLES = (
    ("agentsim summary", "Every session on this machine, of any harness."),
    ("agentsim summary ~/.claude/projects/my-project", "The sessions of one project."),
    ("agentsim summary ~/.codex/sessions captures/", "Logs of any format, each request counted once."),
    ("agentsim summary --top 20", "Longer lists of the worst sessions and misses."),
    ("agentsim summary --json | jq .losses", "Losses by cause, for programs."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Show what all sessions cost, and what the cache lost.")
@paths_argument(required=False)
@json_option
@click.option(
    "--top", type=click.IntRange(0, 1000), default=5, show_default=True, help="How many of the worst to list."
)
@click.option("--workers", type=click.IntRange(1, 256), help="Processes to read with.  [default: one a core]")
@strict_option
@rules_option
def command(paths: tuple[str, ...], as_json: bool, top: int, workers: int | None, strict: bool) -> ExitCode:
    """Sum up sessions: cost, hit rate, losses by cause, the worst sessions and the worst misses.

    Logs of any format will do (see 'agentsim trace formats'). Without PATH it reads the logs of every harness on
    this machine, which 'agentsim' alone lists: Claude Code, Codex, Pi, OpenCode, Gemini CLI, Qwen Code, Copilot CLI,
    Cline, Roo Code and Kilo Code.
    """
    from agentsim.commands.options.session_inputs import check_path, unreadable
    from agentsim.fleet.summary import summarise
    from agentsim.report.notices import tell_problems
    from agentsim.report.progress import ProgressBar
    from agentsim.traces.harness_places import found_places

    where = list(paths) or [place.path for place in found_places()]
    if not where:
        raise Failure(
            "no logs of a harness on this machine",
            remedy="looked where docs/formats.md says that each keeps them; name a file or folder",
        )
    for path in where:
        check_path(path)
    try:
        with ProgressBar("reading logs") as progress:
            summary = summarise(where, workers=workers, progress=progress, worst=top, meanwhile=_get_ready)
    except OSError as error:
        raise unreadable(error, where[0]) from error
    if not summary.sessions:
        tell_problems(summary.problems)
        raise Failure("no session in here", file=where[0], remedy="'agentsim trace formats PATH' tells what it is")
    if as_json:
        from agentsim.report.json.canonical_json import summary_document, write_document

        write_document(sys.stdout, summary_document(summary))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.summary_page import write_summary

        write_summary(Paper.on(sys.stdout), summary)
    tell_problems(summary.problems, [summary.accounting])
    if strict and (any(not problem.note for problem in summary.problems) or summary.accounting.skipped):
        return ExitCode.UNREADABLE
    return ExitCode.OK


def _get_ready() -> None:
    """Import what the report will need."""
    import agentsim.diagnose.cause_registry
    import agentsim.report.screen.summary_page  # noqa: F401
