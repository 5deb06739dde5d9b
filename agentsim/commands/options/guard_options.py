"""What the commands of ``agentsim guard`` share: which settings file is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Decorator
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.guard.installation import SettingsPlan

scope_option: Decorator = click.option(
    "--scope",
    type=click.Choice(["user", "project", "local"]),
    default="user",
    show_default=True,
    help="Whose settings: yours, this folder's, or yours in this folder.",
)
yes_option: Decorator = click.option("--yes", is_flag=True, help="Write without asking.")


def show_difference(plan: SettingsPlan) -> None:
    """Write what would change in a settings file."""
    import sys
    from difflib import unified_diff

    from agentsim.report.paper import Paper, Style

    paper = Paper.on(sys.stdout)
    before = (plan.before or "").splitlines()
    for line in unified_diff(before, plan.after.splitlines(), plan.file, plan.file, lineterm=""):
        style = {"+": Style.GOOD, "-": Style.BAD, "@": Style.FAINT}.get(line[:1], Style.PLAIN)
        paper.line((line, style))


def agreed(yes: bool) -> bool:
    """Whether to go on: asked where somebody can answer. Raises Failure where nobody can."""
    import sys

    if yes:
        return True
    if not sys.stdin.isatty():
        raise Failure("nothing was written", remedy="give --yes to write it", code=ExitCode.USAGE)
    return click.confirm("Write it?", default=True)
