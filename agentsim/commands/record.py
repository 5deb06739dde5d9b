"""``agentsim record``: real traffic passed on to a provider, and kept as a trace."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command
from agentsim.commands.options.endpoint_options import PORT_HELP, trace_options
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.gateway.serve.emulated_endpoint import RecordingEndpoint

EXAMPLES = (
    (
        "agentsim record --upstream https://api.anthropic.com --trace run.jsonl -- claude -p 'go'",
        "Record one run of a harness.",
    ),
    ("agentsim record --upstream https://api.openai.com --trace run.jsonl --port 8124", "Until Ctrl-C."),
    ("agentsim record --upstream https://api.anthropic.com --trace run.jsonl --fingerprint", "Without any words."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Record a harness's real traffic, and pass it on.")
@click.argument("words", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--upstream", metavar="URL", required=True, help="The provider to pass requests on to.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=None, help=f"{PORT_HELP}  [default: 8124; 0 for COMMAND]"
)
@trace_options
@rules_option
def command(
    words: tuple[str, ...], upstream: str, port: int | None, trace: str | None, fingerprint: bool, force: bool
) -> ExitCode:
    """Pass requests on to a real provider, answers back as they come, and write a trace of both.

    Requests cost what they always cost. COMMAND gets ANTHROPIC_BASE_URL, OPENAI_BASE_URL and AGENTSIM_URL; its keys go
    to the provider and are never written. The exit code is 3 when COMMAND failed or the trace could not be written.
    """
    from agentsim.commands.options.endpoint_options import (
        check_trace,
        need_extra,
        port_failure,
        tell_trace_failure,
        trace_failure,
    )
    from agentsim.report.figures import plural
    from agentsim.report.notices import warn
    from agentsim.report.paper import Paper

    if trace is None:
        raise Failure("no --trace", remedy="name the file to record to", code=ExitCode.USAGE)
    check_upstream(upstream)
    check_trace(trace, force)
    need_extra()
    from agentsim.gateway.serve.emulated_endpoint import recording
    from agentsim.gateway.serve.loopback_server import PortTaken

    chosen = port if port is not None else 0 if words else 8124
    try:
        endpoint = recording(upstream, port=chosen, trace=trace, fingerprint=fingerprint, overwrite=force)
    except PortTaken as error:
        raise port_failure(chosen, error) from None
    except OSError as error:
        raise trace_failure(trace, error) from None
    status = 0
    if words:
        status = _run(words, endpoint)
    else:
        url = endpoint.server.url

        def ready() -> None:
            Paper.on(sys.stdout).line(f"recording on {url}, passing on to {upstream} (Ctrl-C stops)")
            sys.stdout.flush()

        endpoint.server.until_stopped(ready)
    sessions = endpoint.recorder.sessions
    sessions.finish()
    if status == ExitCode.INTERRUPTED:
        return ExitCode.INTERRUPTED
    failed = tell_trace_failure(sessions.failure, trace)
    if endpoint.recorder.unread:
        passed = plural(endpoint.recorder.unread, "exchange")
        warn(f"{passed} could not be understood; what was passed on is not in the trace")
    if failed is not ExitCode.OK:
        return failed
    if not sessions.requests:
        raise Failure("no request was recorded", remedy="see that the harness uses this endpoint")
    warn(f"{plural(sessions.requests, 'request')} recorded in {trace}")
    if status:
        warn(f"the command ended with {status}")
    return ExitCode.OK if not status else ExitCode.UNREADABLE


def check_upstream(upstream: str) -> None:
    """Raise Failure for what is no address of a provider."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(upstream)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and parts.username is None
    except ValueError:
        fine = False
    if not fine:
        remedy = "write https://HOST, without a user or a query"
        raise Failure(f"--upstream {upstream}: no address", remedy=remedy, code=ExitCode.USAGE)


def _run(words: tuple[str, ...], endpoint: RecordingEndpoint) -> int:
    import os

    from agentsim.gateway.serve.child_process import recorded_environment, run_child

    with endpoint.server.beside():
        try:
            return run_child(words, dict(os.environ) | recorded_environment(endpoint.server.url))
        except OSError as error:
            reason = f"cannot be run: {error.strerror}"
            raise Failure(reason, file=words[0], remedy="check the command", code=ExitCode.USAGE) from None
