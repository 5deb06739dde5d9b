"""``agentsim next``: what each thing that could be done next would cost."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import LOG, Command, json_option, session_option, strict_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem, Session

EXAMPLES = (
    ("agentsim next", "The newest session on this machine, as it is now."),
    ("agentsim next session.jsonl --after 0", "A recorded one, as it was right after its last row."),
    ("agentsim next --pause 45 --model claude-haiku-4-5", "A pause of 45 minutes; another model, and back."),
    ("agentsim next --why", "Each price with the rules that it rests on, and who says so."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Price what could be done next, before it is done.")
@click.argument("path", metavar="[SESSION]", required=False, type=LOG)
@session_option
@click.option("--lane", metavar="LANE", help="Which lane. Default: the main conversation that came last.")
@click.option("--pause", type=click.FloatRange(0), default=12, show_default=True, help="Minutes of the pause to price.")
@click.option("--model", "models", multiple=True, metavar="MODEL", help="A model to switch to. May be repeated.")
@click.option("--after", type=click.FloatRange(0), metavar="SECONDS", help="So long after the last row, and not now.")
@click.option("--why", is_flag=True, help="Show the rules under each price, with sources.")
@json_option
@strict_option
@rules_option
def command(
    path: str | None,
    session_id: str | None,
    lane: str | None,
    pause: float,
    models: tuple[str, ...],
    after: float | None,
    why: bool,
    as_json: bool,
    strict: bool,
) -> ExitCode:
    """Price what could be done next in SESSION: going on, waiting, another model or effort, other tools, a summary, a
    fork, a resume, a rewind, a fresh start.

    SESSION is a log of any format; without it, it is the newest one of any harness on this machine. Prices are what is
    known before anything new is typed, with the least and the most where the provider publishes nothing. Nothing is
    sent anywhere.
    """
    from agentsim.commands.options.session_inputs import choose_session, read_sessions, tell_skips
    from agentsim.outlook.cache_state import NothingToPrice
    from agentsim.outlook.next_acts import last_moment, next_acts

    problems: list[Problem] = []
    session: Session
    if path is not None:
        sessions = read_sessions([path], problems)
        session = choose_session(sessions, session_id) if session_id else max(sessions, key=last_moment)
    else:
        from agentsim.commands.replay import newest

        session = newest(problems, session_id)
    lane_id = None
    if lane is not None:
        from agentsim.commands.replay import choose_lane

        lane_id = choose_lane(session, lane)
    try:
        outlook = next_acts(
            session,
            now=time.time_ns() if after is None else None,
            after=None if after is None else int(after),
            pause=int(pause * 60),
            models=models,
            lane=lane_id,
        )
    except NothingToPrice as error:
        raise Failure(str(error), remedy="'agentsim replay' shows what the log holds", file=path) from None
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.json.next_json import next_document

        write_document(sys.stdout, next_document(outlook))
    else:
        from agentsim.report.paper import Paper
        from agentsim.report.screen.next_page import write_next

        write_next(Paper.on(sys.stdout), outlook, why=why)
    return tell_skips([session], problems, strict)
