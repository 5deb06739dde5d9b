"""What an act was foretold to read is what the modeled provider lets it read, for every act and provider."""

from __future__ import annotations

import random

import msgspec
import pytest

from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.simulate import scan
from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Breakpoint, Prompt, Section
from agentsim.core.session import Lane, Request, Session, Usage
from agentsim.outlook.next_acts import Outlook, next_acts

START = 1_788_256_800 * SECOND  # 2026-09-01
FRONT = 9_000


def block(name: str, section: Section, tokens: int, kind: str = "text") -> Block:
    return Block(section=section, kind=kind, digest=name.encode().ljust(16)[:16], tokens=tokens, role="user")


def front() -> list[Block]:
    return [block("tools", "tools", 6_000, "tool"), block("system", "system", FRONT - 6_000)]


def marked(prompt: Prompt, ttl: int) -> Prompt:
    return prompt.with_breakpoints([Breakpoint(1, ttl), Breakpoint(len(prompt) - 1, ttl)])


class Life:
    """A conversation that really goes through a cache: each prompt is the one before it, its reply, and more."""

    def __init__(self, provider: str, model: str, ttl: int, seed: int, rows: int) -> None:
        self.random = random.Random(seed)
        self.provider, self.model, self.ttl = provider, model, ttl
        self.now = START
        self.prompt = Prompt.of(front())
        self.requests: list[Request] = []
        for number in range(rows):
            self.say(number)

    def say(self, number: int) -> None:
        draw = self.random
        new = [block(f"new {number}", "messages", draw.randint(50, 4_000))]
        self.prompt = self.prompt.extend(new)
        reply = draw.randint(20, 900)
        self.requests.append(self.request(f"r{number}", self.prompt, reply))
        self.prompt = self.prompt.extend([block(f"reply {number}", "messages", reply)])
        self.now += draw.choice([20, 90, 250]) * SECOND

    def request(self, name: str, prompt: Prompt, output: int = 0, **changes: object) -> Request:
        if self.ttl:
            prompt = marked(prompt, self.ttl)
        before = self.requests[-1].id if self.requests else None
        made = Request(
            id=name,
            lane="main",
            model=self.model,
            provider=self.provider,
            start=self.now,
            first_token=self.now + SECOND,
            end=self.now + 4 * SECOND,
            parent=before,
            prompt=prompt,
            usage=Usage(output=output),
        )
        return msgspec.structs.replace(made, **changes)

    def session(self, *, bodies: bool) -> Session:
        raw = Session(
            id="s",
            format="test",
            completeness="full",
            lanes=(Lane(id="main", title="main"),),
            requests=tuple(self.requests),
        )
        rows = scan(raw, RoutedProvider(), price=False).rows
        requests = tuple(
            msgspec.structs.replace(row.request, usage=row.usage, prompt=row.request.prompt if bodies else None)
            for row in rows
        )
        return msgspec.structs.replace(raw, requests=requests, completeness="full" if bodies else "usage")

    def really(self, act: Request) -> Usage:
        """What the cache serves when this request comes after all the others."""
        raw = msgspec.structs.replace(self.session(bodies=True), requests=(*self.requests, act))
        return scan(raw, RoutedProvider(), price=False).rows[-1].usage


def held(outlook: Outlook, name: str, served: Usage, new: int) -> None:
    """The read lies where it was foretold, and what is paid anew is the rest."""
    act = outlook.act(name)
    assert act is not None, outlook.left_out
    step = act.steps[0]
    read = served.read or 0
    assert (step.worst.read or 0) <= read <= (step.best.read or 0), (name, step, served)
    if act.exact:
        assert read == step.expected.read, (name, step, served)
        more = (served.total_input or 0) - (step.expected.total_input or 0) - new
        assert abs(more) <= outlook.state.rules.closing
        longer = step.expected.write_long or 0
        assert served.write_long == (longer + new if longer else 0)


CASES = [
    ("anthropic", "claude-opus-4-8", 300),
    ("anthropic", "claude-opus-4-8", 3600),
    ("anthropic", "claude-sonnet-4-6", 300),
    ("openai", "gpt-6", 0),
    ("openai", "gpt-5.4", 0),
    ("deepseek", "deepseek-v4-pro", 0),
    ("gemini", "gemini-3-pro", 0),
]


