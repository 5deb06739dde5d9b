"""What ``serve``, ``exec`` and ``record`` share: their options, and what happens when their session is over."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from agentsim.commands.options.command import FILE, Function, fingerprint_option, force_option
from agentsim.core.extras import how_to_install, not_installed
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.budget.budget_limits import Budget
    from agentsim.core.session import Session
    from agentsim.gateway.emulator import Replier, Sessions
    from agentsim.gateway.model_voice import Voice
    from agentsim.gateway.serve.emulated_endpoint import EmulatedEndpoint

_TRACE_OPTIONS = (
    click.option("--trace", metavar="FILE", type=FILE, help="Write an agentsim/1 trace there, as requests come."),
    fingerprint_option,
    force_option,
)

_EMULATION_OPTIONS = (
    click.option("--script", metavar="FILE", type=FILE, help="What to answer, turn by turn (TOML or JSON)."),
    click.option("--replay", metavar="TRACE", type=FILE, help="Answer as a trace recorded it."),
    click.option("--first-token", metavar="MS", type=click.FloatRange(0, 600_000), default=0.0, help="Latency."),
    click.option("--rate", metavar="TOKENS/S", type=click.FloatRange(0.1, 1_000_000), help="Speed of the output."),
    click.option("--fault", metavar="STATUS@N", multiple=True, help="Inject errors: 529@3, 529@3x2, 429/5, cut@3."),
    click.option(
        "--window", metavar="TOKENS", type=click.IntRange(1), help="Context window.  [default: that of each model]"
    ),
    click.option("--retry-after", metavar="S", type=click.IntRange(0, 3600), default=1, help="What errors ask for."),
)

PORT_HELP = "Port on loopback; 0 takes any free one."

budget_option: Callable[[Function], Function] = click.option(
    "--budget", "config", metavar="FILE", type=FILE, help="Budgets to hold the session to (an agentsim.toml)."
)

NOTHING, BUDGET, MISS = "nothing", "budget", "miss"

fail_on_option: Callable[[Function], Function] = click.option(
    "--fail-on",
    metavar="WHAT",
    multiple=True,
    help="What makes the exit code 1: budget (a broken one, as always), miss (any lost cache), a cause such as AS103 "
    "or AS1xx, or nothing. May be repeated.",
)


def max_refused_option(default: int | None) -> Callable[[Function], Function]:
    """The option that says how many requests may be refused."""
    return click.option(
        "--max-refused",
        metavar="COUNT",
        type=click.IntRange(0),
        default=default,
        show_default=default is not None,
        help="Most requests that may be refused, injected errors apart.",
    )


def trace_options(function: Function) -> Function:
    """Give a command the options of its trace."""
    return _with(_TRACE_OPTIONS, function)


def emulation_options(function: Function) -> Function:
    """Give a command the options of an emulated endpoint."""
    return _with(_EMULATION_OPTIONS, function)


def _with(options: tuple[Callable[[Any], Any], ...], function: Function) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


def need_extra() -> None:
    """Raise Failure when what the endpoint is made of is not installed."""
    try:
        import httptools  # noqa: F401
        import httpx2  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise Failure(not_installed(error.name), remedy=how_to_install("serve"), code=ExitCode.USAGE) from None


def check_trace(trace: str | None, force: bool) -> None:
    """Raise Failure for a trace that would overwrite a file, whose folder is missing, or that is no file."""
    from agentsim.report.output import need_file

    need_file("--trace", trace, "the trace is read again when the session is over")
    check_new_file(trace, force)


def check_new_file(trace: str | None, force: bool) -> None:
    """Raise Failure for a file that would be overwritten, or whose folder is missing."""
    from agentsim.report.output import need_folder

    if trace is None:
        return
    if os.path.lexists(trace) and not force:
        raise Failure("this file exists", file=trace, remedy="choose another name, or --force", code=ExitCode.USAGE)
    if os.path.lexists(trace) and not os.path.isfile(trace):
        # It would be replaced: a device or a pipe must not be.
        raise Failure("not a file", file=trace, remedy="choose another name", code=ExitCode.USAGE)
    need_folder(trace)


@contextmanager
def trace_place(trace: str | None) -> Iterator[str]:
    """Where the trace goes: the file that was named, or one that is gone afterwards."""
    if trace is not None:
        yield trace
        return
    with tempfile.TemporaryDirectory(prefix="agentsim-") as folder:
        yield os.path.join(folder, "session.jsonl")


def replier_of(script: str | None, replay: str | None) -> Replier:
    """What decides what is said. Raises Failure."""
    if script is not None and replay is not None:
        raise Failure("--script and --replay exclude each other", remedy="give one of them", code=ExitCode.USAGE)
    if replay is not None:
        from agentsim.commands.options.session_inputs import read_sessions
        from agentsim.gateway.recorded_answers import NoRecordedAnswers, RecordedAnswers

        try:
            return RecordedAnswers(read_sessions((replay,), []))
        except NoRecordedAnswers as error:
            raise Failure(str(error), file=replay, remedy="record it without --fingerprint") from None
    from agentsim.gateway.answer_script import DEFAULT, load_script

    return DEFAULT if script is None else load_script(script)


def voice_of(options: Mapping[str, Any]) -> Voice:
    """The real model that answers. Raises Failure."""
    from agentsim.commands.options.engine_options import engine_failures, load_model
    from agentsim.gateway.model_voice import Voice

    for name in ("script", "replay", "first_token", "rate"):
        if options[name]:
            reason = f"--backend engine and --{name.replace('_', '-')} exclude each other"
            raise Failure(reason, remedy="a real model says what it says, at its own pace", code=ExitCode.USAGE)
    loaded = load_model(options)
    with engine_failures():
        from agentsim.engine.model_answers import Speaker

        try:
            pages = loaded.pages_in(options["memory"] * 2**20)
            speaker = Speaker(loaded, pages=pages, most=options["new_tokens"], paranoid=options["paranoid"])
            return Voice(speaker)
        except ValueError as error:
            raise Failure(str(error), remedy="give --weights a GGUF file", code=ExitCode.USAGE) from None


def emulated_endpoint(
    options: Mapping[str, Any], port: int, trace: str, *, voice: Voice | None = None
) -> EmulatedEndpoint:
    """The endpoint that the options ask for. Raises Failure."""
    need_extra()
    from agentsim.gateway.answer_pace import Pace
    from agentsim.gateway.injected_faults import Faults, parse_faults
    from agentsim.gateway.serve.emulated_endpoint import emulated
    from agentsim.gateway.serve.loopback_server import PortTaken

    replier = replier_of(options["script"], options["replay"])
    more: dict[str, Any] = {"window": options["window"], "overwrite": options["force"]} | (
        {} if voice is None else {"voice": voice}
    )
    try:
        faults = Faults(parse_faults(options["fault"]), options["retry_after"])
    except ValueError as error:
        raise Failure(f"--fault {error}", code=ExitCode.USAGE) from None
    pace = Pace.of(options["first_token"], options["rate"])
    try:
        return emulated(
            replier, port=port, trace=trace, fingerprint=options["fingerprint"], pace=pace, faults=faults, **more
        )
    except PortTaken as error:
        raise port_failure(port, error) from None
    except OSError as error:
        raise trace_failure(trace, error) from None


def trace_failure(trace: str, error: OSError) -> Failure:
    """The failure of a trace that cannot be begun."""
    return Failure(error.strerror or str(error), file=trace, remedy="choose another name", code=ExitCode.USAGE)


def port_failure(port: int, error: OSError) -> Failure:
    """The failure of a port that cannot be listened on."""
    reason = f"port {port} cannot be used: {error.strerror}"
    return Failure(reason, remedy="choose another --port, or 0 for any", code=ExitCode.USAGE)


def budgets_of(config: str | None, limits: Mapping[str, Any]) -> tuple[Any, tuple[Budget, ...]]:
    """The configuration that was named, and all budgets. Patterns in them are left out: there is one trace. Raises
    Failure."""
    import msgspec

    from agentsim.commands.options.budget_options import budget_of, load

    loaded = load(config) if config is not None else None
    own = budget_of(with_fail_on(limits))
    budgets = (*(loaded.budgets if loaded is not None else ()), *((own,) if own is not None else ()))
    if loaded is not None and not budgets:
        raise Failure("no [[budget]] in it", file=config, remedy="write one", code=ExitCode.USAGE)
    if BUDGET in limits["fail_on"] and not budgets:
        remedy = "name a file with --budget, or give a limit"
        raise Failure("--fail-on budget, and there is no budget", remedy=remedy, code=ExitCode.USAGE)
    return loaded, tuple(msgspec.structs.replace(budget, traces=()) for budget in budgets)


def with_fail_on(limits: Mapping[str, Any]) -> Mapping[str, Any]:
    """The limits with those that ``--fail-on`` asks for. Raises Failure for what it cannot mean."""
    wanted = limits["fail_on"]
    if NOTHING in wanted and len(wanted) > 1:
        raise Failure("--fail-on nothing excludes all others", remedy="give one of them", code=ExitCode.USAGE)
    causes = tuple(what for what in wanted if what not in (NOTHING, BUDGET, MISS))
    for what in causes:
        if not what.upper().startswith("AS"):
            remedy = "write budget, miss, nothing, or a cause such as AS103 or AS1xx"
            raise Failure(f"--fail-on {what}: no such thing", remedy=remedy, code=ExitCode.USAGE)
    found = {**limits, "forbid": (*limits["forbid"], *causes)}
    if MISS in wanted:
        found["max_misses"] = "0"
    return found


def judge(
    trace: str,
    loaded: Any,
    budgets: tuple[Budget, ...],
    baseline: str | None = None,
    *,
    fail_on: tuple[str, ...] = (),
) -> ExitCode:
    """Hold a trace to budgets, say how it went, and return the exit code. Without budgets all is well; where it fails
    on nothing they are told, and no more."""
    if not budgets:
        return ExitCode.OK
    from agentsim.commands.options.judged_budgets import run
    from agentsim.report.gate_reporters import write_gate_as
    from agentsim.report.json.gate_json import EXITS

    gate = run((trace,), loaded, budgets, baseline)
    write_gate_as(sys.stdout, "terminal", gate)
    return ExitCode.OK if NOTHING in fail_on else EXITS[gate.outcome]


def show_sessions(trace: str) -> list[Session]:
    """Write a page for each session of a trace, with verdicts."""
    from agentsim.commands.options.session_inputs import read_sessions
    from agentsim.diagnose import diagnose
    from agentsim.report.paper import Paper
    from agentsim.report.screen.replay_page import write_replay

    sessions = read_sessions((trace,), [])
    for session in sessions:
        if not session.requests:
            continue
        write_replay(Paper.on(sys.stdout), diagnose(session), rows="all", lane=None, content=False)
    return sessions


def tell_refusals(sessions: Sessions, most: int | None, fail_on: tuple[str, ...]) -> ExitCode:
    """Say what was not answered as asked, and whether more was refused than may be. Say too where no scripted call
    fitted."""
    from agentsim.report.figures import plural
    from agentsim.report.notices import warn
    from agentsim.report.paper import Paper
    from agentsim.report.screen.refused_page import write_refused

    paper = Paper.on(sys.stdout)
    write_refused(paper, sessions.refused)
    for tools, count in sessions.unfitted.items():
        named = ", ".join(tools[:12]) + (f" and {len(tools) - 12} more" if len(tools) > 12 else "")
        warn(f"no call of the script fitted {plural(count, 'request')}: the tools offered were {named}")
    refused = sessions.refused.count("refused")
    if most is None or refused <= most:
        return ExitCode.OK
    paper.line(f"{plural(refused, 'request')} refused, and at most {most:,} may be (--max-refused).")
    return ExitCode.OK if NOTHING in fail_on else ExitCode.FINDINGS


def tell_trace_failure(failure: OSError | None, trace: str) -> ExitCode:
    """Say that the trace could not be written, if so."""
    if failure is None:
        return ExitCode.OK
    from agentsim.report.notices import complain

    complain(Failure(f"the trace could not be written: {failure.strerror}", file=trace, remedy="free the disk"))
    return ExitCode.UNREADABLE
