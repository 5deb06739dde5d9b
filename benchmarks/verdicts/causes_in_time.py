"""Causes of time, place and breakpoints: lifetimes, hosts, evictions, markers, concurrency."""

from __future__ import annotations

from benchmarks.verdicts.breakpoint_world import BreakpointWorld
from benchmarks.verdicts.cell_registry import AUTOMATIC, CLAUDE, CODEX, DEEPSEEK, IMPLICIT, OPENAI, cell, informed, loss
from benchmarks.verdicts.documented_rules import HAIKU_45, OPUS_45, OPUS_48, SONNET_46
from benchmarks.verdicts.session_truth import Truth
from benchmarks.verdicts.simulated_agent import Agent, system_only, with_previous

UNKNOWN = ("AS901", "AS902")
"""Where no log shows the cause, leaving it open is the right answer."""
BODILESS = ("messages", "counters", "claude-code", "codex")
"""Forms in which nobody could tell that one request might have read what another was writing."""


@cell("expired-5m", (CLAUDE,))
def expired_5m(a: Agent) -> None:
    a.warm()
    a.reply()
    a.send(loss("expired-5m", ("AS201",)), gap=a.rng.uniform(340, 1_500))
    a.go_on()


@cell("expired-1h", (CLAUDE,))
def expired_1h(a: Agent) -> None:
    a.lifetime = 3600
    a.warm()
    a.reply()
    a.send(loss("expired-1h", ("AS202",)), gap=a.rng.uniform(3_700, 9_000))
    a.go_on()


@cell("expired-at-edge", (CLAUDE,))
def expired_at_edge(a: Agent) -> None:
    """Above five minutes from start to start, below them from the end of the response."""
    assert isinstance(a.world, BreakpointWorld)
    a.world.linger = 0.0
    a.warm()
    assert a.last is not None
    took = a.last.end - a.last.start
    a.now = a.last.start + 300 + took / 2
    a.reply()
    a.send(loss("expired-at-edge", ("AS201", "AS204")), gap=0)
    a.go_on()


@cell("lifetime-dropped", (CLAUDE,))
def lifetime_dropped(a: Agent) -> None:
    """The harness falls from an hour to five minutes, and a pause between the two follows."""
    a.lifetime = 3600
    a.warm()
    a.lifetime = 300
    a.step(gap=20)
    a.step(gap=20)
    a.reply()
    a.send(loss("lifetime-dropped", ("AS203", "AS201")), gap=a.rng.uniform(400, 3_000))
    a.go_on()


@cell("dropped-after-pause", (OPENAI, CODEX))
def dropped_after_pause(a: Agent) -> None:
    """An automatic cache keeps what is used; after a long pause it is gone."""
    a.warm(4)
    a.reply()
    a.send(loss("dropped-after-pause", ("AS205", "AS206")), gap=a.rng.uniform(1_300, 4_000))
    a.go_on()


@cell("expired-30m", (IMPLICIT,))
def expired_30m(a: Agent) -> None:
    a.warm()
    a.reply()
    a.send(loss("expired-30m", ("AS206", "AS205")), gap=a.rng.uniform(100_000, 200_000))
    a.go_on()


@cell("lookback", (CLAUDE,))
def lookback(a: Agent) -> None:
    """So many parallel calls in one round that the last entry is out of reach."""
    a.warm()
    a.reply(calls=a.rng.randrange(11, 16), words=(15, 60))
    a.send(loss("lookback", ("AS301",)))
    a.go_on()


@cell("markers-vanish", (CLAUDE,))
def markers_vanish(a: Agent) -> None:
    """From some request on the body carries no marker: a gateway or an upgrade took them out."""
    a.warm(4)
    a.marked = None
    a.step(loss("markers-vanish", ("AS305", "AS302")))
    a.step()


@cell("markers-flicker", (CLAUDE,))
def markers_flicker(a: Agent) -> None:
    """One request in the middle carries no markers; the next has them again."""
    a.warm(3)
    a.marked = None
    a.step(loss("markers-flicker", ("AS305", "AS302")), gap=10)
    a.marked = with_previous
    a.step(gap=10)
    a.go_on()


@cell("tail-unmarked", (CLAUDE,))
def tail_unmarked(a: Agent) -> None:
    """A request marks the system text alone: the conversation that had an entry is paid in full."""
    a.warm(3)
    a.marked = system_only
    a.step(loss("tail-unmarked", ("AS302", "AS305")), gap=10)


@cell("caching-off", (CLAUDE,))
def caching_off(a: Agent) -> None:
    a.marked = None
    truth = informed("caching-off", ("AS305",))
    a.send(truth, gap=0)
    for _ in range(3):
        a.step(truth)


@cell("below-minimum", (CLAUDE,), models=(OPUS_45, HAIKU_45))
def below_minimum(a: Agent) -> None:
    a.tools = a.tools[:1]
    a.system = [a.content.text(100)]
    a.messages[0]["content"][0]["text"] = a.content.text(40)
    truth = informed("below-minimum", ("AS303",))
    a.send(truth, gap=0)
    for _ in range(3):
        a.reply(words=(20, 60))
        a.send(truth)


