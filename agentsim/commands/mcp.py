"""``agentsim mcp``: read-only tools for agents, over the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from agentsim.commands.options.command import Command
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from agentsim.core.session import Problem, Session

EXAMPLES = (("agentsim mcp", "Serve on standard input and output until the client goes."),)

INSTRUCTIONS = (
    "What sessions of LLM agents on this machine cost, which requests lost the prompt cache and why, and what the next "
    "act will cost. Money is exact dollars as text; words of conversations are never returned."
)
MOST_ROWS = 50
"""Rows of a replay that one answer holds, unless more are asked for."""

Document = dict[str, Any]


@click.command(cls=Command, examples=EXAMPLES, short_help="Serve read-only tools to agents over MCP.")
def command() -> ExitCode:
    """Serve the tools summary, replay, next, context and explain on standard input and output.

    They read logs and write nothing; no tool returns words of a conversation. Needs the extra 'mcp'.
    """
    from agentsim.core.extras import how_to_install

    try:
        server = tool_server()
    except ModuleNotFoundError as error:
        raise Failure(
            f"this needs {error.name}, which is not installed", remedy=how_to_install("mcp"), code=ExitCode.USAGE
        ) from None
    server.run("stdio")
    return ExitCode.OK


def tool_server() -> MCPServer[Any]:
    """The server with its tools. Raises ModuleNotFoundError without the official SDK."""
    from mcp.server.mcpserver import MCPServer
    from mcp_types import ToolAnnotations

    from agentsim import __version__

    server: MCPServer[Any] = MCPServer("agentsim", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR")
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    for tool in (summary, replay, next_costs, context, explain):
        name = {"next_costs": "next"}.get(tool.__name__, tool.__name__)
        server.tool(name=name, annotations=reads)(_told(tool))
    return server


def _told(tool: Any) -> Any:
    """The tool with failures as errors that the client is told."""
    from functools import wraps

    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    def asked(*arguments: Any, **named: Any) -> Document:
        try:
            found: Document = tool(*arguments, **named)
            return found
        except Failure as failure:
            where = f"{failure.file}: " if failure.file else ""
            remedy = f"; {failure.remedy}" if failure.remedy else ""
            raise ToolError(f"{where}{failure.reason}{remedy}") from None
        except (OSError, ValueError) as error:
            raise ToolError(str(error)) from None

    return asked


def summary(path: str | None = None) -> Document:
    """What all sessions cost and what the cache lost: sums, losses by cause, the worst sessions and misses. `path` is a
    log or a folder; without it, the logs of every harness on this machine."""
    from agentsim.commands.options.session_inputs import check_path
    from agentsim.fleet.summary import summarise
    from agentsim.report.json.canonical_json import summary_document
    from agentsim.traces.harness_places import found_places

    where = [path] if path is not None else [place.path for place in found_places()]
    if not where:
        raise Failure("no logs of a harness on this machine", remedy="name a file or folder")
    for each in where:
        check_path(each)
    return summary_document(summarise(where, workers=1))


def replay(
    path: str | None = None,
    session: str | None = None,
    rows: Literal["misses", "all"] = "misses",
    most: int = MOST_ROWS,
) -> Document:
    """One session request by request: tokens, cost, and for each lost cache its cause, evidence, price and fix. `path`
    is a log (default: the newest on this machine), `session` the beginning of an id, `most` how many rows at most."""
    from agentsim.diagnose import diagnose
    from agentsim.report.json.canonical_json import replay_document

    problems: list[Problem] = []
    document = replay_document(diagnose(_session(path, session, problems)), rows=rows, problems=problems)
    left_out = max(len(document["rows"]) - max(most, 0), 0)
    document["rows"] = document["rows"][: max(most, 0)]
    document["rows_left_out"] = left_out
    del document["events"]
    return document


def next_costs(
    path: str | None = None,
    session: str | None = None,
    seconds_after_the_last_row: int | None = None,
    pause_minutes: int = 12,
    models: list[str] | None = None,
) -> Document:
    """What each thing that could be done next in a session would cost: going on, waiting, another model or effort,
    other tools, a summary, a fork, a resume, a rewind, a fresh start. As of now, unless seconds are given."""
    import time

    from agentsim.outlook.next_acts import next_acts
    from agentsim.report.json.next_json import next_document

    after = seconds_after_the_last_row
    outlook = next_acts(
        _session(path, session, []),
        now=time.time_ns() if after is None else None,
        after=after,
        pause=pause_minutes * 60,
        models=models or (),
    )
    return next_document(outlook)


def context(path: str | None = None, session: str | None = None, top: int = 15) -> Document:
    """What filled the contexts of a session, and what each piece cost from when it came until it left."""
    from agentsim.context import account
    from agentsim.report.json.context_json import context_document
    from agentsim.traces.words.growths import growths_of

    problems: list[Problem] = []
    found = _session(path, session, problems)
    return context_document([account(found, growths_of(found, False), content=False)], top, problems)


def explain(code: str) -> Document:
    """What the code of a cause (such as AS301) means, how to confirm and how to fix it, and settings against it."""
    from agentsim.diagnose.cause_registry import cause
    from agentsim.diagnose.harness_settings import known_harnesses, settings_for
    from agentsim.report.json.settings_json import setting_document

    try:
        found = cause(code)
    except KeyError:
        raise Failure(f"no cause has the code {code}", remedy="AS301 is one; replay names them") from None
    return {
        "code": found.code,
        "slug": found.slug,
        "title": found.title,
        "meaning": found.meaning,
        "how_to_confirm": found.how_to_confirm,
        "fix": found.fix,
        "settings": [
            setting_document(one)
            for harness in known_harnesses()
            for one in settings_for(harness.name, cause=found.code)
        ],
    }


def _session(path: str | None, wanted: str | None, problems: list[Problem]) -> Session:
    from agentsim.commands.options.session_inputs import choose_session, read_sessions
    from agentsim.commands.replay import newest
    from agentsim.outlook.next_acts import last_moment

    if path is None:
        return newest(problems, wanted)
    sessions = read_sessions([path], problems)
    return choose_session(sessions, wanted) if wanted is not None else max(sessions, key=last_moment)
