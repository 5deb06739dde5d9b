"""Causes in what a request asks besides its prompt, and leads that look like one and are none."""

from __future__ import annotations

from benchmarks.verdicts.causes_in_time import UNKNOWN
from benchmarks.verdicts.cell_registry import CLAUDE, CODEX, DEEPSEEK, IMPLICIT, OPENAI, cell, healthy, loss
from benchmarks.verdicts.documented_rules import CLAUDES, GPT_52, GPT_54, OPUS_5, OPUS_48, SONNET_5, SONNET_46
from benchmarks.verdicts.simulated_agent import Agent, with_tools

FOURS = (OPUS_48, SONNET_46)


def _forced(a: Agent) -> dict[str, str]:
    return a.rng.choice([{"type": "any"}, {"type": "tool", "name": a.tools[0]["name"]}])


@cell("tool-choice", (CLAUDE,))
def tool_choice(a: Agent) -> None:
    a.settings["tool_choice"] = {"type": "auto"}
    a.warm()
    a.settings["tool_choice"] = _forced(a)
    a.step(loss("tool-choice", ("AS401",)))
    a.settings["tool_choice"] = {"type": "auto"}
    a.step()
    a.go_on(1)


@cell("thinking-on", (CLAUDE,), models=CLAUDES)
def thinking_on(a: Agent) -> None:
    a.warm()
    a.settings["thinking"] = {"type": "enabled", "budget_tokens": 10_000}
    a.step(loss("thinking-on", ("AS402",)))
    a.go_on()


@cell("thinking-budget", (CLAUDE,), models=CLAUDES)
def thinking_budget(a: Agent) -> None:
    a.settings["thinking"] = {"type": "enabled", "budget_tokens": 10_000}
    a.warm()
    a.settings["thinking"] = {"type": "enabled", "budget_tokens": 24_000}
    a.step(loss("thinking-budget", ("AS402",)))
    a.go_on()


@cell("effort", (CLAUDE, OPENAI, CODEX, IMPLICIT))
def effort(a: Agent) -> None:
    a.settings["effort"] = "medium"
    a.warm()
    a.settings["effort"] = a.rng.choice(("low", "high"))
    a.since.append(("effort", a.settings["effort"]))
    a.step(loss("effort", ("AS403",)))
    a.go_on()


@cell("model", (CLAUDE, OPENAI, DEEPSEEK, CODEX))
def model(a: Agent) -> None:
    a.warm()
    a.switch_model()
    a.step(loss("model", ("AS404",)))
    a.go_on()


@cell("first-image", (CLAUDE,))
def first_image(a: Agent) -> None:
    a.warm()
    a.reply()
    a.messages[-1]["content"].append(a.content.image())
    a.send(loss("first-image", ("AS405",)))
    a.go_on()


@cell("speed", (CLAUDE,), models=(OPUS_48, OPUS_5))
def speed(a: Agent) -> None:
    a.marked = with_tools
    a.warm()
    a.settings["speed"] = "fast"
    a.step(loss("speed", ("AS406",)))
    a.go_on()


@cell("betas", (CLAUDE,), models=FOURS, unseen=("claude-code",))
def betas(a: Agent) -> None:
    a.settings["betas"] = ["context-management-2025-06-27"]
    a.warm()
    a.settings["betas"] = ["context-management-2025-06-27", "interleaved-thinking-2025-05-14"]
    a.step(loss("betas", ("AS407",)))
    a.go_on()


@cell("citations", (CLAUDE,), models=FOURS, unseen=("claude-code",))
def citations(a: Agent) -> None:
    """A document with citations joins the conversation: the system text and all behind it is keyed anew."""
    a.marked = with_tools
    a.warm()
    a.reply()
    source = {"type": "text", "media_type": "text/plain", "data": a.content.text(120)}
    a.messages[-1]["content"].append({"type": "document", "source": source, "citations": {"enabled": True}})
    a.send(loss("citations", ("AS407",)))
    a.go_on()


@cell("output-format", (OPENAI, IMPLICIT))
def output_format(a: Agent) -> None:
    """A schema for the answer, which is rendered in front of everything."""
    a.warm()
    a.settings["text_format"] = {"type": "object", "properties": {"answer": {"type": "string"}}}
    a.step(loss("output-format", ("AS407",)))
    a.go_on()


@cell("verbosity", (IMPLICIT,))
def verbosity(a: Agent) -> None:
    a.settings["verbosity"] = "low"
    a.warm()
    a.settings["verbosity"] = "high"
    a.step(loss("verbosity", ("AS407",)))
    a.go_on()