def _siblings(a: Agent, *, marked: bool, together: bool) -> None:
    """Three subagents with one long task text and an own instruction each."""
    name = "siblings-together" if marked else "siblings-unmarked"
    right = ("AS501",) if marked else ("AS502", "AS302")
    a.warm(1)
    task, base, now = a.content.text(900), list(a.system), a.now
    a.system = [a.content.text(200)]
    first = None
    for number in range(3):
        a.lane, a.purpose = f"sub{number + 1}", "subagent"
        a.life.lanes[a.lane] = "main"
        own = a.content.text(60 + number)
        a.messages = [{"role": "user", "content": [{"type": "text", "text": task}, {"type": "text", "text": own}]}]
        a.marked = (lambda _: [("system", 300), ("block:0.0", 300), ("block:0.1", 300)]) if marked else None
        if not marked:
            a.marked = lambda _: [("system", 300), ("block:0.1", 300)]
        if together:
            a.now = now + 0.05 * number
        sent = a.send(
            loss(name, right) if first is not None else Truth("free", name), gap=1 if together else 20, beside=first
        )
        first = first or sent
    a.system = base


@cell("siblings-together", (CLAUDE,), unseen=BODILESS)
def siblings_together(a: Agent) -> None:
    """Three subagents in one second: the entry of the first cannot be read yet."""
    _siblings(a, marked=True, together=True)


@cell("siblings-unmarked", (CLAUDE,), unseen=BODILESS)
def siblings_unmarked(a: Agent) -> None:
    """Three subagents one after the other, none with a marker where they part."""
    _siblings(a, marked=False, together=False)


@cell("sent-together", (CLAUDE, OPENAI), unseen=BODILESS)
def sent_together(a: Agent) -> None:
    """The same step is sent twice at once, as a hedge: the second writes what the first is about to keep."""
    a.warm()
    before = a.last
    a.reply(calls=1, words=(900, 1_200))
    one = a.send(gap=5)
    a.lane, a.purpose = "hedge", "retry"
    a.life.lanes["hedge"] = "main"
    a.now = one.start + 0.15
    a.send(loss("sent-together", ("AS501",)), gap=0, beside=one, grew_from=before)
    a.lane, a.purpose, a.now = "main", "main", one.end
    a.go_on()


@cell("not-readable-yet", (CLAUDE,), models=(OPUS_48, SONNET_46), early=True)
def not_readable_yet(a: Agent) -> None:
    """Before August 2026: sent at once after the response, an entry was not there yet."""
    a.warm()
    a.late_after_end = 2.0
    a.reply(words=(600, 900))
    a.send(gap=10)
    a.late_after_end = None
    a.reply(words=(20, 40))
    a.send(loss("not-readable-yet", ("AS501",)), gap=a.rng.uniform(0.2, 0.9))
    a.go_on()


@cell("host-changed", (CLAUDE, OPENAI, DEEPSEEK), unseen=("claude-code", "codex"))
def host_changed(a: Agent) -> None:
    """A router sends the request to another upstream, and the log names it."""
    a.place = a.host = "alpha.upstream.example"
    a.warm(3)
    a.place = a.host = "beta.upstream.example"
    a.step(loss("host-changed", ("AS503",)))
    a.go_on()


@cell("account-rotated")
def account_rotated(a: Agent) -> None:
    """A pool of keys: this request went to another account. No log says so."""
    a.warm(3)
    a.place = "second account"
    a.step(loss("account-rotated", ("AS503", "AS902"), hidden=True))
    a.go_on()


@cell("evicted-all")
def evicted_all(a: Agent) -> None:
    """The provider lost everything early, within the lifetime."""
    a.warm(3)
    a.world.forget()
    a.step(loss("evicted-all", (*UNKNOWN, "AS503"), hidden=True))
    a.go_on()


@cell("evicted-conversation", (CLAUDE, *AUTOMATIC))
def evicted_conversation(a: Agent) -> None:
    """The head is kept, the conversation was dropped early."""
    a.warm(3)
    a.world.forget("messages")
    a.step(loss("evicted-conversation", (*UNKNOWN, "AS503"), hidden=True))
    a.go_on()


@cell("evicted-1h", (CLAUDE,))
def evicted_1h(a: Agent) -> None:
    """An entry of an hour is gone after forty minutes."""
    a.lifetime = 3600
    a.warm(3)
    a.world.forget("messages")
    a.reply()
    a.send(loss("evicted-1h", (*UNKNOWN, "AS503"), hidden=True), gap=a.rng.uniform(1_500, 3_000))
    a.go_on()


@cell("gateway-rewrites", unseen=())
def gateway_rewrites(a: Agent) -> None:
    """A gateway behind the log puts a stamp into what it passes on."""
    a.warm(3)
    stamp = a.content.id("trace")

    def rewrite(body: dict) -> dict:  # type: ignore[type-arg]
        first = body["tools"][0]
        place = first.get("function", first)
        place["description"] = stamp + " " + place["description"]
        return body

    a.gateway = rewrite
    a.step(loss("gateway-rewrites", (*UNKNOWN, "AS503"), hidden=True))
    a.go_on()
