"""A click command whose help begins with examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import click

from agentsim.commands.options.piped_input import LogPath

Function = TypeVar("Function", bound=Callable[..., Any])

WIDEST = 80
"""Cells of a line of help."""

Example = tuple[str, str]
"""A command line and what it is good for."""


class Command(click.Command):
    """A command with examples. They come first in its help, because they are what people look for."""

    def __init__(self, *args: Any, examples: Sequence[Example] = (), **more: Any) -> None:
        more.setdefault("context_settings", {"help_option_names": ["-h", "--help"]})
        super().__init__(*args, **more)
        self.examples = tuple(examples)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, then what the command does."""
        write_examples(formatter, self.examples)
        super().format_help_text(ctx, formatter)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[Example]) -> None:
    """Write a section of examples."""
    if examples:
        with formatter.section("Examples"):
            for line, purpose in examples:
                formatter.write(f"  {_folded(line)}\n      {purpose}\n")


def _folded(line: str) -> str:
    """A command line as a shell takes it on several lines, where it is too long for one: parted before its options."""
    first, *options = line.split(" --")
    lines = [first]
    for option in options:
        if len(lines[-1]) + len(option) > WIDEST - len("   -- \\"):
            lines.append(" ")
        lines[-1] += f" --{option}"
    return " \\\n  ".join(lines)


class Decorator(Protocol):
    """What gives a function a parameter of the command line and returns it."""

    def __call__(self, function: Function, /) -> Function: ...  # noqa: D102


def paths_argument(required: bool = True) -> Decorator:
    """The argument that takes logs: any number of files and folders, or '-' for standard input."""
    # Not Path(exists=True): a missing file is an unreadable input (exit code 3), not a wrong command line.
    metavar = "PATH..." if required else "[PATH]..."
    return click.argument("paths", metavar=metavar, nargs=-1, required=required, type=LOG)


FILE = click.Path()
"""A file or a folder: shells complete it. Whether it exists is not asked here."""

LOG = LogPath()
"""The same, to read: also what comes through a pipe."""

json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Write JSON for programs instead of a page."
)
"""The option that asks for JSON."""

strict_option: Decorator = click.option(
    "--strict", is_flag=True, help="Exit with 3 when any part of the input was skipped."
)
"""The option that takes no excuses."""

content_option: Decorator = click.option("--content", is_flag=True, help="Show words of the log. They may be private.")
"""The option without which no word of a conversation is shown."""

session_option: Decorator = click.option(
    "--session", "session_id", metavar="ID", help="Only the session whose id begins so."
)
"""The option that picks a session."""

force_option: Decorator = click.option("--force", is_flag=True, help="Overwrite a file that is there.")
"""The option that lets a file be replaced."""

fingerprint_option: Decorator = click.option(
    "--fingerprint", is_flag=True, help="Keep no words: sizes, and digests under a key that is thrown away."
)
"""The option that makes a trace fit to be shared."""


def all_option(what: str) -> Decorator:
    """The option that leaves nothing out; ``what`` says what is left out otherwise."""
    return click.option("--all", "every", is_flag=True, help=f"Leave nothing out: {what}.")


def output_option(
    what: str, *, name: str = "target", folder: bool = False, required: bool = False, also: tuple[str, ...] = ()
) -> Decorator:
    """The option that says where to write ``what``: a file or, with ``folder``, a folder. ``name`` is what the function
    of the command calls it; ``also`` are older spellings that still work."""
    kind, place = ("FOLDER", "there") if folder else ("FILE", "there ('-': standard output)")
    spellings = ("-o", "--output", *also, name)
    return click.option(*spellings, metavar=kind, type=FILE, required=required, help=f"Write {what} {place}.")