@cell("cache-key", (OPENAI, IMPLICIT))
def cache_key(a: Agent) -> None:
    a.settings["prompt_cache_key"] = a.content.id("key")
    a.warm()
    a.settings["prompt_cache_key"] = a.content.id("key")
    a.step(loss("cache-key", ("AS503", "AS407")))
    a.go_on()


# --- false leads: something changed in the very request that lost, and is not the cause -------------------------------


@cell("lead:tool-choice+host", (CLAUDE,), lead=True, unseen=("claude-code",))
def tool_choice_and_host(a: Agent) -> None:
    """tool_choice would leave tools and system text; nothing was read, because another host answered."""
    a.place = a.host = "alpha.upstream.example"
    a.settings["tool_choice"] = {"type": "auto"}
    a.warm(3)
    a.place = a.host = "beta.upstream.example"
    a.settings["tool_choice"] = {"type": "any"}
    a.step(loss("lead:tool-choice+host", ("AS503",)))
    a.settings["tool_choice"] = {"type": "auto"}


@cell("lead:tool-choice+eviction", (CLAUDE,), lead=True)
def tool_choice_and_eviction(a: Agent) -> None:
    """tool_choice would leave tools and system text; all was lost, and no log shows why."""
    a.settings["tool_choice"] = {"type": "auto"}
    a.warm(3)
    a.world.forget()
    a.settings["tool_choice"] = _forced(a)
    a.step(loss("lead:tool-choice+eviction", (*UNKNOWN, "AS503"), hidden=True))


@cell("lead:effort+account", (CLAUDE,), models=FOURS, lead=True)
def effort_and_account(a: Agent) -> None:
    """Effort would leave tools and system text of this model; nothing was read."""
    a.settings["effort"] = "medium"
    a.warm(3)
    a.place = "second account"
    a.settings["effort"] = "low"
    a.since.append(("effort", "low"))
    a.step(loss("lead:effort+account", (*UNKNOWN, "AS503"), hidden=True))


@cell("lead:image+expiry", (CLAUDE,), lead=True)
def image_and_expiry(a: Agent) -> None:
    """The first image comes after a pause that nothing survived."""
    a.warm(3)
    a.reply()
    a.messages[-1]["content"].append(a.content.image())
    a.send(loss("lead:image+expiry", ("AS201",)), gap=a.rng.uniform(400, 1_500))
    a.go_on()


@cell("lead:tail-edit+expiry", (CLAUDE,), lead=True)
def tail_edit_and_expiry(a: Agent) -> None:
    """The newest message is edited, and everything had expired besides."""
    a.warm(3)
    result = a.messages[-1]["content"][0]
    result["content"] = a.content.changed(result["content"])
    a.reply()
    truth = loss("lead:tail-edit+expiry", ("AS201", "AS120"), note="two losses: before and behind the edit")
    a.send(truth, gap=a.rng.uniform(400, 1_500))
    a.go_on()


@cell("lead:default-named+eviction", (CLAUDE,), lead=True)
def default_named_and_eviction(a: Agent) -> None:
    """The default is written out in the request that lost: the same by the rules."""
    a.warm(3)
    a.world.forget()
    a.settings["tool_choice"] = {"type": "auto"}
    a.settings["effort"] = "high"
    a.step(loss("lead:default-named+eviction", (*UNKNOWN, "AS503"), hidden=True))
    a.go_on()


@cell("lead:unkeyed+eviction", (OPENAI, DEEPSEEK), lead=True)
def unkeyed_and_eviction(a: Agent) -> None:
    """A setting that no published rule puts into this provider's key changes in the request that lost."""
    a.settings["tool_choice"] = "auto"
    a.settings["temperature"] = 0.2
    a.warm(4)
    a.world.forget()
    a.settings["tool_choice"] = "required"
    a.settings["temperature"] = 0.9
    a.step(loss("lead:unkeyed+eviction", (*UNKNOWN, "AS503"), hidden=True))
    a.settings["tool_choice"] = "auto"
    a.go_on()


@cell("lead:unkeyed-effort+eviction", (DEEPSEEK,), lead=True)
def unkeyed_effort_and_eviction(a: Agent) -> None:
    """DeepSeek publishes no setting in the key: an effort that changes beside an eviction explains nothing."""
    a.settings["effort"] = "medium"
    a.warm(4)
    a.world.forget()
    a.settings["effort"] = "high"
    a.step(loss("lead:unkeyed-effort+eviction", (*UNKNOWN, "AS503"), hidden=True))
    a.go_on()


@cell("lead:pause+tool-edit", (CLAUDE,), lead=True)
def pause_and_tool_edit(a: Agent) -> None:
    """A pause just below the lifetime beside a changed tool."""
    a.warm(3)
    a.tools[0]["description"] = a.content.changed(a.tools[0]["description"])
    a.reply()
    a.send(loss("lead:pause+tool-edit", ("AS104",), "tools"), gap=a.rng.uniform(200, 255))
    a.go_on()


