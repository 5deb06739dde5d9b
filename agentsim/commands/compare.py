"""``agentsim compare``: what would have been cheaper."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import (
    Command,
    all_option,
    json_option,
    paths_argument,
    session_option,
    strict_option,
)
from agentsim.commands.options.policy_choice import named_and_others
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from agentsim.core.session import Problem, Session

EXAMPLES = (
    ("agentsim compare session.jsonl", "What other lifetimes, markers and timing would have saved."),
    ("agentsim compare session.jsonl --all --combine", "Every policy, and the best of them together."),
    ("agentsim compare session.jsonl --policy ttl-1h --policy keep-alive:most=3", "Only these."),
    ("agentsim compare session.jsonl --sweep compact", "At how many tokens to compact: the curve."),
    ("agentsim compare ~/.claude/projects --all --csv > policies.csv", "All sessions, for a spreadsheet."),
)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from agentsim.whatif.policies import NAMES, kind_of

    return [CompletionItem(name, help=kind_of(name).summary) for name in NAMES if name.startswith(incomplete)]


@click.command(cls=Command, examples=EXAMPLES, short_help="Show what would have been cheaper, policy by policy.")
@paths_argument()
@click.option(
    "--policy",
    "specs",
    multiple=True,
    metavar="NAME[:param=value,...]",
    shell_complete=_complete,
    help="Try this policy; may be given several times. 'agentsim policies' lists them.",
)
@all_option("try also policies under which the model is shown something else")
@click.option("--combine", is_flag=True, help="Find the best compatible policies, and what each adds to the others.")
@click.option(
    "--sweep",
    type=click.Choice(["compact", "keep-alive"]),
    help="Try one setting at many values, the same for every session, and show the curve.",
)
@session_option
@json_option
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV, one record a policy.")
@strict_option
@rules_option
def command(
    paths: tuple[str, ...],
    specs: tuple[str, ...],
    every: bool,
    combine: bool,
    sweep: str | None,
    session_id: str | None,
    as_json: bool,
    as_csv: bool,
    strict: bool,
) -> ExitCode:
    """Simulate sessions as they were recorded, and again under other policies; the difference is the saving.

    Without --policy or --all it tries the policies under which each request shows the model the same blocks. The page
    first says what was known before looking at the counters, how many lost rows came out to the number, how many rows
    need a fact about the world around the session, and whether the bill comes out. Where less than 90 % of the tokens
    were known, or the bill is off by more than 5 %, it names no money, and the exit code is 1. It is 1 as well where
    the sessions can be read and none can be simulated: the page says why.

    Policies under which the model would be shown something else (--all) stand in a part of their own, and --combine
    takes one of them only where --policy names it.
    """
    from agentsim.commands.options.session_inputs import choose_session, read_sessions, tell_skips
    from agentsim.report.progress import ProgressBar
    from agentsim.whatif.cache_bounds import bounds
    from agentsim.whatif.comparison import CannotSimulate, compare, nothing_simulated
    from agentsim.whatif.model_switches import switches_of

    if as_json and as_csv:
        raise Failure("--json and --csv exclude each other", remedy="choose one", code=ExitCode.USAGE)
    if sweep is not None and (specs or every or combine or as_csv):
        raise Failure(
            "--sweep tries one setting alone", remedy="give it only --session and --json", code=ExitCode.USAGE
        )
    named, others = named_and_others(specs, every)
    problems: list[Problem] = []
    sessions = read_sessions(paths, problems)
    if session_id is not None:
        sessions = [choose_session(sessions, session_id)]
    if sweep is not None:
        found = _swept(sessions, sweep, as_json)
        skips = tell_skips(sessions, problems, strict)
        return skips if skips is not ExitCode.OK else found
    try:
        with ProgressBar("comparing", unit="simulation", ticks=True) as progress:
            comparison = compare(sessions, named, also=others, combine=combine, progress=progress)
    except CannotSimulate as error:
        comparison = nothing_simulated(error)
    bounded = bounds(sessions) if comparison.left_out else None
    switches = switches_of(sessions) if not specs else ()
    if as_json:
        from agentsim.report.json.bounds_json import bounds_document, switch_documents
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.comparison_json import comparison_document

        document = {**comparison_document(comparison), "automatic_caches": bounds_document(bounded)}
        document["model_switches"] = switch_documents(switches)
        write_document(sys.stdout, document)
    elif as_csv:
        from agentsim.report.notices import warn
        from agentsim.report.output import write_safe

        write_safe(sys.stdout, comparison.to_csv())
        if comparison.withheld is not None:
            warn(f"no money is named: {comparison.withheld}")
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.bounds_page import write_bounds
        from agentsim.report.screen.comparison_page import write_comparison
        from agentsim.report.screen.switches_page import write_switches
        from agentsim.whatif.model_switches import rates_needed

        paper = Paper.on(sys.stdout)
        write_comparison(paper, comparison)
        if bounded is not None:
            write_bounds(paper, bounded)
        write_switches(paper, switches, rates_needed(sessions) if not specs else ())
    skips = tell_skips(sessions, problems, strict)
    if skips is not ExitCode.OK:
        return skips
    return ExitCode.OK if comparison.withheld is None else ExitCode.FINDINGS


def _swept(sessions: list[Session], name: str, as_json: bool) -> ExitCode:
    """Write the curve of one setting."""
    from agentsim.report.paper import Paper
    from agentsim.report.progress import ProgressBar
    from agentsim.whatif.comparison import CannotSimulate, nothing_simulated
    from agentsim.whatif.setting_sweeps import sweep

    try:
        with ProgressBar("comparing", unit="simulation", ticks=True) as progress:
            curve = sweep(sessions, name, progress=progress)
    except CannotSimulate as error:
        from agentsim.report.screen.bounds_page import write_bounds
        from agentsim.report.screen.comparison_page import write_comparison
        from agentsim.whatif.cache_bounds import bounds

        found = bounds(sessions)

        if as_json:
            from agentsim.report.json.bounds_json import bounds_document
            from agentsim.report.json.canonical_json import write_document
            from agentsim.report.json.comparison_json import comparison_document

            document = {**comparison_document(nothing_simulated(error)), "automatic_caches": bounds_document(found)}
            write_document(sys.stdout, document)
        else:
            paper = Paper.on(sys.stdout)
            write_comparison(paper, nothing_simulated(error))
            if found is not None:
                write_bounds(paper, found)
        return ExitCode.FINDINGS
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.comparison_json import sweep_document

        write_document(sys.stdout, sweep_document(curve))
    else:
        from agentsim.report.screen.sweep_page import write_sweep

        write_sweep(Paper.on(sys.stdout), curve)
    return ExitCode.OK if curve.comparison.withheld is None else ExitCode.FINDINGS
