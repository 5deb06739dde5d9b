"""``agentsim trace convert``: any readable log as an agentsim/1 trace."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, BinaryIO

import click

from agentsim.commands.options.command import (
    FILE,
    LOG,
    Command,
    fingerprint_option,
    force_option,
    session_option,
    strict_option,
)
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem, Session

EXAMPLES = (
    ("agentsim trace convert session.jsonl trace.jsonl", "Keep a session with its words. The file is private."),
    (
        "agentsim trace convert capture.jsonl trace.jsonl --fingerprint",
        "Sizes and keyed digests only, to share.",
    ),
    ("agentsim trace convert logs/ - --fingerprint | gzip > all.gz", "Every session of a folder, to standard output."),
)

PRIVATE = 0o600


@click.command(cls=Command, examples=EXAMPLES, short_help="Turn a log into an agentsim/1 trace, to keep or to share.")
@click.argument("source", metavar="IN", type=LOG)
@click.argument("target", metavar="OUT", type=FILE)
@fingerprint_option
@click.option(
    "--round-sizes",
    metavar="TOKENS",
    type=click.IntRange(2, 100_000),
    help="With --fingerprint: sizes of blocks in steps of so many tokens.",
)
@session_option
@force_option
@strict_option
def command(
    source: str,
    target: str,
    fingerprint: bool,
    round_sizes: int | None,
    session_id: str | None,
    force: bool,
    strict: bool,
) -> ExitCode:
    """Turn IN (a log or a folder, in any format of 'agentsim trace formats') into an agentsim/1 trace OUT ('-':
    stdout)."""
    from agentsim.commands.options.piped_input import with_pipes_in_place
    from agentsim.commands.options.session_inputs import check_path, choose_session, read_sessions, tell_skips
    from agentsim.report.output import STDOUT, need_folder

    check_path(source)
    if round_sizes is not None and not fingerprint:
        raise Failure("--round-sizes: only a fingerprint hides sizes", remedy="add --fingerprint", code=ExitCode.USAGE)
    if target != STDOUT and not force and os.path.lexists(target):
        raise Failure("this file exists", file=target, remedy="choose another name, or --force", code=ExitCode.USAGE)
    need_folder(target)
    problems: list[Problem] = []
    sessions = with_pipes_in_place(read_sessions([source], problems))
    if session_id is not None:
        sessions = [choose_session(sessions, session_id)]
    kept: Iterable[Session] = sessions
    if fingerprint:
        from agentsim.traces.readers.agentsim1 import fingerprints

        kept = fingerprints(sessions, round_sizes=round_sizes)
    if target == STDOUT:
        _write(kept, sys.stdout.buffer, text=not fingerprint)
    else:
        _write_file(kept, target, text=not fingerprint)
    return tell_skips(sessions, problems, strict, listed_by="agentsim agree --json")


def _write(sessions: Iterable[Session], stream: BinaryIO, *, text: bool) -> None:
    from agentsim.traces.readers.agentsim1 import write

    write(sessions, stream, text=text)
    stream.flush()


def _write_file(sessions: Iterable[Session], target: str, *, text: bool) -> None:
    """Write beside the target and rename, so that no half-written trace is ever found under its name."""
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
        try:
            with open(descriptor, "wb") as stream:
                _write(sessions, stream, text=text)
            os.replace(draft, target)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure(reason, file=target, remedy="choose a place you may write to", code=ExitCode.USAGE) from error
