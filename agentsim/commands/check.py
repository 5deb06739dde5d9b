"""``agentsim check``: budgets held or broken, for a CI."""

from __future__ import annotations

from typing import Any

import click

from agentsim.commands.options.budget_options import (
    against_option,
    baseline_option,
    config_option,
    limit_options,
)
from agentsim.commands.options.command import Command, json_option, output_option, paths_argument
from agentsim.commands.options.rules_option import rules_option
from agentsim.core.near_words import did_you_mean
from agentsim.report.exits import ExitCode, Failure

EXAMPLES = (
    ("agentsim check", "What the nearest agentsim.toml says, on the traces that it names."),
    ("agentsim check trace.jsonl --max-cost 0.50 --forbid AS103", "Limits without a configuration."),
    ("agentsim check --against origin/main", "Growth since this branch began, whatever main did meanwhile."),
    ("agentsim check --format github --also markdown=comment.md", "Annotations, and a comment for a pull request."),
)

FORMATS_HELP = "terminal, json, junit, sarif, github, markdown, or one that an installed package adds."


@click.command(cls=Command, examples=EXAMPLES, short_help="Hold recorded sessions to their budgets.")
@paths_argument(required=False)
@config_option
@baseline_option
@against_option
@click.option("--format", "format_name", metavar="FORMAT", default="terminal", show_default=True, help=FORMATS_HELP)
@json_option
@output_option("the judgement")
@click.option("--also", metavar="FORMAT=FILE", multiple=True, help="One more format, to a file. May be repeated.")
@limit_options
@rules_option
def command(
    paths: tuple[str, ...],
    config: str | None,
    baseline: str | None,
    against: str | None,
    format_name: str,
    as_json: bool,
    target: str | None,
    also: tuple[str, ...],
    **limits: Any,
) -> ExitCode:
    """Judge budgets on recorded sessions.

    Budgets come from the nearest agentsim.toml, or [tool.agentsim] in a pyproject.toml; or from the options, and then
    a configuration counts only when it is named. Exit codes: 0 all held, 1 one is broken, 2 wrong usage or
    configuration, 3 something could not be read or judged. A broken budget counts before what could not be judged.
    """
    from agentsim.commands.options.budget_options import budget_of, load, nearest_config
    from agentsim.report.output import STDOUT, check_targets, output

    if as_json:
        if format_name not in ("terminal", "json"):
            reason = f"--json and --format {format_name} exclude each other"
            raise Failure(reason, remedy="give one of them", code=ExitCode.USAGE)
        format_name = "json"
    _check_format("--format", format_name)
    others = [_target(text) for text in also]
    targets = [(format_name, target), *others]
    pages = [(f"--also {name}", place) for name, place in others]
    check_targets((f"--format {format_name}", target or STDOUT), *pages)
    own = budget_of(limits)
    file = config or (nearest_config() if own is None else None)
    if file is None and own is None:
        raise Failure(
            "no budget: no option limits anything, and there is no agentsim.toml here or above",
            remedy="see 'agentsim check --help'",
            code=ExitCode.USAGE,
        )
    loaded = load(file) if file is not None else None
    budgets = (*(loaded.budgets if loaded is not None else ()), *((own,) if own is not None else ()))
    if not budgets:
        raise Failure("no [[budget]] in it", file=file, remedy="write one", code=ExitCode.USAGE)
    from agentsim.commands.options.judged_budgets import run
    from agentsim.report.gate_reporters import write_gate_as
    from agentsim.report.json.gate_json import EXITS

    gate = run(paths, loaded, budgets, baseline, against)

    for name, place in targets:
        with output(place) as stream:
            write_gate_as(stream, name, gate)
    return EXITS[gate.outcome]


def _target(text: str) -> tuple[str, str]:
    name, equals, file = text.partition("=")
    if not equals or not file:
        raise Failure(f"--also {text}: not a format and a file", remedy="write FORMAT=FILE", code=ExitCode.USAGE)
    _check_format("--also", name)
    return name, file


def _check_format(option: str, name: str) -> None:
    from agentsim.report.gate_reporters import OURS, formats

    if name not in OURS and name not in formats():
        remedy = did_you_mean(name, formats(), f"formats are {', '.join(formats())}")
        raise Failure(f"{option}: no format is called {name[:40]!r}", remedy=remedy, code=ExitCode.USAGE)
