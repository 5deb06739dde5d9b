"""Trajectories of SWE-agent and mini-swe-agent: the messages of a run, from which each step's prompt is rebuilt.

SWE-agent counts tokens for a run as a whole only: its requests have prompts and no usage, and the sums are told as they
stand. mini-swe-agent keeps the raw response of each step. Usage convention there: ``prompt_tokens`` includes cached
tokens (checked: what is left of the input is not negative). Tool definitions are not in the file, so that prompts are
compared without them. Demonstrations in the history are context and no requests.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from agentsim.bodies import BodyError, MessagesReader
from agentsim.bodies.answering_hosts import host_named
from agentsim.bodies.openai_usage import picodollars, usage_in
from agentsim.bodies.serving_provider import provider_of
from agentsim.core.prompt import Prompt
from agentsim.core.session import Problem, Request, Session, Source, Usage
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.chat_bodies import messages_parts
from agentsim.traces.hostile_records import Tally
from agentsim.traces.json_documents import read_document
from agentsim.traces.session_assembly import MAIN, Assembly, read_each
from agentsim.traces.time_stamps import unix_nanoseconds

NAME = "swe-agent"
DESCRIPTION = "SWE-agent trajectories (*.traj), and those of mini-swe-agent (from descriptions)"
VERIFIED = True

Json = dict[str, Any]

_anything = msgspec.json.Decoder(dict[str, Any])


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like a trajectory."""
    start = head.lstrip()
    if not start.startswith(b"{"):
        return False
    if b'"trajectory_format"' in head and b"mini-swe-agent" in head:
        return True
    if b'"trajectory"' in start[:4096] and (b'"observation"' in head or b'"history"' in head):
        return True
    return b'"model_stats"' in head and (b'"messages"' in head or b'"history"' in head)


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The session of each file. What is wrong with a file is told in ``problems``; without that list OSError is raised
    for it."""
    yield from read_each(paths, problems, _session, "step of a model")


def _session(path: str) -> Session:
    document = read_document(path, _anything)
    assembly = Assembly.of_file(path, NAME)
    tally = assembly.tally
    history = document.get("history")
    mini = not isinstance(history, list)
    history = document.get("messages") if mini else history
    history = [message for message in history if isinstance(message, dict)] if isinstance(history, list) else []
    assembly.harness = "mini-swe-agent" if mini else "swe-agent"
    model = _model(document)
    prompts = _Prompts(history)
    seen: set[str] = set()
    for number, message in enumerate(history):
        extra = message.get("extra")
        extra = extra if isinstance(extra, dict) else {}
        response = extra.get("response")
        answered = isinstance(response, dict)
        response = response if isinstance(response, dict) else {}
        if message.get("role") != "assistant" and not answered:
            continue  # an answer that could not be used is kept with the message that says so
        tally.rows += 1
        if message.get("is_demo"):
            tally.not_billable += 1
            continue
        if response.get("id") in seen:
            tally.duplicate += 1
            continue
        try:
            usage = _usage(response.get("usage"))
        except BadRow as bad:
            tally.skip(number + 1, bad)
            continue
        named = response.get("model")
        used = named if isinstance(named, str) else model
        id = response.get("id")
        seen.update([id] if isinstance(id, str) and id else ())
        host = host_named(response.get("provider"))
        assembly.add(
            Request(
                id=id if isinstance(id, str) and id else f"{assembly.id}#{number + 1}",
                lane=MAIN,
                model=used,
                provider=provider_of(model=used, shown="openrouter" if host is not None else None),
                start=None,
                end=unix_nanoseconds(repr(extra.get("timestamp")).encode()),
                prompt=prompts.before(number),
                usage=usage,
                host=host,
                logged_cost=_cost(extra, response),
                source=Source(path, number + 1),
            )
        )
    if prompts.bad is not None:
        tally.tell(0, prompts.bad, note=True)
    if mini:
        _hold_against(document, assembly)
    else:
        _tell_sums(document, tally)
    return assembly.build("messages")


class _Prompts:
    """The prompts of a run: fronts of its whole history, which is read once."""

    def __init__(self, history: list[Json]) -> None:
        self.bad: BadRow | None = None
        self._whole = Prompt.of(())
        self._places: list[tuple[int, int]] = []
        places: list[tuple[int, int]] = []
        try:
            system, parts = messages_parts({"messages": [_with_call_id(message) for message in history]}, places)
            said = [(message["role"], message["content"]) for message in parts]
            self._whole = MessagesReader().prompt_of(system, said)
        except BadRow as bad:
            self.bad = BadRow("prompt unknown", str(bad))
        except BodyError as error:
            self.bad = BadRow("prompt unknown", str(error))
        self._begins = places
        self._system = self._whole.section_end("system")
        blocks = islice(self._whole, self._system, None)
        self._places += [(block.message or 0, block.part or 0) for block in blocks]

    def before(self, number: int) -> Prompt | None:
        """The prompt that a message of the history answered."""
        if self.bad is not None or not len(self._whole):
            return None
        keep = self._system + bisect_left(self._places, self._begins[number])
        markers = [marker for marker in self._whole.breakpoints if marker.position < keep]
        return self._whole.front(keep, markers) if keep else None


def _with_call_id(message: Json) -> Json:
    """The message with the call that it answers where Chat Completions has it: SWE-agent writes a list of one."""
    ids = message.get("tool_call_ids")
    if not isinstance(ids, list) or not ids or not isinstance(ids[0], str):
        return message
    return {**message, "tool_call_id": ids[0]}


def _model(document: Json) -> str:
    """The model's name, wherever a version keeps it."""
    replay = document.get("replay_config")
    if isinstance(replay, str):
        try:
            replay = msgspec.json.decode(replay)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            replay = None
    info = document.get("info")
    config = info.get("config") if isinstance(info, dict) else None
    for place in (replay, config):
        agent = place.get("agent") if isinstance(place, dict) else None
        for holder in (agent, place):
            model = holder.get("model") if isinstance(holder, dict) else None
            for field in ("name", "model_name"):
                name = model.get(field) if isinstance(model, dict) else None
                if isinstance(name, str) and name:
                    return name
    return ""


