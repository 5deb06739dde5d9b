"""``agentsim run``: simulate agents that do not exist yet."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from agentsim.commands.options.command import FILE, Command, json_option, output_option
from agentsim.commands.options.engine_options import (
    backend_option,
    check_pages,
    model_options,
    paranoid_option,
    rules_on_pages_option,
)
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.diagnose import Diagnosis
    from agentsim.engine.engine_run import EngineRun
    from agentsim.harness.plan import Plan
    from agentsim.harness.plan_run import Simulation
    from agentsim.harness.repeated_trials import RepeatedTrial
    from agentsim.scenarios.scenario_loading import Cell

EXAMPLES = (
    ("agentsim run atlas-14", "A bundled scenario; 'agentsim scenario list' lists them."),
    ("agentsim run my.toml --set prompt.ttl=5m,1h", "Try two values; each combination is a row."),
    ("agentsim run claude-code-day --repeat 20", "Twenty seeds, and how sure the mean is."),
    ("agentsim run pi-day -o pi.jsonl && agentsim replay pi.jsonl", "Judge a simulated session like a recorded one."),
    ("agentsim run fanout-2x2 --perfetto trace.json", "Look at it on ui.perfetto.dev."),
    ("agentsim run atlas-14 --backend engine --rules-on-pages anthropic", "Lived through on a real model's pages."),
)

LONGEST_ON_CPU = 1024
"""Tokens of the longest prompt on a CPU, unless asked otherwise."""

MOST_JUDGED = 20_000
"""Requests of a simulated session that is still judged for its page."""

MOST_AGENTS_KEPT = 1_000
"""Agents up to which the requests are kept although no file asks for them."""


@click.command(cls=Command, examples=EXAMPLES, short_help="Simulate agents that do not exist yet.")
@click.argument("scenario", metavar="SCENARIO")
@click.option("--set", "settings", metavar="KEY=VALUE[,VALUE...]", multiple=True, help="Change a key; try each value.")
@click.option("--repeat", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Seeds to run under.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="The first seed.  [default: the scenario's]")
@click.option("--chance", is_flag=True, help="Draw by lot which cache answers and what it drops early.")
@output_option("the sessions as an agentsim/1 trace")
@click.option("--perfetto", metavar="FILE", type=FILE, help="Write a trace for Perfetto or Chrome.")
@backend_option
@rules_on_pages_option
@model_options
@click.option(
    "--longest",
    type=click.IntRange(64, 10_000_000),
    metavar="TOKENS",
    help=f"On the engine: shrink prompts until none is longer. Default: {LONGEST_ON_CPU:,} on a CPU, else the context.",
)
@click.option(
    "--new-tokens",
    type=click.IntRange(1, 10_000),
    default=8,
    show_default=True,
    help="On the engine: how many to generate for each request.",
)
@paranoid_option
@json_option
@rules_option
def command(
    scenario: str,
    settings: tuple[str, ...],
    repeat: int,
    seed: int | None,
    chance: bool,
    target: str | None,
    perfetto: str | None,
    as_json: bool,
    backend: str,
    **engine: Any,
) -> ExitCode:
    """Simulate SCENARIO (a file, or the name of a bundled one) and account for whole tasks.

    The same scenario and seed give the same result, on every machine. With several values or seeds there is a row for
    each combination, with the interval of its mean. Costs are those of the price list at the scenario's time.

    With --backend engine a real model on this machine answers, on a clock that its measured steps move: requests that
    overlap are in it together, and the agents react to its answers. The exit code is 1 when a prediction was wrong.
    """
    from agentsim.report.output import STDOUT, check_targets
    from agentsim.scenarios.scenario_loading import load

    check_targets(("--output", target), ("--perfetto", perfetto), ("--json", STDOUT if as_json else None))
    cells = load(scenario, settings)
    single = len(cells) == 1 and repeat == 1
    small = cells[0].scenario.agents.count <= MOST_AGENTS_KEPT
    keep = target is not None or perfetto is not None or (single and small)
    first = cells[0].scenario.seed if seed is None else seed
    measured: list[tuple[str, EngineRun]] = []
    simulated = None
    if backend == "engine":
        if chance:
            raise Failure("an engine leaves nothing to chance", remedy="leave --chance out", code=ExitCode.USAGE)
        simulated = _on_engine(engine, measured)
    else:
        check_pages(engine["rules_on_pages"])
    trials = _run(cells, range(first, first + repeat), keep, chance, simulated)
    if target is not None:
        _write_sessions(trials, target)
    if perfetto is not None:
        _write_perfetto(trials, perfetto)
    story = cells[0].scenario.story
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.run_json import run_document

        document = run_document(trials, story)
        if measured:
            from agentsim.report.screen.engine_run_page import engine_run_record

            document["engine"] = [engine_run_record(run) for _, run in measured]
        write_document(sys.stdout, document)
    elif STDOUT not in (target, perfetto):  # what was written there stands alone
        from agentsim.report.paper import Paper
        from agentsim.report.screen.run_page import write_run

        judged = _judged(trials) if single else None
        paper = Paper.on(sys.stdout)
        write_run(paper, trials, story, judged)
        if measured:
            from agentsim.report.screen.engine_run_page import write_engine_runs

            write_engine_runs(paper, measured, None if judged is None else judged.verdicts)
    agree = all(run.agreeing == len(run.rows) for _, run in measured)
    return ExitCode.OK if agree else ExitCode.FINDINGS


def _on_engine(options: dict[str, Any], measured: list[tuple[str, EngineRun]]) -> Callable[[Plan], Simulation]:
    """How a plan is run on the engine; what was measured is added to ``measured``. Raises Failure."""
    from agentsim.commands.options.engine_options import engine_failures, load_model

    loaded = load_model(options)
    longest = options["longest"]
    if longest is None and loaded.model.device.type == "cpu":
        longest = LONGEST_ON_CPU

    def simulated(plan: Plan) -> Simulation:
        from agentsim.engine.engine_run import run_on_engine

        with engine_failures():
            run = run_on_engine(
                plan,
                loaded,
                new_tokens=options["new_tokens"],
                longest=longest,
                rules=options["rules_on_pages"],
                paranoid=options["paranoid"],
            )
        measured.append((f"{plan.name}, seed {plan.seed}", run))
        return run.simulation

    return simulated


def _run(
    cells: list[Cell], seeds: range, keep: bool, chance: bool, simulated: Callable[[Plan], Simulation] | None
) -> list[RepeatedTrial]:
    from agentsim.harness.repeated_trials import run_trial
    from agentsim.report.progress import ProgressBar

    total, done = len(cells) * len(seeds), 0
    trials = []
    with ProgressBar("simulating", unit="run", ticks=True) as progress:

        def step() -> None:
            nonlocal done
            done += 1
            progress(done, total)

        for number, cell in enumerate(cells, 1):
            named = cell if len(cells) == 1 else cell._replace(name=f"{cell.name}.{number}")
            plan_of: Callable[[int], object] = named.plan
            try:
                trials.append(
                    run_trial(
                        plan_of,  # type: ignore[arg-type]
                        seeds,
                        label=cell.label,
                        values=cell.values,
                        keep=keep,
                        step=step,
                        chance=chance,
                        simulated=simulated,
                    )
                )
            except ValueError as error:
                where = f"{cell.name}{', ' + cell.label if cell.label else ''}, seeds {seeds[0]} to {seeds[-1]}"
                raise Failure(f"{error} ({where})", remedy="correct the scenario", code=ExitCode.USAGE) from error
    return trials


def _judged(trials: list[RepeatedTrial]) -> Diagnosis | None:
    """The verdicts on a single run, where its requests were kept and are not too many."""
    simulations = trials[0].simulations
    if not simulations or len(simulations[0].session.requests) > MOST_JUDGED:
        return None
    from agentsim.diagnose import diagnose

    return diagnose(simulations[0].session)


def _write_sessions(trials: list[RepeatedTrial], target: str) -> None:
    from agentsim.report.output import STDOUT
    from agentsim.traces.readers.agentsim1 import write

    sessions = [simulation.session for trial in trials for simulation in trial.simulations]
    if target == STDOUT:
        write(sessions, sys.stdout.buffer)
        return
    try:
        write(sessions, target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure(reason, file=target, remedy="choose a place you may write to", code=ExitCode.USAGE) from error


def _write_perfetto(trials: list[RepeatedTrial], target: str) -> None:
    from agentsim.report.json.perfetto import write_perfetto
    from agentsim.report.output import output

    runs = [(trial.label or trial.name, simulation) for trial in trials for simulation in trial.simulations]
    with output(target) as stream:
        write_perfetto(stream, runs)
