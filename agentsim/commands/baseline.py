"""``agentsim baseline``: write down what sessions cost now, to measure growth from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.budget_options import config_option
from agentsim.commands.options.command import Command, output_option, paths_argument
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.budget.cost_baseline import BaselineEntry
    from agentsim.core.session import Problem

EXAMPLES = (
    ("agentsim baseline write", "The traces that the nearest agentsim.toml names, into its baseline."),
    ("agentsim baseline write traces/ -o baseline.json", "Named traces; the entries of others stay."),
    ("agentsim baseline diff", "What would change, and exit code 1 if anything would."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Write down what sessions cost, to measure growth from.")
@click.argument("action", type=click.Choice(["write", "diff"]))
@paths_argument(required=False)
@config_option
@output_option("the baseline, and not where the configuration says,")
@rules_option
def command(action: str, paths: tuple[str, ...], config: str | None, target: str | None) -> ExitCode:
    """Write the baseline, a file to commit: what each session cost, read, wrote and lost.

    The file is sorted, holds no times, and changes only where a session does. 'write' shows what it changes. Without
    PATH it is written anew; with PATH only the sessions of these files are replaced or added.
    """
    from agentsim.budget.budget_judging import look
    from agentsim.budget.cost_baseline import changes, entries_of, text_of, write_baseline
    from agentsim.budget.file_globs import relative_path
    from agentsim.budget.recordings import read_recordings
    from agentsim.commands.options.budget_options import baseline_file, inputs_of, load, nearest_config
    from agentsim.commands.options.piped_input import is_piped
    from agentsim.report.notices import tell_problems
    from agentsim.report.output import STDOUT, need_file, need_folder, write_safe
    from agentsim.report.paper import Paper
    from agentsim.report.screen.baseline_page import write_changes

    if action == "diff":
        need_file("--output", target, "'diff' compares with a file")
    piped = next(filter(is_piped, paths), None)
    if piped is not None:
        reason = "what a pipe brings has no name that a baseline could know it by"
        raise Failure(reason, file=piped, remedy="write it to a file first", code=ExitCode.USAGE)
    file = config or nearest_config()
    loaded = load(file) if file is not None else None
    root = loaded.root if loaded is not None else "."
    place = baseline_file(loaded, target)
    need_folder(place)
    problems: list[Problem] = []
    traces = []
    for recording in read_recordings(inputs_of(loaded, paths), problems):
        traces.append(look(recording, relative_path(recording.files[0], root))[0])
    if problems:
        # A baseline with a hole would excuse what it does not hold.
        tell_problems(problems)
        remedy = "mend or leave out what is named above"
        raise Failure("not written: part of the input cannot be read", file=place, remedy=remedy)
    before = {} if place == STDOUT else _before(place)
    after = entries_of(traces)
    if paths:
        read = tuple({f"{trace.path}#" for trace in traces})
        after = {**{key: entry for key, entry in before.items() if not key.startswith(read)}, **after}
    changed = changes(before, after)
    if place == STDOUT:
        write_safe(sys.stdout, text_of(after))
        return ExitCode.OK
    if action == "write":
        try:
            write_baseline(place, after)
        except OSError as error:
            remedy = "choose a place you may write to"
            raise Failure(error.strerror or str(error), file=place, remedy=remedy, code=ExitCode.USAGE) from error
    write_changes(Paper.on(sys.stdout), changed, place, len(after), written=action == "write")
    return ExitCode.FINDINGS if action == "diff" and changed else ExitCode.OK


def _before(place: str) -> dict[str, BaselineEntry]:
    from agentsim.budget.cost_baseline import BaselineError, read_baseline

    try:
        return read_baseline(place)
    except BaselineError as error:
        if error.missing:
            return {}
        raise Failure(error.reason, file=place, remedy="delete it to write it anew", code=ExitCode.USAGE) from error
