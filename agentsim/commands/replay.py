"""``agentsim replay``: the requests of one session, with a verdict on each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import click

from agentsim.commands.options.command import (
    Command,
    content_option,
    json_option,
    paths_argument,
    session_option,
    strict_option,
)
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
    from agentsim.context.quota_fit import QuotaFit
    from agentsim.core.session import Problem, Session
    from agentsim.diagnose import Diagnosis

EXAMPLES = (
    ("agentsim replay session.jsonl", "Every request of a session, and why the cache was lost."),
    ("agentsim replay", "The newest session on this machine, of any harness."),
    ("agentsim replay session.jsonl --row 12", "One request of it."),
    ("agentsim replay session.jsonl --rows misses", "Only the requests that lost something."),
    ("agentsim replay ~/.claude/projects --session 94fab1a1", "One session out of many."),
    ("agentsim replay capture.jsonl --usage-only", "What the usage counters alone would tell."),
    ("agentsim replay session.jsonl --json | jq .totals", "The same for programs."),
    ("agentsim replay session.jsonl --backend engine", "Its prompts through a real model, prefix cache and all."),
)


LONGEST_ON_CPU = 1024
"""Tokens of the longest prompt on a CPU, unless asked otherwise: a session then takes a minute, not a quarter of an
hour."""


@click.command(cls=Command, examples=EXAMPLES, short_help="Show each request of a session and why its cache was lost.")
@paths_argument(required=False)
@json_option
@click.option(
    "--rows",
    type=click.Choice(["most", "all", "misses"]),
    default="most",
    help="Which rows to show. 'most': small misses (below 2,048 tokens and a cent) share one line.",
    show_default=True,
)
@click.option("--row", type=click.IntRange(1), metavar="N", help="Show one row: its number in the whole session.")
@click.option("--line", type=click.IntRange(1), metavar="N", help="Show the row of this line of the log.")
@click.option("--lane", metavar="LANE", help="Show one lane: its id, the beginning of it, or a name such as 'main'.")
@session_option
@click.option("--usage-only", is_flag=True, help="Ignore bodies; judge by the usage counters.")
@click.option("--no-provider-diagnosis", is_flag=True, help="Judge blind, without the provider's own word.")
@click.option("--savings", is_flag=True, help="Tell with each fix what it would have saved.")
@content_option
@click.option("--exit-code", is_flag=True, help="Exit with 1 when a request lost its cache.")
@backend_option
@rules_on_pages_option
@model_options
@click.option(
    "--scale",
    type=click.FloatRange(0, 1, min_open=True),
    help="On the engine: shrink prompts to this share. Default: as much as --longest asks for.",
)
@click.option(
    "--longest",
    type=click.IntRange(64, 10_000_000),
    metavar="TOKENS",
    help=f"On the engine: shrink prompts until none is longer. Default: {LONGEST_ON_CPU:,} on a CPU, else the context.",
)
@click.option(
    "--tokens", type=click.Choice(["text", "drawn"]), help="On the engine: what stands for blocks. Default: what fits."
)
@click.option(
    "--new-tokens",
    type=click.IntRange(1, 10_000),
    default=8,
    show_default=True,
    help="On the engine: how many to generate for each request.",
)
@click.option(
    "--capacity", type=click.IntRange(0), metavar="TOKENS", help="On the engine: what the cache keeps. Default: all."
)
@paranoid_option
@strict_option
@rules_option
def command(
    paths: tuple[str, ...],
    as_json: bool,
    rows: Literal["most", "all", "misses"],
    row: int | None,
    line: int | None,
    lane: str | None,
    session_id: str | None,
    usage_only: bool,
    no_provider_diagnosis: bool,
    savings: bool,
    content: bool,
    exit_code: bool,
    strict: bool,
    backend: str,
    **engine: Any,
) -> ExitCode:
    """Replay one session: a line for each request with what it wrote, read and cost.

    Under each request that lost its cache stand the cause, the place, the price of the loss, what is established and
    what is still to check, and the fix. PATH is a log or a folder of logs in any format of 'agentsim trace formats'.
    Without PATH it is the newest session of any harness on this machine.

    With --backend engine each prompt is put through a real model: tokens reused as the rule predicts beside those that
    were, and the times and memory that took. The exit code is 1 when a prediction was wrong.
    """
    from agentsim.commands.options.session_inputs import choose_session, read_sessions, tell_skips
    from agentsim.diagnose import diagnose

    problems: list[Problem] = []
    if paths:
        sessions = read_sessions(paths, problems)
        at_line = [one for one in sessions if any(r.source and r.source.line == line for r in one.requests)]
        session = choose_session(at_line if at_line and session_id is None else sessions, session_id)
    else:
        session = newest(problems, session_id)
    if line is not None:
        row = row_of_line(session, line)
    if row is not None and row > len(session.requests):
        raise Failure(f"no row {row:,}", remedy=f"the session has {len(session.requests):,} rows", code=ExitCode.USAGE)
    if backend == "engine":
        agreed = replay_on_engine(session, as_json, engine)
        skips = tell_skips([session], problems, strict)
        return skips if skips is not ExitCode.OK else agreed
    check_pages(engine["rules_on_pages"])
    lane_id = choose_lane(session, lane) if lane is not None else None
    diagnosis = diagnose(
        session,
        use_bodies=not usage_only,
        use_provider_diagnosis=not no_provider_diagnosis,
        show_content=content,
    )
    if savings:
        from agentsim.whatif.fix_savings import with_savings

        diagnosis = with_savings(diagnosis)
    if as_json:
        from agentsim.report.json.canonical_json import replay_document, write_document

        kept: Literal["all", "misses"] = "misses" if rows == "misses" else "all"
        document = replay_document(diagnosis, rows=kept, row=row, lane=lane_id, content=content, problems=problems)
        if fits := quota_of(diagnosis):
            from agentsim.report.json.quota_json import quota_documents

            document["quota"] = quota_documents(fits)
        write_document(sys.stdout, document)
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.quota_lines import write_quota
        from agentsim.report.screen.replay_page import write_replay

        paper = Paper.on(sys.stdout)
        write_replay(paper, diagnosis, rows=rows, row=row, lane=lane_id, content=content)
        if row is None and lane_id is None:
            write_quota(paper, quota_of(diagnosis))
    skips = tell_skips([session], problems, strict)
    if skips is not ExitCode.OK:
        return skips
    return ExitCode.FINDINGS if exit_code and diagnosis.totals.misses else ExitCode.OK


def quota_of(diagnosis: Diagnosis) -> tuple[QuotaFit, ...]:
    """What a judged session took of its plan's allowances, where its log has counters of them. Raises Failure."""
    from agentsim.traces.words.quota_words import quota_readings

    session = diagnosis.session
    try:
        readings = quota_readings(session)
    except OSError as error:
        from agentsim.commands.options.session_inputs import unreadable

        raise unreadable(error, session.files[0]) from error
    if not readings:
        return ()
    from agentsim.context.quota_fit import quota_fits

    return quota_fits(session, readings, diagnosis.verdicts)


