"""The command line: ``agentsim COMMAND``. The only module that knows every command."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from agentsim import __version__
from agentsim.commands.options.command import write_examples
from agentsim.report.exits import ExitCode, Failure

NAME = "agentsim"
COMPLETION_VARIABLE = "_AGENTSIM_COMPLETE"
TRACEBACK_VARIABLE = "AGENTSIM_TRACEBACK"

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a full disk says, wherever something is written: no defect of a program."""

COMMANDS: dict[str, str] = {
    "replay": "Show each request of a session and why its cache was lost.",
    "tui": "Look at sessions row by row, in the terminal or a browser.",
    "summary": "Show what all sessions cost, and what the cache lost.",
    "compare": "Show what would have been cheaper, policy by policy.",
    "policies": "List the policies that a comparison can try.",
    "serving": "Show the hit rate of a serving trace by size of the cache.",
    "sweep": "Judge and simulate thousands of logs, on many machines.",
    "report": "Show what a fleet loses, where, and what would save it.",
    "watch": "Tell when a fleet began to lose more of its cache.",
    "run": "Simulate agents that do not exist yet.",
    "scenarios": "List the bundled scenarios.",
    "fit": "Make a scenario with the sizes and times of recorded sessions.",
    "explain": "Explain the code of a cause.",
    "agree": "Compare blind verdicts with the provider's recorded reasons.",
    "check": "Hold recorded sessions to their budgets.",
    "diff": "Compare two recordings, request by request.",
    "baseline": "Write down what sessions cost, to measure growth from.",
    "probe": "Measure the rules of a provider's cache.",
    "live": "Send a recorded session to a real endpoint.",
    "exec": "Run a harness against an emulated provider.",
    "serve": "Emulate a provider, cache included, for real harnesses.",
    "record": "Record a harness's real traffic, and pass it on.",
    "calibrate": "Fit a provider's lifetimes and steps to your own logs.",
    "engine": "Measure what a prefix cache changes on this machine.",
    "lab": "Run experiments on caches, beside published figures.",
    "size": "Show how large a model's K/V is, and how many sessions fit.",
    "granularity": "Weigh the entries of a prefix cache against recomputation.",
    "providers": "Show the caching rules of each provider, with sources.",
    "rules": "Check a file of caching rules of your own.",
    "formats": "List the log formats that can be read.",
    "convert": "Turn a log into an agentsim/1 trace, to keep or to share.",
    "schema": "Print the JSON Schema of agentsim/1 traces.",
    "completion": "Print the script for tab completion.",
}
"""Each command and its short help, said here too so that ``agentsim --help`` imports none of them."""

EXAMPLES = (
    ("agentsim summary", "What your Claude Code sessions cost and lost."),
    ("agentsim replay session.jsonl", "One session, request by request."),
    ("agentsim explain AS301", "What a cause means and how to fix it."),
)


class Program(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, the most used first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        found = import_module(f"agentsim.commands.{cmd_name}").command
        assert isinstance(found, click.Command)
        return found

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then what the program does."""
        write_examples(formatter, EXAMPLES)
        super().format_help_text(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=Program,
    invoke_without_command=True,
    name=NAME,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="'agentsim COMMAND --help' tells more. Exit codes: 0 all well, 1 findings, 2 usage, 3 input unreadable.",
)
@click.version_option(__version__, "--version", message="agentsim %(version)s")
@click.pass_context
def program(ctx: click.Context) -> ExitCode | None:
    """Which request of an LLM agent lost its prompt cache, why, and what it cost."""
    if ctx.invoked_subcommand is not None:
        return None
    click.echo(ctx.get_help())
    return ExitCode.USAGE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. No exception leaves it, unless AGENTSIM_TRACEBACK asks for it."""
    _survive_any_text()
    try:
        return _run(arguments)
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python must not find that out again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except OSError as error:
        if error.errno not in _FULL:
            return _defect(error)
        reason = error.strerror or type(error).__name__
        return _complain(Failure(reason, file=error.filename, remedy="make room", code=ExitCode.USAGE))
    except Exception as error:
        return _defect(error)


def _defect(error: Exception) -> int:
    """No traceback, which would repeat words of a log to the terminal as they are, unless one is asked for."""
    if os.environ.get(TRACEBACK_VARIABLE):
        raise error
    reason = f"this is a defect of agentsim: {type(error).__name__}: {error}"
    remedy = f"please report it; {TRACEBACK_VARIABLE}=1 shows where it happened"
    return _complain(Failure(reason[:1000], remedy=remedy, code=ExitCode.DEFECT))


def _run(arguments: Sequence[str] | None) -> int:
    completing = os.environ.get(COMPLETION_VARIABLE)
    if completing:
        from click.shell_completion import shell_complete

        return shell_complete(program, {}, NAME, COMPLETION_VARIABLE, completing)
    try:
        # Not program.main(): it turns a closed pipe into exit code 1.
        with program.make_context(NAME, list(sys.argv[1:] if arguments is None else arguments)) as ctx:
            result = program.invoke(ctx)
        sys.stdout.flush()
        return int(result) if isinstance(result, int) else ExitCode.OK
    except click.exceptions.Exit as leaving:
        sys.stdout.flush()
        return leaving.exit_code
    except Failure as failure:
        return _complain(failure)
    except click.ClickException as error:
        return _complain(_usage(error))
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("\n")
        return ExitCode.INTERRUPTED


def _usage(error: click.ClickException) -> Failure:
    where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else "agentsim"
    reason = error.format_message().rstrip(".")
    return Failure(reason[:1].lower() + reason[1:], remedy=f"see '{where} --help'", code=ExitCode.USAGE)


def _complain(failure: Failure) -> int:
    from agentsim.report.notices import complain

    complain(failure)
    return failure.code


def _survive_any_text() -> None:
    """Text that an output's encoding lacks is written as an escape instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
