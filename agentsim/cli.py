"""The command line: ``agentsim COMMAND``. The only module that knows every command."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import UnsupportedOperation

import click

from agentsim import __version__
from agentsim.commands.options.command import write_examples
from agentsim.core.file_problems import FileProblem, WrittenFileError
from agentsim.core.near_words import nearest
from agentsim.report.exits import ExitCode, Failure

NAME = "agentsim"
COMPLETION_VARIABLE = "_AGENTSIM_COMPLETE"
TRACEBACK_VARIABLE = "AGENTSIM_TRACEBACK"

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a full disk says, wherever something is written: no defect of a program."""

SECTIONS: dict[str, dict[str, str]] = {
    "What happened, and what it cost": {
        "summary": "Show what all sessions cost, and what the cache lost.",
        "replay": "Show each request of a session and why its cache was lost.",
        "context": "Show what filled the context, and what carrying it cost.",
        "explain": "Explain the code of a cause.",
        "tui": "Look at sessions row by row, in the terminal or a browser.",
        "agree": "Compare blind verdicts with the provider's recorded reasons.",
    },
    "What would be cheaper": {
        "next": "Price what could be done next, before it is done.",
        "compare": "Show what would have been cheaper, policy by policy.",
        "policies": "List the policies that a comparison can try.",
        "tune": "Choose settings by simulation, write them, and prove them.",
        "run": "Simulate agents that do not exist yet.",
        "scenario": "List scenarios, or make one from recorded sessions.",
    },
    "Keep it that way": {
        "check": "Hold recorded sessions to their budgets.",
        "diff": "Compare two recordings, request by request.",
        "baseline": "Write down what sessions cost, to measure growth from.",
        "fleet": "Judge thousands of logs, report on them, watch them.",
    },
    "Real harnesses": {
        "guard": "Warn in Claude Code before something expensive happens.",
        "mcp": "Serve read-only tools to agents over MCP.",
        "exec": "Run a harness against an emulated provider.",
        "serve": "Emulate a provider, cache included, for real harnesses.",
        "record": "Record a harness's real traffic, and pass it on.",
        "conform": "Run harnesses through acts, and compare their prefixes.",
    },
    "What it all rests on": {
        "rules": "Show, check, fit and measure the rules of providers.",
        "trace": "List log formats, and turn a log into an agentsim/1 trace.",
        "engine": "Measure prefix caches on a real model, and size them.",
        "doctor": "Show what was found, what was not read, what is installed.",
        "completion": "Print the script for tab completion.",
    },
}
"""Each command and its short help, in the order in which people come to need them. Said here too, so that
``agentsim --help`` imports no command."""

GROUPS: dict[str, dict[str, str]] = {
    "guard": {
        "install": "Put the status line and the hooks into Claude Code.",
        "status": "Show what is installed, the limits, and what went wrong.",
        "undo": "Take the status line and the hooks out again.",
        "statusline": "Write Claude Code's status line: the cache and its price.",
        "hook": "Answer Claude Code's hooks: warn, ask or block by price.",
    },
    "tune": {
        "propose": "Choose settings from recorded sessions (what 'tune' alone does).",
        "verify": "Hold what was predicted against the sessions since.",
        "undo": "Take the settings out again.",
    },
    "scenario": {
        "list": "List the bundled scenarios.",
        "fit": "Make a scenario with the sizes and times of recorded sessions.",
    },
    "fleet": {
        "sweep": "Judge and simulate thousands of logs, on many machines.",
        "report": "Show what a fleet loses, where, and what would save it.",
        "watch": "Tell when a fleet began to lose more of its cache.",
    },
    "rules": {
        "show": "Show the caching rules of each provider, with sources.",
        "check": "Check a file of caching rules of your own.",
        "calibrate": "Fit a provider's lifetimes and steps to your own logs.",
        "probe": "Measure the rules of a provider's cache.",
        "live": "Send a recorded session to a real endpoint.",
    },
    "trace": {
        "formats": "List the log formats that can be read.",
        "convert": "Turn a log into an agentsim/1 trace, to keep or to share.",
        "schema": "Print the JSON Schema of agentsim/1 traces.",
    },
    "engine": {
        "bench": "Measure what a prefix cache changes on this machine.",
        "lab": "Run experiments on caches, beside published figures.",
        "size": "Show how large a model's K/V is, and how many sessions fit.",
        "granularity": "Weigh the entries of a prefix cache against recomputation.",
        "capacity": "Show the hit rate of a serving trace by size of the cache.",
    },
}
"""The commands of each group; ``rules show`` is the module ``agentsim.commands.rules_show``."""

DEFAULTS: dict[str, str] = {"tune": "propose"}
"""Groups that are a command of their own: ``agentsim tune PATH`` is ``agentsim tune propose PATH``."""