def row_of_line(session: Session, line: int) -> int:
    """The number of the one row whose request stands at this line. Raises Failure when that is not one."""
    lines = [request.source.line if request.source is not None else None for request in session.requests]
    if lines.count(line) != 1:
        reason = "several rows stand" if line in lines else "no row stands"
        raise Failure(f"{reason} at line {line:,}", remedy="choose one with --row", code=ExitCode.USAGE)
    return lines.index(line) + 1


def newest(problems: list[Problem], session_id: str | None) -> Session:
    """The session of this machine's harnesses that was written to last, or the one whose id is asked for. Raises
    Failure where there is none."""
    from agentsim.commands.options.session_inputs import choose_session, read_sessions
    from agentsim.traces.harness_places import found_places, newest_log

    places = [place.path for place in found_places()]
    log = newest_log(places)
    if log is None:
        raise Failure("no logs of a harness on this machine", remedy="name a file or folder")
    if session_id is not None:
        return choose_session(read_sessions(places, problems), session_id)
    return max(read_sessions([log], problems), key=last_time)


def last_time(session: Session) -> int:
    """When the last request of a session ended or began; before all others where no time is known."""
    return max((time for request in session.requests for time in (request.start, request.end) if time), default=-1)


def replay_on_engine(session: Session, as_json: bool, options: dict[str, Any]) -> ExitCode:
    """Replay a session on a real model and write what was measured. Raises Failure."""
    from agentsim.commands.options.engine_options import engine_failures, load_model
    from agentsim.report.progress import ProgressBar
    from agentsim.report.screen.engine_replay_page import engine_replay_document, write_engine_replay

    loaded = load_model(options)
    with engine_failures():
        from agentsim.engine.engine_replay import replay_on_engine

        longest = options["longest"]
        if longest is None and loaded.model.device.type == "cpu":
            longest = LONGEST_ON_CPU
        with ProgressBar("replaying", unit="request", ticks=True) as progress:
            done = replay_on_engine(
                session,
                loaded,
                new_tokens=options["new_tokens"],
                how=options["tokens"],
                scale=options["scale"],
                capacity=options["capacity"],
                paranoid=options["paranoid"],
                longest=longest,
                progress=progress,
                rules=options["rules_on_pages"],
            )
    if as_json:
        from agentsim.report.json.canonical_json import write_document

        write_document(sys.stdout, engine_replay_document(done))
    else:
        from agentsim.report.paper import Paper

        write_engine_replay(Paper.on(sys.stdout), done)
    return ExitCode.OK if done.agreeing == len(done.rows) else ExitCode.FINDINGS


def choose_lane(session: Session, wanted: str) -> str:
    """The id of the lane of that id, name or beginning of an id. Raises Failure when that is not one lane."""
    from agentsim.report.verdict_words import lane_names

    names = lane_names(session.lanes)
    for found in (
        [lane for lane, name in names.items() if wanted in (lane, name)],
        [lane for lane in names if lane.startswith(wanted)],
    ):
        if len(found) == 1:
            return found[0]
    known = ", ".join(names.values())
    raise Failure(f"no one lane is called {wanted}", remedy=f"choose one of {known}", code=ExitCode.USAGE)
