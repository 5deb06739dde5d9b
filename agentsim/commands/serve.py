"""``agentsim serve``: a provider on this machine, for harnesses to run against."""

from __future__ import annotations

import sys
from typing import Any

import click

from agentsim.commands.options.budget_options import limit_options
from agentsim.commands.options.command import Command
from agentsim.commands.options.endpoint_options import (
    PORT_HELP,
    budget_option,
    emulation_options,
    fail_on_option,
    max_refused_option,
    trace_options,
)
from agentsim.commands.options.engine_options import backend_option, model_options, paranoid_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode

EXAMPLES = (
    ("agentsim serve --port 8123 --trace run.jsonl", "Serve until Ctrl-C; then 'agentsim replay run.jsonl'."),
    ("agentsim serve --script loop.toml --first-token 600 --rate 80", "Your own answers, at a real pace."),
    ("agentsim serve --fault 529@3x2 --fault 429/10", "See how a harness retries."),
    ("agentsim serve --backend engine", "A real model on this machine answers, from its own prefix cache."),
    ("agentsim serve --fail-on miss", "Exit with 1 if a request lost its cache."),
    ("agentsim serve --budget agentsim.toml", "Exit with 1 if a budget is broken."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Emulate a provider, cache included, for real harnesses.")
@click.option("--port", type=click.IntRange(0, 65535), default=8123, show_default=True, help=PORT_HELP)
@emulation_options
@backend_option
@model_options
@paranoid_option
@click.option(
    "--new-tokens",
    type=click.IntRange(1, 100_000),
    default=256,
    show_default=True,
    help="Longest answer of the engine.",
)
@click.option(
    "--memory", type=click.IntRange(1), default=2048, show_default=True, metavar="MIB", help="K/V memory of the engine."
)
@trace_options
@budget_option
@fail_on_option
@max_refused_option(None)
@limit_options
@rules_option
def command(port: int, trace: str | None, force: bool, config: str | None, **options: Any) -> ExitCode:
    """Serve the Anthropic and OpenAI APIs on loopback, with the provider's caching rules inside.

    No account is needed and nothing leaves the machine: answers are scripted, and their usage is what the modeled
    cache says. With --backend engine a real model answers, several requests in one batch, each stream token by token,
    and its own prefix cache is billed. Point a harness at it with ANTHROPIC_BASE_URL=http://127.0.0.1:PORT or
    OPENAI_BASE_URL=http://127.0.0.1:PORT/v1 and any key. With budgets or --fail-on the exit code is that of
    'agentsim check' when the server stops.
    """
    from agentsim.commands.options.endpoint_options import (
        budgets_of,
        check_trace,
        emulated_endpoint,
        judge,
        tell_refusals,
        tell_trace_failure,
        trace_place,
        voice_of,
    )
    from agentsim.report.paper import Paper

    check_trace(trace, force)
    loaded, budgets = budgets_of(config, options)
    voice = voice_of(options) if options["backend"] == "engine" else None
    with trace_place(trace) as file:
        endpoint = emulated_endpoint({**options, "force": force}, port, file, voice=voice)
        url = endpoint.server.url

        def ready() -> None:
            Paper.on(sys.stdout).line(f"serving on {url} (Ctrl-C stops)")
            sys.stdout.flush()

        endpoint.server.until_stopped(ready)
        endpoint.sessions.finish()
        failed = tell_trace_failure(endpoint.sessions.failure, file)
        if failed is not ExitCode.OK:
            return failed
        refused = tell_refusals(endpoint.sessions, options["max_refused"], options["fail_on"])
        if not endpoint.sessions.requests and len(endpoint.sessions.refused):
            return refused
        code = judge(file, loaded, budgets, fail_on=options["fail_on"])
        return refused if code is ExitCode.OK else code