@pytest.mark.parametrize(("provider", "model", "ttl"), CASES)
@pytest.mark.parametrize("bodies", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_each_act_reads_what_was_foretold(provider: str, model: str, ttl: int, bodies: bool, seed: int) -> None:
    life = Life(provider, model, ttl, seed, rows=3 + seed)
    session = life.session(bodies=bodies)
    last = life.requests[-1].start or 0
    lifetime = ttl or 600
    for pause in (5, lifetime, lifetime + 1, 100_000):
        now = last + pause * SECOND
        life.now = now
        outlook = next_acts(session, now=now, pause=60)
        asked = [block("asked", "messages", 321)]
        whole = life.prompt.extend(asked)
        held(outlook, "go-on", life.really(life.request("go", whole)), 321)
        held(outlook, "fork", life.really(life.request("fork", whole, lane="fork", parent=None)), 321)
        held(outlook, "resume", life.really(life.request("resume", whole)), 321)
        later = life.request("later", whole, start=now + 60 * SECOND, first_token=None, end=None)
        held(outlook, "wait", life.really(later), 321)
        other = life.request("other", whole, settings=(("effort", '"low"'), ("reasoning_effort", '"low"')))
        if outlook.act("other-effort") is not None:
            held(outlook, "other-effort", life.really(other), 321)
        tools = [block("another tool", "tools", 200, "tool"), *whole]
        held(outlook, "change-tools", life.really(life.request("tools", Prompt.of(tools))), 521)
        fresh = life.request("fresh", Prompt.of([*front(), block("hello", "messages", 100)]), parent=None)
        held(outlook, "start-afresh", life.really(fresh), 100 + FRONT - outlook.state.opening)
        before = life.requests[-2]
        assert before.prompt is not None
        gone_back = Prompt.of([*before.prompt, block("other way", "messages", 77)])
        held(outlook, "rewind", life.really(life.request("back", gone_back, parent=before.id)), 10**9)


@pytest.mark.parametrize(("provider", "model", "ttl"), CASES[:3])
def test_the_very_end_of_a_lifetime_is_warm_and_the_next_nanosecond_is_cold(provider, model, ttl) -> None:
    session = Life(provider, model, ttl, 1, rows=3).session(bodies=False)
    ends = (session.requests[-1].start or 0) + ttl * SECOND
    assert next_acts(session, now=ends).warmth == "warm"
    assert next_acts(session, now=ends + 1).warmth == "cold"
    warm, cold = (next_acts(session, now=at).acts[0].steps[0].expected for at in (ends, ends + 1))
    assert warm.read
    assert cold.read == 0


def test_a_switch_and_the_way_back_are_both_foretold() -> None:
    life = Life("anthropic", "claude-sonnet-4-6", 300, 5, rows=4)
    session = life.session(bodies=False)
    now = life.now
    act = next_acts(session, now=now, models=["claude-opus-4-6"]).act("other-model")
    assert act is not None
    whole = life.prompt.extend([block("asked", "messages", 321)])
    there = life.request("there", whole, model="claude-opus-4-6")
    assert life.really(there).read == act.steps[0].expected.read == 0
    life.requests.append(there)
    life.now += 20 * SECOND
    back = life.request("back", whole.extend([block("more", "messages", 5)]))
    assert life.really(back).read == act.steps[1].expected.read


def test_a_model_that_was_used_before_is_warm_where_it_was_left() -> None:
    life = Life("anthropic", "claude-sonnet-4-6", 300, 6, rows=3)
    life.model = "claude-opus-4-6"
    life.say(10)
    left = life.session(bodies=False).requests[-1].usage
    assert left is not None
    life.model = "claude-sonnet-4-6"
    life.say(11)
    session = life.session(bodies=False)
    numbered = tuple(msgspec.structs.replace(r, appended_blocks=2) for r in session.requests)
    session = msgspec.structs.replace(session, requests=numbered)
    now = life.now
    act = next_acts(session, now=now, models=["claude-opus-4-6"]).act("other-model")
    assert act is not None
    whole = life.prompt.extend([block("asked", "messages", 321)])
    there = life.request("there", whole, model="claude-opus-4-6")
    assert life.really(there).read == act.steps[0].expected.read == (left.read or 0) + (left.write or 0)