def _usage(sent: object) -> Usage | None:
    if sent is None:
        return None
    if not isinstance(sent, dict):
        raise BadRow("bad field", "usage")
    return usage_in((sent,))


def _cost(extra: Json, response: Json) -> int | None:
    """What the program or the gateway says that an answer cost."""
    usage = response.get("usage")
    told = (extra.get("cost"), usage.get("cost") if isinstance(usage, dict) else None)
    return next((picodollars(repr(cost)) for cost in told if type(cost) in (int, float)), None)


def _hold_against(document: Json, assembly: Assembly) -> None:
    """Say where the answers that the file holds are not all that its own sums count."""
    info = document.get("info")
    stats = info.get("model_stats") if isinstance(info, dict) else None
    stats = stats if isinstance(stats, dict) else {}
    calls, paid = stats.get("api_calls"), stats.get("instance_cost")
    tally, found = assembly.tally, len(assembly.requests)
    words = []
    if type(calls) is int and calls != found + tally.duplicate + sum(tally.skipped.values()):
        words.append(f"{calls} calls were counted, and answers to {found} are in it")
    costs = [request.logged_cost for request in assembly.requests]
    known = [cost for cost in costs if cost is not None]
    if type(paid) in (int, float) and known and len(known) == len(costs):
        total = picodollars(repr(paid))
        if total is not None and abs(total - sum(known)) > max(10**6 * len(known), total // 10**6):
            words.append(f"the run cost ${paid:.4f} by its own account, and its answers ${sum(known) / 1e12:.4f}")
    for word in words:
        tally.tell(0, BadRow("sums differ", word), note=True)


def _tell_sums(document: Json, tally: Tally) -> None:
    info = document.get("info")
    stats = info.get("model_stats") if isinstance(info, dict) else None
    stats = stats if isinstance(stats, dict) else {}
    sent, received, calls = (stats.get(name) for name in ("tokens_sent", "tokens_received", "api_calls"))
    if all(type(count) is int for count in (sent, received, calls)):
        tally.problems.append(
            Problem(
                file=tally.file,
                line=0,
                note=True,
                reason=f"tokens are counted for the run only: {sent} sent and {received} received in {calls} calls",
                remedy="nothing to do; causes can be told from the messages, costs cannot",
            )
        )
