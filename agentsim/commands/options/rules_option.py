"""The option ``--rules FILE``: a user's own rules, in force while one command runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import FILE, Decorator

if TYPE_CHECKING:
    from agentsim.rules.providers.rules_document import RulesFile


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
    """A user's rules file. Raises Failure where there is none, and WrittenFileError."""
    from agentsim.commands.options.session_inputs import check_path
    from agentsim.rules.providers.rules_library import read_rules_file

    check_path(path)
    return read_rules_file(path)
