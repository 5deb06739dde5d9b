"""What ``check``, ``baseline`` and ``diff`` share: limits on the command line, configurations, baselines."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from agentsim.commands.options.command import FILE, Function
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.budget.budget_config import Config
    from agentsim.budget.budget_limits import Budget, Limit
    from agentsim.budget.session_measures import Measures

NAME = "command line"
"""The budget that the options make up."""

_OPTIONS = (
    click.option("--max-cost", metavar="DOLLARS", help="Most a session may cost, such as 0.50."),
    click.option("--max-input-equivalents", metavar="TOKENS", help="Most input equivalents of a session."),
    click.option("--min-hit-rate", metavar="SHARE", help="Least hit rate, such as 85% or 0.85."),
    click.option("--max-misses", metavar="COUNT", help="Most requests that may lose their cache."),
    click.option("--max-lost-cost", metavar="DOLLARS", help="Most that lost caches may cost."),
    click.option("--forbid", metavar="CAUSE", multiple=True, help="A cause that may not occur: AS103, AS1xx."),
    click.option("--max-growth", metavar="GROWTH", multiple=True, help="Most growth of the cost: 5% or dollars."),
)


def limit_options(function: Function) -> Function:
    """Give a command the options that limit something."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


config_option: Callable[[Function], Function] = click.option(
    "--config", metavar="FILE", type=FILE, help="Where the budgets are.  [default: the nearest agentsim.toml above]"
)
baseline_option: Callable[[Function], Function] = click.option(
    "--baseline", metavar="FILE", type=FILE, help="What growth is measured from.  [default: the configuration's]"
)

against_option: Callable[[Function], Function] = click.option(
    "--against",
    metavar="REF",
    help="The baseline as it was committed where HEAD and this branch part (git).",
)


def budget_of(options: Mapping[str, Any]) -> Budget | None:
    """The budget that the options make up; ``None`` when none was given. Raises Failure for a wrong value."""
    from agentsim.budget import exact_amounts
    from agentsim.budget.budget_limits import Budget, Limit, cause_name

    limits: list[Limit] = []
    readers: tuple[tuple[str, Callable[[object], int | Fraction]], ...] = (
        ("max-cost", exact_amounts.dollars),
        ("max-input-equivalents", exact_amounts.tokens),
        ("min-hit-rate", exact_amounts.share),
        ("max-misses", exact_amounts.count),
        ("max-lost-cost", exact_amounts.dollars),
    )
    for kind, reader in readers:
        text = options[kind.replace("-", "_")]
        if text is not None:
            limits.append(Limit(kind=kind, value=Fraction(_read(kind, reader, text))))  # type: ignore[arg-type]
    for text in options["forbid"]:
        limits.append(Limit(kind="forbid", value=Fraction(0), cause=_read("forbid", cause_name, text)))
    for text in options["max_growth"]:
        growth = _read("max-growth", exact_amounts.growth_in_dollars, text)
        limits.append(Limit(kind="max-growth", value=growth.amount, metric="cost", relative=growth.relative))
    return Budget(name=NAME, limits=tuple(limits)) if limits else None


def load(file: str) -> Config:
    """A configuration. Raises WrittenFileError."""
    from agentsim.budget.budget_config import load_config

    return load_config(file)


def nearest_config() -> str | None:
    """The configuration that applies here."""
    from agentsim.budget.budget_config import find_config

    return find_config()


def baseline_file(config: Config | None, given: str | None) -> str:
    """The file of the baseline: the one named, the configuration's, or the usual name beside it."""
    from agentsim.budget.cost_baseline import DEFAULT_NAME

    if given is not None:
        return given
    root = config.root if config is not None else "."
    return os.path.normpath(os.path.join(root, (config.baseline if config is not None else None) or DEFAULT_NAME))


def read_measures(file: str, against: str | None = None) -> dict[str, Measures | None] | None:
    """The measures of a baseline; ``None`` when there is no such file. Raises Failure for a broken one.

    With ``against`` those that were committed where HEAD and that branch part.
    """
    from agentsim.budget.branch_point import baseline_at
    from agentsim.budget.cost_baseline import BaselineError, measures_of, read_baseline

    try:
        return measures_of(read_baseline(file) if against is None else baseline_at(file, against))
    except BaselineError as error:
        if error.missing:
            return None
        remedy = "'agentsim baseline write' writes it anew" if against is None else "name a branch or a commit"
        raise Failure(error.reason, file=file, remedy=remedy) from error


def inputs_of(config: Config | None, paths: tuple[str, ...]) -> list[str]:
    """The files to read: those named, or those that the configuration's patterns find. Raises Failure for none."""
    from agentsim.commands.options.session_inputs import check_path

    for path in paths:
        check_path(path)
    if paths:
        return list(paths)
    if config is None:
        raise Failure(
            "no PATH, and no agentsim.toml here or above",
            remedy="name a log, or write a configuration",
            code=ExitCode.USAGE,
        )
    from agentsim.budget.file_globs import matching_files

    globs = config.traces or tuple(glob for budget in config.budgets for glob in budget.traces)
    if not globs:
        reason = "no PATH, and the configuration names no traces"
        raise Failure(reason, file=config.file, remedy='write traces = ["recordings/*.jsonl"]', code=ExitCode.USAGE)
    found = matching_files(config.root, globs)
    if not found:
        raise Failure("its patterns match no file", file=config.file, remedy=f"looked for {', '.join(globs)}")
    return found


def _read(kind: str, reader: Callable[[object], Any], text: str) -> Any:
    try:
        return reader(text)
    except ValueError as error:
        raise Failure(f"--{kind} {text}: {error}", code=ExitCode.USAGE) from None
