"""The option ``--rules FILE``: a user's own rules, in force while one command runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import FILE, Decorator
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.rules.providers.rules_document import RulesFile, RulesFileError


def _bring(ctx: click.Context, _parameter: click.Parameter, paths: tuple[str, ...]) -> None:
    if paths and not ctx.resilient_parsing:
        from agentsim.rules.providers.rules_library import with_rules

        ctx.with_resource(with_rules(*[read_rules(path) for path in paths]))


rules_option: Decorator = click.option(
    "--rules",
    metavar="FILE",
    multiple=True,
    type=FILE,
    callback=_bring,
    expose_value=False,
    help="A provider's rules of your own (TOML); they stand before the bundled ones. May be repeated.",
)
"""Gives a command the option; the command itself need not know of it."""


def read_rules(path: str) -> RulesFile:
    """A user's rules file. Raises Failure."""
    from agentsim.commands.options.session_inputs import check_path, unreadable
    from agentsim.rules.providers.rules_document import RulesFileError
    from agentsim.rules.providers.rules_library import read_rules_file

    check_path(path)
    try:
        return read_rules_file(path)
    except OSError as error:
        raise unreadable(error, path) from error
    except RulesFileError as error:
        raise rules_failure(error, remedy=f"'agentsim rules check {path}' tells all mistakes") from None


def rules_failure(error: RulesFileError, *, remedy: str) -> Failure:
    """The failure that tells the first mistake of a rules file, or that there are no such rules."""
    if not error.problems:
        return Failure(str(error), remedy=remedy, code=ExitCode.USAGE)
    first = error.problems[0]
    reason = f"{first.key}: {first.reason}" if first.key else first.reason
    own = first.remedy if len(error.problems) == 1 else f"{first.remedy}; {remedy}"
    return Failure(reason, file=first.file, line=first.line, remedy=own, code=ExitCode.USAGE)