# --- healthy ways to live that look suspicious ----------------------------------------------------------------------


@cell("healthy:default-named", (CLAUDE,), lead=True)
def default_named(a: Agent) -> None:
    a.warm(3)
    a.settings["tool_choice"] = {"type": "auto"}
    a.step(healthy("healthy:default-named"))
    a.settings["effort"] = "high"
    a.step(healthy("healthy:default-named"))
    a.go_on()


@cell("healthy:unkeyed", (CLAUDE, OPENAI, DEEPSEEK), lead=True)
def unkeyed(a: Agent) -> None:
    """Temperature, the limit of output and metadata change; none is part of a key."""
    a.settings["temperature"] = 1.0
    a.warm(3)
    a.settings["temperature"] = 0.3
    a.settings["max_tokens"] = 4_000
    a.step(healthy("healthy:unkeyed"))
    a.settings["metadata"] = {"user_id": "somebody"}
    a.step(healthy("healthy:unkeyed"))
    a.go_on()


@cell("healthy:lifetime-flips", (CLAUDE,), lead=True)
def lifetime_flips(a: Agent) -> None:
    """Five minutes and an hour by turns, with no pause that matters."""
    a.warm(3)
    for lifetime in (3600, 300, 3600):
        a.lifetime = lifetime
        a.step(healthy("healthy:lifetime-flips"), gap=20)


@cell("healthy:long-pause", (CLAUDE,), lead=True)
def long_pause(a: Agent) -> None:
    """Four minutes of five, and fifty minutes of sixty."""
    a.lifetime = a.rng.choice((300, 3600))
    a.warm(3)
    a.reply()
    a.send(healthy("healthy:long-pause"), gap=240 if a.lifetime == 300 else 3_000)
    a.go_on()


@cell("healthy:rewind", lead=True)
def rewind(a: Agent) -> None:
    """The user goes back two rounds and asks something else."""
    a.warm(4)
    a.messages = a.messages[:-4]
    a.answer_and_ask()
    a.since.append(("rewind", ""))
    a.rewound(2)
    a.send(healthy("healthy:rewind"))
    a.go_on(2)


@cell("healthy:fork", (CLAUDE, OPENAI, DEEPSEEK), lead=True, unseen=("claude-code",))
def fork(a: Agent) -> None:
    """A second lane goes on from a point of the first, which goes on as well."""
    a.warm(3)
    kept = list(a.messages)
    parent = a.last
    assert parent is not None
    a.lane, a.purpose = "fork", "subagent"
    a.life.lanes["fork"] = "main"
    a.messages = [*kept]
    a.reply()
    a.send(healthy("healthy:fork"), grew_from=parent)
    a.step()
    a.lane, a.purpose, a.messages = "main", "main", kept
    a.step(healthy("healthy:fork"))


@cell("healthy:unlogged", lead=True)
def unlogged(a: Agent) -> None:
    """A side call that no log holds extends the conversation: the next request reads more than any log wrote."""
    a.warm(3)
    a.reply()
    a.send(logged=False)
    a.step(healthy("healthy:unlogged"))
    a.go_on()


@cell("healthy:image-at-end", (OPENAI,), lead=True)
def image_at_end(a: Agent) -> None:
    """The first image of a conversation, at a provider that keys by the prefix alone."""
    a.warm(3)
    a.reply()
    a.messages[-1]["content"].append(a.content.image())
    a.send(healthy("healthy:image-at-end"))
    a.go_on()


@cell("healthy:tool-choice", (OPENAI,), models=(GPT_54, GPT_52), lead=True)
def tool_choice_of_another(a: Agent) -> None:
    """tool_choice is in no key of this provider."""
    a.settings["tool_choice"] = "auto"
    a.warm(3)
    a.settings["tool_choice"] = "required"
    a.step(healthy("healthy:tool-choice"))
    a.settings["tool_choice"] = "auto"
    a.step(healthy("healthy:tool-choice"))


@cell("healthy:plain")
def plain(a: Agent) -> None:
    """Nothing happens."""
    a.warm(a.rng.randrange(4, 9))
    a.answer_and_ask()
    a.send()
    a.go_on(3)


@cell("healthy:parallel-within-reach", (CLAUDE,), models=(SONNET_5, OPUS_48), lead=True)
def parallel_within_reach(a: Agent) -> None:
    """Nine parallel calls: nineteen blocks, the last that the lookback reaches."""
    a.warm(2)
    a.reply(calls=9, words=(15, 60))
    a.send(healthy("healthy:parallel-within-reach"))
    a.go_on()
