"""``agentsim trace formats``: which logs can be read, and which format a file has."""

from __future__ import annotations

import sys

import click

from agentsim.commands.options.command import Command, json_option, paths_argument
from agentsim.report.exits import ExitCode

EXAMPLES = (
    ("agentsim trace formats", "All formats that can be read."),
    ("agentsim trace formats *.jsonl", "Which format each file has."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="List the log formats that can be read.")
@paths_argument(required=False)
@json_option
def command(paths: tuple[str, ...], as_json: bool) -> ExitCode:
    """List the formats that can be read, or say which one each PATH has.

    A format is told from the content of a file, not from its name. A file in no known format makes the exit code 3.
    """
    from agentsim.commands.options.session_inputs import check_path, unreadable

    for path in paths:
        check_path(path)
    from agentsim.report.json.canonical_json import formats_document, write_document
    from agentsim.report.paper import Paper
    from agentsim.report.screen.formats_page import write_detected, write_formats
    from agentsim.traces.format_registry import all_formats, detect

    if not paths:
        if as_json:
            write_document(sys.stdout, formats_document(all_formats()))
        else:
            write_formats(Paper.on(sys.stdout), all_formats())
        return ExitCode.OK
    detected = []
    for path in paths:
        try:
            detected.append((path, detect(path)))
        except OSError as error:
            raise unreadable(error, path) from error
    if as_json:
        write_document(sys.stdout, formats_document(all_formats(), detected))
    else:
        write_detected(Paper.on(sys.stdout), detected)
    return ExitCode.OK if all(found for _, found in detected) else ExitCode.UNREADABLE
