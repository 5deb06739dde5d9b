"""``agentsim completion``: the script that teaches a shell to complete command lines."""

from __future__ import annotations

import sys

import click

from agentsim.commands.options.command import Command
from agentsim.report.exits import ExitCode

EXAMPLES = (
    ('eval "$(agentsim completion bash)"', "In ~/.bashrc."),
    ('eval "$(agentsim completion zsh)"', "In ~/.zshrc."),
    ("agentsim completion fish | source", "In ~/.config/fish/config.fish."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Print the script for tab completion.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> ExitCode:
    """Print the script with which SHELL completes commands, options and file names."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "agentsim", "_AGENTSIM_COMPLETE")
    sys.stdout.write(script.source_template % script.source_vars() + "\n")
    return ExitCode.OK
