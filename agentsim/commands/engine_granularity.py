"""``agentsim engine granularity``: entries of a prefix cache against the recomputation that they save."""

from __future__ import annotations

import sys

import click

from agentsim.commands.options.command import Command, json_option
from agentsim.report.exits import ExitCode, Failure

EXAMPLES = (
    ("agentsim engine granularity", "Entries of one token to entries of 256."),
    ("agentsim engine granularity --groups 1,16 --prefix 999", "What two sizes reuse of 999 matching tokens."),
    (
        "agentsim engine granularity --requests 10000 --entry-us 1.5 --token-us 40",
        "Which costs least, with your times.",
    ),
)
GROUPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@click.command(cls=Command, examples=EXAMPLES, short_help="Weigh the entries of a prefix cache against recomputation.")
@click.option(
    "--document",
    type=click.IntRange(1, 10**12),
    default=1_000_000,
    show_default=True,
    metavar="N",
    help="Tokens that are processed and kept.",
)
@click.option(
    "--prefix",
    type=click.IntRange(0, 10**12),
    metavar="N",
    help="Tokens that a later request has in common; without it, prefixes that end anywhere.",
)
@click.option("--groups", metavar="N,N", help="Tokens of an entry, several to compare.")
@click.option(
    "--id-bytes",
    type=click.IntRange(1, 10_000),
    default=32,
    show_default=True,
    metavar="N",
    help="Bytes of an entry's identity.",
)
@click.option(
    "--requests", type=click.IntRange(1, 10**12), default=1, show_default=True, metavar="N", help="Later requests."
)
@click.option(
    "--entry-us",
    type=click.FloatRange(0, 10**9),
    metavar="US",
    help="Microseconds that making and keeping an entry takes.",
)
@click.option(
    "--token-us", type=click.FloatRange(0, 10**9), metavar="US", help="Microseconds that computing a token takes."
)
@json_option
def command(
    document: int,
    prefix: int | None,
    groups: str | None,
    id_bytes: int,
    requests: int,
    entry_us: float | None,
    token_us: float | None,
    as_json: bool,
) -> ExitCode:
    """Show, for each size of entry, how many entries a document makes and how many matching tokens requests compute
    again because their prefix ends within one. With both times, show what that takes in all."""
    from agentsim.report.screen.granularity_page import granularity_document, weigh, write_granularity

    sizes = GROUPS if groups is None else _groups(groups)
    if (entry_us is None) != (token_us is None):
        raise Failure("one of two times is missing", remedy="give --entry-us and --token-us", code=ExitCode.USAGE)
    rows = weigh(sizes, document, prefix, id_bytes, requests, entry_us, token_us)
    if as_json:
        from agentsim.report.json.canonical_json import write_document

        write_document(sys.stdout, granularity_document(rows, document, prefix, requests))
        return ExitCode.OK
    from agentsim.report.paper import Paper

    write_granularity(Paper.on(sys.stdout), rows, document, prefix, requests)
    return ExitCode.OK


def _groups(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() and 0 < len(part) < 10 and int(part) for part in parts):
        raise Failure(f"{text[:40]!r} are no sizes", remedy="write them as 1,16", code=ExitCode.USAGE)
    return tuple(sorted({int(part) for part in parts}))
