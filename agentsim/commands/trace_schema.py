"""``agentsim trace schema``: the JSON Schema of the project's own trace format."""

from __future__ import annotations

import json
import sys

import click

from agentsim.commands.options.command import Command
from agentsim.report.exits import ExitCode

EXAMPLES = (
    ("agentsim trace schema > agentsim-1.schema.json", "For an editor, or for a program that writes traces."),
    ("agentsim trace schema --scenario > scenario.schema.json", "The same for scenario files."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Print the JSON Schema of agentsim/1 traces.")
@click.option("--scenario", is_flag=True, help="That of scenario files instead.")
def command(scenario: bool) -> ExitCode:
    """Print the JSON Schema of one line of an agentsim/1 trace."""
    if scenario:
        from agentsim.scenarios.scenario_schema import json_schema as schema
    else:
        from agentsim.traces.readers.agentsim1.trace_wire import schema
    sys.stdout.write(json.dumps(schema(), indent=2, sort_keys=True) + "\n")
    return ExitCode.OK
