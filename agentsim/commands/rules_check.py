"""``agentsim rules check``: a rules file of one's own, checked."""

from __future__ import annotations

import sys

import click

from agentsim.commands.options.command import LOG, Command
from agentsim.report.exits import ExitCode

EXAMPLES = (
    ("agentsim rules check mine.toml", "Every mistake in it, with its line and what to do."),
    ("agentsim replay session.jsonl --rules mine.toml", "Then use it."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Check a file of caching rules of your own.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=LOG)
def command(files: tuple[str, ...]) -> ExitCode:
    """Check files of provider rules: spelling, values, dates, sources, and that no rule that is needed is missing.

    docs/providers.md tells what a file holds. The exit code is 1 when there is a mistake.
    """
    from agentsim.commands.options.session_inputs import check_path
    from agentsim.report.figures import plural
    from agentsim.report.paper import Paper
    from agentsim.report.screen.rules_page import write_rules_problems
    from agentsim.rules.providers.rules_file_check import check_rules, idle_patterns

    paper = Paper.on(sys.stdout)
    failed = False
    for path in files:
        check_path(path)
        file, problems = check_rules(path)
        write_rules_problems(paper, problems)
        failed = failed or bool(problems)
        if file is not None and not problems:
            count = sum(len(options) for part in (file.figures, file.marked) for options in part.rules.values())
            write_rules_problems(paper, idle_patterns(file))
            paper.line(f"{path}: rules of {file.provider}, {plural(count, 'figure')}, no mistake")
    return ExitCode.FINDINGS if failed else ExitCode.OK