SHORT: dict[str, str] = {
    "statusline": "guard statusline",
    "hook": "guard hook",
    "providers": "rules show",
    "calibrate": "rules calibrate",
    "probe": "rules probe",
    "live": "rules live",
    "sweep": "fleet sweep",
    "report": "fleet report",
    "watch": "fleet watch",
    "formats": "trace formats",
    "convert": "trace convert",
    "schema": "trace schema",
    "lab": "engine lab",
    "size": "engine size",
    "granularity": "engine granularity",
    "serving": "engine capacity",
    "scenarios": "scenario list",
    "fit": "scenario fit",
}
"""Commands of groups by one word: ``agentsim size`` is ``agentsim engine size``. Help does not list them."""

COMMANDS: dict[str, str] = {name: text for section in SECTIONS.values() for name, text in section.items()}
"""All commands and groups with their short help."""

LEAVES: tuple[str, ...] = tuple(
    f"{name} {member}".rstrip() for name in COMMANDS for member in GROUPS.get(name, {"": ""})
)
"""All commands that do something, as they are typed."""

EXAMPLES = (
    ("agentsim summary", "What the sessions on this machine cost and lost."),
    ("agentsim replay session.jsonl", "One session, request by request."),
    ("agentsim explain AS301", "What a cause means and how to fix it."),
)


def load_command(words: str) -> click.Command:
    """A command by what is typed for it (``rules show``): its module is imported now."""
    found = import_module(f"agentsim.commands.{words.replace(' ', '_')}").command
    assert isinstance(found, click.Command)
    return found


class _LazyGroup(click.Group):
    """A group that knows its commands by name and short help, and imports one when it is used."""

    def sections(self) -> dict[str, dict[str, str]]:
        """The commands to list, section by section."""
        raise NotImplementedError

    def also_known(self) -> tuple[str, ...]:
        """Names that work and are not listed."""
        return ()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of their sections."""
        return [name for section in self.sections().values() for name in section]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant. Raises UsageError, with the nearest name, where there is none."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = nearest(name, [*self.list_commands(ctx), *self.also_known()])
            hint = f"; did you mean '{near[0]}'?" if near else ""
            ctx.fail(f"no such command: '{name[:60]}'{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands without importing them."""
        for title, members in self.sections().items():
            with formatter.section(title):
                formatter.write_dl(list(members.items()))


class Family(_LazyGroup):
    """The commands of one group (``rules``)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what names no member as arguments of the default member, where the group has one."""
        default = DEFAULTS.get(self.name or "")
        if default is not None and (not args or args[0] not in {*GROUPS[self.name or ""], "-h", "--help"}):
            args = [default, *args]
        return super().parse_args(ctx, args)

    def sections(self) -> dict[str, dict[str, str]]:
        """One section."""
        return {"Commands": GROUPS[self.name or ""]}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        return load_command(f"{self.name} {cmd_name}") if cmd_name in GROUPS[self.name or ""] else None


class Program(_LazyGroup):
    """The program: commands, and groups of commands."""

    def sections(self) -> dict[str, dict[str, str]]:
        """The most used first."""
        return SECTIONS

    def also_known(self) -> tuple[str, ...]:
        """Commands of groups by one word."""
        return tuple(SHORT)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command, or make a group."""
        if cmd_name in GROUPS:
            return Family(
                cmd_name,
                help=COMMANDS[cmd_name],
                short_help=COMMANDS[cmd_name],
                context_settings={"help_option_names": ["-h", "--help"]},
            )
        if cmd_name in COMMANDS:
            return load_command(cmd_name)
        return load_command(SHORT[cmd_name]) if cmd_name in SHORT else None

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then what the program does."""
        write_examples(formatter, EXAMPLES)
        super().format_help_text(ctx, formatter)


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
    from agentsim.traces.harness_places import count_logs, found_places

    places = [(place, count_logs(place)) for place in found_places()]
    if not places:
        click.echo(ctx.get_help())
        return ExitCode.USAGE
    from agentsim.report.paper import Paper
    from agentsim.report.screen.places_page import write_places

    write_places(Paper.on(sys.stdout), places)
    return ExitCode.OK


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. No exception leaves it, unless AGENTSIM_TRACEBACK asks for it."""
    _have_streams()
    _survive_any_text()
    try:
        return _run(arguments)
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python must not find that out again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except UnsupportedOperation:
        return _complain(Failure("standard output is closed", remedy="open it, or name a file", code=ExitCode.USAGE))
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
    except WrittenFileError as error:
        return max(_complain(_misuse(problem)) for problem in error.problems)
    except click.ClickException as error:
        return _complain(_usage(error))
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("\nagentsim: stopped\n")
        return ExitCode.INTERRUPTED


def _misuse(found: FileProblem) -> Failure:
    return Failure(found.what, file=found.file, line=found.line, remedy=found.remedy, code=ExitCode.USAGE)


def _usage(error: click.ClickException) -> Failure:
    where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else "agentsim"
    reason = error.format_message().rstrip(".")
    return Failure(reason[:1].lower() + reason[1:], remedy=f"see '{where} --help'", code=ExitCode.USAGE)


def _complain(failure: Failure) -> int:
    from agentsim.report.notices import complain

    complain(failure)
    return failure.code


def _have_streams() -> None:
    """Python starts without a stream that is closed. Writing to what takes its place says so, and is no defect."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the program runs
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _survive_any_text() -> None:
    """Text that an output's encoding lacks is written as an escape instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
