"""``agentsim scenario fit``: a scenario with the distributions of recorded sessions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command, output_option, paths_argument, strict_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem

EXAMPLES = (
    ("agentsim scenario fit ~/.claude/projects/my-project -o mine.toml", "An agent that works as you do."),
    ("agentsim run mine.toml --set prompt.ttl=5m,1h --repeat 20", "Then change what you want to know about."),
)


@click.command(
    cls=Command, examples=EXAMPLES, short_help="Make a scenario with the sizes and times of recorded sessions."
)
@paths_argument()
@output_option("the scenario")
@strict_option
@rules_option
def command(paths: tuple[str, ...], target: str | None, strict: bool) -> ExitCode:
    """Write a scenario whose turns, rounds, sizes, pauses and tool times are those of the sessions in PATH.

    It holds numbers and the names of models, no word of a conversation.
    """
    from agentsim.commands.options.session_inputs import read_sessions, tell_skips
    from agentsim.report.output import need_folder, output, write_safe
    from agentsim.scenarios.scenario_fitting import as_toml, fit

    need_folder(target)
    problems: list[Problem] = []
    sessions = read_sessions(paths, problems)
    try:
        text = as_toml(fit(sessions), os.path.basename(os.path.normpath(paths[0])))
    except ValueError as error:
        raise Failure(str(error), file=paths[0], remedy="name sessions that report their usage") from error
    with output(target) as stream:
        write_safe(stream, text)
    return tell_skips(sessions, problems, strict)
