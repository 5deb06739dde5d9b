"""``agentsim fleet sweep``: a fleet's logs under every policy, on many processes or machines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import LOG, Command, all_option, json_option, output_option, strict_option
from agentsim.commands.options.fleet_input import check_packages, check_paths, check_team, policies_of
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.fleet.fleet_figures import FleetFigures
    from agentsim.fleet.shards import ShardUnit
    from agentsim.fleet.sweep import Sweep

EXAMPLES = (
    (
        "agentsim fleet sweep ~/.claude/projects -o fleet/",
        "Every log, under policies that show the model the same.",
    ),
    ("agentsim fleet sweep s3://logs -o fleet/ --policy ttl-1h --policy ttl-split", "Only these policies."),
    (
        "agentsim fleet sweep /logs -o /shared/fleet --scheduler tcp://10.0.0.5:8786",
        "On a Dask cluster.",
    ),
    ("agentsim fleet sweep --scenario claude-code-day --seeds 100 -o fleet/", "A hundred simulated days."),
    ("agentsim fleet report fleet/ --html report.html", "Look at what came out."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Judge and simulate thousands of logs, on many machines.")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=LOG)
@output_option("the results, as Parquet,", name="folder", folder=True, required=True, also=("--out",))
@click.option("--policy", "specs", multiple=True, metavar="NAME[:param=value,...]", help="Try this policy; repeatable.")
@all_option("try also policies under which the model is shown something else")
@click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="Simulate this scenario too; repeatable.")
@click.option("--set", "settings", metavar="KEY=VALUE[,VALUE...]", multiple=True, help="Change a key of the scenarios.")
@click.option("--seeds", type=click.IntRange(1, 100_000), default=1, show_default=True, help="Seeds of each scenario.")
@click.option("--team", metavar="REGEX", help="Whose a log is: the first group of this expression in its path.")
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler, tcp://HOST:PORT, instead of this machine.")
@click.option("--workers", type=click.IntRange(0, 1024), help="Processes on this machine.  [default: one a core]")
@click.option("--memory", metavar="SIZE", default="auto", show_default=True, help="Most of one process, as in 2GB.")
@click.option("--shard", type=click.IntRange(1, 4096), default=32, show_default=True, help="MiB of logs in one task.")
@rules_option
@json_option
@strict_option
def command(
    paths: tuple[str, ...],
    folder: str,
    specs: tuple[str, ...],
    every: bool,
    scenarios: tuple[str, ...],
    settings: tuple[str, ...],
    seeds: int,
    team: str | None,
    scheduler: str | None,
    workers: int | None,
    memory: str,
    shard: int,
    as_json: bool,
    strict: bool,
) -> ExitCode:
    """Judge every session at and under the PATHs, and simulate each under every policy.

    A PATH is a file, a folder or a URL (s3://, gs://, file://; what fsspec serves), compressed (.gz, .zst) or not.
    Results are kept by shard: started again, it does what is missing or has changed. A worker that dies costs its shard
    another try. Without --policy or --all it tries the policies under which each request shows the model the same
    blocks.
    """
    from agentsim.fleet.sweep import sweep
    from agentsim.fleet.sweep_folder import NotOurs, SweepSettings
    from agentsim.report.notices import tell_problems, warn
    from agentsim.report.output import need_file
    from agentsim.report.progress import ProgressBar

    if not paths and not scenarios:
        raise Failure("no PATH and no --scenario", remedy="name what to sweep", code=ExitCode.USAGE)
    if not scenarios and (settings or seeds > 1):
        raise Failure("--set and --seeds are for scenarios", remedy="name one with --scenario", code=ExitCode.USAGE)
    if scheduler is not None and workers is not None:
        remedy = "leave --workers out: the scheduler has its own"
        raise Failure("--workers are those of this machine", remedy=remedy, code=ExitCode.USAGE)
    need_file("--output", folder, "results are a folder of tables")
    if "://" in folder:
        remedy = "name a folder of this machine, or one that is mounted"
        raise Failure("results go to a folder, not to a URL", file=folder, remedy=remedy, code=ExitCode.USAGE)
    check_team(team)
    asked = SweepSettings(policies=policies_of(specs, every), team=team, rules=_rules())
    made = _made(scenarios, seeds, settings)
    check_paths(paths)
    check_packages()
    _check_memory(memory)
    try:
        with ProgressBar("sweeping", ticks=True) as progress:
            done = sweep(
                paths,
                asked,
                folder,
                made=made,
                scheduler=scheduler,
                workers=workers,
                memory=memory,
                shard_bytes=shard << 20,
                progress=progress,
            )
    except KeyboardInterrupt:
        warn(f"stopped: what was done is kept in {folder}, and the same command does the rest")
        raise
    except NotOurs as error:
        raise Failure(str(error), file=folder, remedy=error.remedy, code=ExitCode.USAGE) from None
    except ValueError as error:
        raise Failure(str(error), remedy="install the package that serves this storage", code=ExitCode.USAGE) from None
    except OSError as error:
        what = scheduler if scheduler is not None else folder
        raise Failure(str(error) or type(error).__name__, file=what, remedy="check that it can be reached") from None
    found = _figures(done)
    if found is not None:
        _report(done, found, as_json)
    problems = [*done.problems, *(problem for note in done.notes for problem in note.problems)]
    tell_problems(problems)
    for failure in done.failed:
        listed = ", ".join(failure.files[:3]) + (" …" if len(failure.files) > 3 else "")
        warn(f"not done: {listed}: {failure.reason}; the same command tries it again")
    if found is None:
        remedy = "'agentsim trace formats' lists what can be read"
        raise Failure("no session could be judged", file=paths[0] if paths else folder, remedy=remedy)
    if strict and any(not problem.note for problem in problems):
        return ExitCode.UNREADABLE
    return ExitCode.FINDINGS if done.failed else ExitCode.OK


def _rules() -> tuple[tuple[str, str], ...]:
    """The names and texts of the user's rules files: workers may be other machines."""
    from pathlib import Path

    from agentsim.rules.providers.rules_library import brought_files

    return tuple((file.file, Path(file.file).read_text("utf-8")) for file in brought_files())


def _check_memory(size: str) -> None:
    from dask.utils import parse_bytes

    try:
        if size != "auto":
            parse_bytes(size)
    except ValueError:
        raise Failure(f"--memory: {size[:40]} is no size", remedy="as in 2GB, or auto", code=ExitCode.USAGE) from None


def _figures(done: Sweep) -> FleetFigures | None:
    """What the sweep found; ``None`` where no session could be judged. Raises Failure."""
    from agentsim.fleet.fleet_figures import figures
    from agentsim.fleet.sweep_folder import DamagedTable

    try:
        return figures(done.folder)
    except ValueError:
        return None
    except DamagedTable as error:
        raise Failure(str(error), file=error.path, remedy="remove it; the same command makes it again") from None


def _report(done: Sweep, found: FleetFigures, as_json: bool) -> None:
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.fleet_json import sweep_document

        write_document(sys.stdout, sweep_document(done, found))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.fleet_page import write_sweep

        write_sweep(Paper.on(sys.stdout), done, found)


def _made(scenarios: tuple[str, ...], seeds: int, settings: tuple[str, ...]) -> list[ShardUnit]:
    if not scenarios:
        return []
    from agentsim.fleet.simulated_shards import units_of_scenarios

    return units_of_scenarios(scenarios, seeds, settings)
