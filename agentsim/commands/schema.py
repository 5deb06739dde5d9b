"""``agentsim schema``: the JSON Schema of the project's own trace format."""

from __future__ import annotations

import json
import sys

import click

from agentsim.commands.command import Command
from agentsim.report.exits import ExitCode

EXAMPLES = (("agentsim schema > agentsim-1.schema.json", "For an editor, or for a program that writes traces."),)


@click.command(cls=Command, examples=EXAMPLES, short_help="Print the JSON Schema of agentsim/1 traces.")
def command() -> ExitCode:
    """Print the JSON Schema of one line of an agentsim/1 trace."""
    from traces.agentsim1.schema import schema

    sys.stdout.write(json.dumps(schema(), indent=2, sort_keys=True) + "\n")
    return ExitCode.OK
