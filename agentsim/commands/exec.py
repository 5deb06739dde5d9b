"""``agentsim exec``: run a harness against an emulated provider, and judge what it did."""

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
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

EXAMPLES = (
    ("agentsim exec -- claude -p 'look around' --allowedTools Bash", "A session that costs nothing, judged."),
    ("agentsim exec --script loop.toml --trace run.jsonl -- pi -p 'go'", "Your own answers; keep the trace."),
    ("agentsim exec --max-misses 0 --forbid AS1xx -- ./my-agent", "For a CI: fail when a prefix breaks."),
)


@click.command(
    cls=Command,
    examples=EXAMPLES,
    short_help="Run a harness against an emulated provider.",
    context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": False},
)
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help=PORT_HELP)
@emulation_options
@trace_options
@budget_option
@fail_on_option
@max_refused_option(0)
@click.option(
    "--pass-env", metavar="NAME", multiple=True, help="Hand this variable to COMMAND although it holds a key."
)
@limit_options
@rules_option
def command(
    words: tuple[str, ...], port: int, trace: str | None, force: bool, config: str | None, **options: Any
) -> ExitCode:
    """Start an emulated provider on a free port, run COMMAND against it, and show each request with its verdict.

    COMMAND gets ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL, keys that are dummies, and AGENTSIM_URL
    for harnesses that read none of them; no real key of any provider. Exit codes are those of 'agentsim check', and 1
    where more requests were refused than may be; a command that fails cannot be judged (3).
    """
    from agentsim.commands.options.endpoint_options import (
        budgets_of,
        check_trace,
        emulated_endpoint,
        judge,
        show_sessions,
        tell_refusals,
        tell_trace_failure,
        trace_place,
    )
    from agentsim.gateway.serve.child_process import emulated_environment, run_child

    check_trace(trace, force)
    loaded, budgets = budgets_of(config, options)
    with trace_place(trace) as file:
        endpoint = emulated_endpoint({**options, "force": force}, port, file)
        with endpoint.server.beside():
            try:
                status = run_child(words, emulated_environment(endpoint.server.url, options["pass_env"]))
            except OSError as error:
                reason = f"cannot be run: {error.strerror}"
                raise Failure(reason, file=words[0], remedy="check the command", code=ExitCode.USAGE) from None
        endpoint.sessions.finish()
        if status == ExitCode.INTERRUPTED:
            return ExitCode.INTERRUPTED
        failed = tell_trace_failure(endpoint.sessions.failure, file)
        if failed is not ExitCode.OK:
            return failed
        if not endpoint.sessions.requests:
            if len(endpoint.sessions.refused):
                tell_refusals(endpoint.sessions, None, ())
                reason = f"no request was answered{_ended(status)}"
                raise Failure(reason, remedy="see why they were refused")
            reason = f"no request reached the endpoint{_ended(status)}"
            raise Failure(
                reason, remedy="see that the command uses ANTHROPIC_BASE_URL, OPENAI_BASE_URL or AGENTSIM_URL"
            )
        show_sessions(file)
        code = judge(file, loaded, budgets, fail_on=options["fail_on"])
        refused = tell_refusals(endpoint.sessions, options["max_refused"], options["fail_on"])
        code = refused if code is ExitCode.OK else code
    if status:
        from agentsim.report.notices import warn

        warn(f"the command ended with {status}")
        return code if code is not ExitCode.OK else ExitCode.UNREADABLE
    sys.stdout.flush()
    return code


def _ended(status: int) -> str:
    return f", and the command ended with {status}" if status else ""
