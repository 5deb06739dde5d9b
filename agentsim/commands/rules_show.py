"""``agentsim rules show``: the rules that are in force, and where each comes from."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime

import click

from agentsim.commands.options.command import Command, json_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.core.dates import start_of
from agentsim.report.exits import ExitCode, Failure

EXAMPLES = (
    ("agentsim rules show", "All providers, one line each."),
    ("agentsim rules show anthropic --model claude-opus-5", "Each rule for a model, its source, and how sure it is."),
    ("agentsim rules show qwen --at 2026-03-31", "What held on a day."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Show the caching rules of each provider, with sources.")
@click.argument("name", required=False)
@click.option("--at", "day", metavar="DATE", help="The day to ask for, as 2026-11-29; by default today.")
@click.option("--model", metavar="MODEL", default="", help="The rules of one model.")
@rules_option
@json_option
def command(name: str | None, day: str | None, model: str, as_json: bool) -> ExitCode:
    """List the providers whose rules are known, or tell each rule of the one called NAME.

    A rule without a source in the list of one provider is one that its file does not state. Confidence is high where
    documentation says so, medium where it was observed, low where it is assumed or sources disagree.
    """
    from agentsim.rules.providers.rules_library import load_rules, provider_names
    from agentsim.rules.providers.rules_resolution import resolve

    when = _start_of(day)
    found = []
    for each in provider_names() if name is None else [name]:
        file = load_rules(each)
        resolved = [resolve(file, model, when, None, marked) for marked in (False, True)]
        found.append((file, resolved[0], resolved[1]))
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.screen.rules_page import providers_document

        write_document(sys.stdout, providers_document(found))
        return ExitCode.OK
    from agentsim.report.paper import Paper
    from agentsim.report.screen.rules_page import write_provider, write_providers

    paper = Paper.on(sys.stdout)
    if name is None:
        write_providers(paper, found)
    else:
        write_provider(paper, *found[0], when, model)
    return ExitCode.OK


def _start_of(day: str | None) -> int:
    try:
        return start_of(datetime.now(UTC).date() if day is None else date.fromisoformat(day))
    except ValueError:
        raise Failure(f"--at {day}: not a day", remedy="write it as 2026-11-29", code=ExitCode.USAGE) from None
