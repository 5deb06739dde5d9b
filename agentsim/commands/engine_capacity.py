"""``agentsim engine capacity``: how much of a serving trace an engine's prefix cache would read."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command, json_option, paths_argument, strict_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem
    from agentsim.rules.providers import ProviderRules

EXAMPLES = (
    ("agentsim engine capacity trace.jsonl", "Hit rates of a Mooncake trace, from a small cache to one without end."),
    (
        "agentsim engine capacity trace.jsonl --engine sglang --capacity 500k,2M",
        "Two caches of SGLang, in tokens.",
    ),
    ("agentsim engine capacity trace.jsonl --warmup 0.5 --json", "The second half of the requests only, for programs."),
)

ENGINES = ("vllm", "sglang", "trtllm")
"""Engines whose cache keeps what was used last, in the order in which help names them."""

CAPACITIES = tuple(2**power for power in range(16, 30, 2))
"""Capacities that are tried where none is given, in tokens."""

MOST_CAPACITIES = 64
LARGEST = 10**15
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}


@click.command(cls=Command, examples=EXAMPLES, short_help="Show the hit rate of a serving trace by size of the cache.")
@paths_argument()
@click.option(
    "--engine", type=click.Choice(ENGINES), default="vllm", show_default=True, help="Whose rules the cache follows."
)
@click.option(
    "--capacity", metavar="TOKENS,...", help="Sizes of the cache, such as 500k,2M.  [default: 65,536 times 4, 16, ...]"
)
@click.option(
    "--block", type=click.IntRange(1, 2**20), metavar="TOKENS", help="Tokens of a block that the trace names."
)
@click.option("--page", type=click.IntRange(1, 2**20), metavar="TOKENS", help="Tokens that the engine keeps together.")
@click.option(
    "--warmup",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    metavar="PART",
    help="Part of the requests that fills the cache and is not measured.",
)
@click.option("--rows", "keep_rows", is_flag=True, help="With --json: the tokens read of each request.")
@json_option
@strict_option
def command(
    paths: tuple[str, ...],
    engine: str,
    capacity: str | None,
    block: int | None,
    page: int | None,
    warmup: float,
    keep_rows: bool,
    as_json: bool,
    strict: bool,
) -> ExitCode:
    """Serve the traces in PATH and show how many input tokens the prefix cache of an engine would have read.

    Serving traces (Mooncake, Qwen-Bailian, Weka, LMCache, Dynamo) say which blocks of a prompt are the same; captured
    sessions with bodies will do as well. Each file has a cache of its own. All capacities come out of one pass.
    """
    from agentsim.capacity import load, serve
    from agentsim.commands.options.session_inputs import check_path, unreadable
    from agentsim.report.figures import plural
    from agentsim.report.notices import tell_problems, warn

    if keep_rows and not as_json:
        raise Failure("--rows is for --json", remedy="add --json", code=ExitCode.USAGE)
    sizes = CAPACITIES if capacity is None else _capacities(capacity)
    for path in paths:
        check_path(path)
    problems: list[Problem] = []
    try:
        traces, without = load(paths, problems, block=block)
    except OSError as error:
        raise unreadable(error, paths[0]) from error
    if not traces:
        raise Failure(
            f"{plural(without, 'request')}, and no prompt of any: sizes alone cannot tell what they share",
            file=paths[0],
            remedy="name a trace with block identities or a session with bodies",
        )
    rules = _rules(engine)
    served = [serve(trace, rules, sizes, page=page, warmup=warmup, keep_rows=keep_rows) for trace in traces]
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.screen.capacity_page import serving_document

        document = serving_document(served, engine=engine, page=page or rules.quantum, warmup=warmup, without=without)
        write_document(sys.stdout, document)
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.capacity_page import write_serving

        write_serving(Paper.on(sys.stdout), served, engine=engine, page=page or rules.quantum, all=capacity is not None)
    if without:
        warn(f"{plural(without, 'request')} without a prompt left out")
    tell_problems(problems)
    return ExitCode.UNREADABLE if strict and (without or any(not problem.note for problem in problems)) else ExitCode.OK


def _rules(engine: str) -> ProviderRules:
    from agentsim.rules.providers import rules_for

    return rules_for(engine, "", None)


def _capacities(text: str) -> list[int]:
    """Sizes in tokens. Raises Failure for what is none."""
    sizes = []
    for word in text.split(","):
        match = re.fullmatch(r"\s*([0-9][0-9_]{0,18}(?:\.[0-9]{1,9})?)\s*([kKmMgGbB]?)\s*", word)
        size = None
        if match is not None:
            from decimal import Decimal

            size = int(Decimal(match[1].replace("_", "")) * UNITS[match[2].lower()])
        if size is None or not 0 < size <= LARGEST:
            raise Failure(
                f"--capacity: {word.strip()!r} is no number of tokens",
                remedy="write numbers such as 65536, 500k or 2M, with commas between them",
                code=ExitCode.USAGE,
            )
        sizes.append(size)
    if len(sizes) > MOST_CAPACITIES:
        raise Failure(f"--capacity: {len(sizes)} sizes", remedy=f"name at most {MOST_CAPACITIES}", code=ExitCode.USAGE)
    return sizes
