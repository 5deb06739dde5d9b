"""The key figures of every rules file, one a line: whose, of which model, which rule, its value, how sure, and a part
of the source that says so. With ``*`` behind it a rule is that for requests with breakpoints; ``@`` names a day."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from agentsim.rules.providers import ProviderRules, rules_for
from agentsim.rules.providers.rules_library import load_rules, provider_names

PUBLISHED = """
anthropic  claude-opus-4-8       matching         "breakpoint"      high    one entry per breakpoint
anthropic  claude-opus-4-8       order            ["tools", "system", "messages"]  high  prompt caching, 2026-08
anthropic  claude-opus-4-8       lookback         20                high    a breakpoint at block 35 tests 35 to 16
anthropic  claude-opus-4-8       lookback_counts  "block"           medium  which kinds count is not stated
anthropic  claude-opus-4-8       breakpoints      4                 high    a fifth is answered with HTTP 400
anthropic  claude-opus-4-8       on_excess        "reject"          high    prompt caching, 2026-08
anthropic  claude-opus-4-8       ttl_short        300               high    prompt caching, 2026-08
anthropic  claude-opus-4-8       ttl_long         3600              high    prompt caching, 2026-08
anthropic  claude-opus-4-8       ttl_clock        "request_start"   high    from the start of the request
anthropic  claude-opus-4-8       ttl_grace        0                 medium  a lifetime is a minimum
anthropic  claude-opus-4-8       refresh          "ancestors"       medium  reading through an earlier prefix
anthropic  claude-opus-4-8       readable         "first_token"     high    once the first response begins
anthropic  claude-opus-4-8@2026-08-04  readable_doubt  2            medium  4 to 6 of 10 trials
anthropic  claude-opus-4-8@2026-08-05  readable_doubt  0            medium  more than 30 trials that all hit
anthropic  claude-opus-4-8       ttl_order        "long_first"      high    every 1 h breakpoint precedes
anthropic  claude-opus-4-8       usage            "apart"           high    what follows the last breakpoint
anthropic  claude-opus-4-8       scope            "workspace"       high    by organization and workspace
anthropic  claude-opus-4-8  early_loss  [[600, 8], [1200, 13], [1800, 21], [2700, 25]]  medium  before the hour ended
anthropic  claude-opus-5         minimum          512               high    prompt caching, 2026-08
anthropic  claude-fable-5        minimum          512               high    prompt caching, 2026-08
anthropic  claude-mythos-5       minimum          512               high    prompt caching, 2026-08
anthropic  claude-opus-5-5       minimum          512               medium  public price library, 2026-11
anthropic  claude-sonnet-5-5     minimum          512               medium  public price library, 2026-11
anthropic  claude-haiku-5-5      minimum          512               medium  public price library, 2026-11
anthropic  claude-fable-5-1      minimum          512               medium  public price library, 2026-11
anthropic  claude-mythos-5-1     minimum          512               medium  public price library, 2026-11
anthropic  claude-fable-5-2      minimum          512               low     assumed
anthropic  claude-opus-4-8       minimum          1024              high    prompt caching, 2026-08
anthropic  claude-sonnet-5       minimum          1024              high    prompt caching, 2026-08
anthropic  claude-sonnet-4-6     minimum          1024              medium  prompt caching, 2026-08
anthropic  claude-sonnet-4-5     minimum          1024              high    prompt caching, 2026-08
anthropic  claude-opus-4-1       minimum          1024              high    prompt caching, 2026-08
anthropic  claude-opus-4-20250514    minimum      1024              high    prompt caching, 2026-08
anthropic  claude-sonnet-4-20250514  minimum      1024              high    prompt caching, 2026-08
anthropic  claude-opus-4-7       minimum          2048              high    prompt caching, 2026-08
anthropic  claude-mythos-preview minimum          2048              low     prompt caching, 2026-08
anthropic  claude-opus-4-6       minimum          4096              high    prompt caching, 2026-08
anthropic  claude-opus-4-5       minimum          4096              high    prompt caching, 2026-08
anthropic  claude-haiku-4-5      minimum          4096              high    prompt caching, 2026-08
anthropic  claude-3-5-haiku      minimum          2048              high    prompt caching, 2026-08
openai     gpt-5.4               matching         "longest_prefix"  high    longest exact prefix, best effort
openai     gpt-5.4               minimum          1024              medium  1,024 to 2,048 by model
openai     gpt-5.4               quantum          128               medium  1,536; 4,608; 11,008
openai     gpt-5.4               write_fee        "none"            high    no fee for writing
openai     gpt-5.4               scope            "organization"    high    not shared between organizations
openai     gpt-5.4               route_per_minute 15                medium  about 15 requests a minute
openai     gpt-5.4@2026-04-27    ttl_unasked      "short"           medium  up to 2026-04
openai     gpt-5.4               ttl_unasked      "long"            medium  24 hours where data may be kept
openai     gpt-5.4               ttl_short        600               low     5 to 10 minutes of inactivity
openai     gpt-5.4               ttl_long         86400             high    up to 24 hours
openai     gpt-5.5               ttl_short        86400             high    24 hours only
openai     gpt-5.5-pro           ttl_short        86400             high    24 hours only
openai     gpt-5.6-sol           matching         "breakpoint"      high    entries exist at breakpoints only
openai     gpt-5.6-sol           quantum          1                 high    not rounded to a block of tokens
openai     gpt-5.6-sol           minimum          1024              high    its own hidden text not counted
openai     gpt-5.6-sol           lookback         80                high    the latest 80 breakpoints
openai     gpt-5.6-sol           lookback_counts  "breakpoint"      medium  each turn read up to the message
openai     gpt-5.6-sol           breakpoints      4                 high    one of them implicit
openai     gpt-5.6-sol           on_excess        "keep_latest"     high    the latest explicit breakpoints
openai     gpt-5.6-sol           implicit         "newest_input"    high    newest eligible message
openai     gpt-5.6-sol           ttl_short        1800              high    30 minutes, the default
openai     gpt-5.6-sol           ttl_long         43200             high    12 hours
openai     gpt-5.6-sol           ttl_unasked      "short"           high    30 minutes unless
openai     gpt-5.6-sol           write_fee        "by_lifetime"     high    1.25 times
openai     gpt-5.6-sol           usage            "inside"          high    input_tokens counts what was read
openai     gpt-6.2-astra         matching         "breakpoint"      high    entries exist at breakpoints only
gemini     gemini-3-flash        minimum          4096              medium  the Gemini 3 family
gemini     gemini-2.5-flash      minimum          2048              medium  the Gemini 2 family
gemini     gemini-2.5-pro        minimum          2048              medium  the Gemini 2 family
gemini     gemini-3-pro          minimum          4096              medium  the Gemini 3 family
gemini     gemini-3.8-flash      minimum          6144              medium  implicit caching only
gemini     gemini-4-argon        minimum          4096              low     3.x, 3.6 to 3.8 Flash and 4
gemini     gemini-4-argon        ttl_short        86400             medium  within 24 hours of creation
gemini     gemini-4-argon        refresh          "none"            medium  count from creation
gemini     gemini-4-argon        matching*        "breakpoint"      high    names one cached object
gemini     gemini-4-argon        ttl_short*       3600              high    60 minutes
gemini     gemini-4-argon        storage*         "token_hours"     high    billed by tokens and hours
gemini     gemini-4-argon        write_fee*       "none"            high    what its tokens cost as input
vertex     gemini-4-argon        minimum          6144              medium  on Google Cloud only
vertex     claude-opus-4-5       scope            "organization"    high    not by workspace
deepseek   deepseek-flash        matching         "unit"            high    match a stored prefix unit as a whole
deepseek   deepseek-flash        quantum          128               medium  multiples of 128
deepseek   deepseek-flash        write_fee        "none"            high    writing has none
deepseek   deepseek-flash        usage            "inside"          high    add up to prompt_tokens
bedrock    claude-opus-4-5       scope            "organization"    high    not by workspace
bedrock    claude-opus-4-5       ttl_long         3600              high    prompt caching, 2026-08
bedrock    claude-sonnet-4-20250514  ttl_long     300               medium  from the 4.5 generation on
bedrock    claude-opus-4-5       refresh          "hit"             medium  anew with each hit
bedrock    claude-opus-4-5       usage            "apart"           high    holds neither reads nor writes
bedrock    claude-opus-4-5       minimum          4096              high    prompt caching, 2026-08
bedrock    openai.gpt-5.6-sol    lookback         80                high    the latest 80 breakpoints
foundry    claude-opus-4-5       scope            "workspace"       high    the hosting option
foundry    gpt-5.6-sol           lookback         80                high    the latest 80 breakpoints
codex      gpt-5.6-sol           matching         "longest_prefix"  medium  without a breakpoint
codex      gpt-5.6-sol           quantum          1024              medium  1,024 k + 768
codex      gpt-5.5               quantum          512               medium  384 more than a multiple of 512
codex      gpt-5.6-sol           pause            120               medium  48 % lost their prefix
codex      gpt-5.6-sol           write_fee        "none"            medium  what is fresh costs the price of input
openai     gpt-5.6-sol           matching         "breakpoint"      high    entries exist at breakpoints only
codex      gpt-5.6-sol           route_header     "session_id"      medium  with the header each request read
xai        grok-4.7              route_header     "x-grok-conv-id"  high    pins a conversation to its server
xai        grok-4.7              scope            "server"          high    one cache for each server
xai        grok-4.7              quantum          128               medium  124 measured calls
kimi       kimi-k3               ttl_short        300               medium  five minutes unless an hour
kimi       kimi-k3               ttl_long         3600              low     2026-09-19
kimi       kimi-k3               write_fee        "by_lifetime"     medium  an hour at twice that
kimi       kimi-k3               refresh          "hit"             medium  renews it
qwen       qwen3.8-max@2026-03-31    minimum      256               medium  2026-03-31
qwen       qwen3.8-max@2026-10-11    minimum      1024              medium  2026-10-11
qwen       qwen3.8-max           minimum*         1024              high    2026-10-11
qwen       qwen3.8-max           lookback*        20                high    20 content blocks
qwen       qwen3.8-max           breakpoints*     4                 high    2026-10-11
qwen       qwen3.8-max           ttl_short*       300               high    five minutes
qwen       qwen3.8-max           refresh*         "hit"             high    starts it anew
qwen       qwen3.8-max           readable*        "response_end"    high    made after the response
qwen       qwen3.8-max           write_fee*       "by_lifetime"     high    125 %
glm        glm-5.3               matching         "longest_prefix"  medium  automatic
glm        glm-5.3               write_fee        "none"            medium  none is listed
minimax    MiniMax-M2.7          lookback*        20                high    20 blocks for each marker
minimax    MiniMax-M2.7          breakpoints*     4                 low     assumed
minimax    MiniMax-M2.7          ttl_short*       300               low     assumed
minimax    MiniMax-M2.7          write_fee*       "by_lifetime"     medium  1.25 times input
minimax    MiniMax-M3            write_fee*       "none"            medium  no price for writing is listed for M3
minimax    MiniMax-M3            read_floor       128               medium  the counter of reads is 128
minimax    MiniMax-M3            read_floor*      128               medium  the counter of reads is 128
mistral    mistral-large-4       needs_setting    "prompt_cache_key"  high  the same key on related requests
openrouter claude-opus-4.5       route_sticky     600               high    10 idle minutes
openrouter claude-opus-4.5       usage            "inside"          high    inside prompt_tokens
openrouter qwen/qwen3.8-max      lookback*        20                high    20 content blocks
openrouter openai/gpt-5.6-sol    lookback         80                high    the latest 80 breakpoints
openrouter z-ai/glm-5.3          route_switch     30                medium  7, 9 and 4 changes of host
vllm       any                   quantum          16                medium  full blocks of 16 tokens
vllm       any                   eviction         "lru"             high    tails before fronts
vllm       any                   readable         "request_start"   medium  as soon as it is full
sglang     any                   quantum          1                 medium  a page of one token
sglang     any                   eviction         "lru"             high    the least recently used first
trtllm     any                   quantum          32                medium  blocks of 32 tokens
trtllm     any                   eviction         "lru"             high    by priority, then
llamacpp   any                   matching         "slot"            high    the chosen slot
llamacpp   any                   slot_similarity  10                medium  compiled default
llamacpp   any                   readable         "response_end"    medium  once the task of the slot is done
ollama     any                   matching         "slot"            high    the chosen slot
automatic  any                   matching         "longest_prefix"  medium  automatic prefix caching
"""

DISPUTED = """
anthropic  claude-opus-4-8       lookback_counts  run
anthropic  claude-opus-4-8       ttl_clock        response_end
anthropic  claude-opus-4-8       refresh          hit
anthropic  claude-sonnet-4-6     minimum          2048
anthropic  claude-mythos-preview minimum          512
anthropic  claude-opus-5-5       settings.effort  messages
anthropic  claude-opus-5-5       settings.thinking  messages
anthropic  claude-opus-4-8       settings.speed   nothing
openai     gpt-5.4               minimum          2048
openai     gpt-5.4               ttl_unasked      short
openai     gpt-5.6-sol           lookback         50
openai     gpt-5.6-sol           lookback_counts  own
openai     gpt-5.6-sol           ttl_grace        0
openai     gpt-5.6-sol           refresh          none
gemini     gemini-3-pro          minimum          1024
gemini     gemini-2.5-pro        minimum          4096
gemini     gemini-4-argon        minimum          1024
deepseek   deepseek-flash        quantum          64
deepseek   deepseek-flash        minimum          64
codex      gpt-5.6-sol           pause            290
qwen       qwen3.8-max           minimum          256
kimi       kimi-k3               ttl_long         300
minimax    MiniMax-M3            write_fee*       by_lifetime
openrouter z-ai/glm-5.3          route_switch     20
openrouter z-ai/glm-5.3          route_switch     40
bedrock    claude-opus-4-5       refresh          ancestors
sglang     any                   quantum          64
vllm       any                   quantum          64
llamacpp   any                   checkpoint_step  8192
"""
"""What sources disagree about: the other reading that each file has to name."""


def lines(table: str) -> list[tuple[str, str, str, str]]:
    return [tuple(line.split(maxsplit=3)) for line in table.split("\n") if line]  # type: ignore[misc]


def rules(provider: str, model: str, rule: str) -> tuple[ProviderRules, str]:
    name, _, day = model.partition("@")
    when = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 10**9 if day else None
    return rules_for(provider, name, when, marked=rule.endswith("*")), rule.rstrip("*")


def value_and_rest(text: str) -> tuple[object, str, str]:
    value, end = json.JSONDecoder().raw_decode(text)
    confidence, words = text[end:].split(maxsplit=1)
    return value, confidence, words


@pytest.mark.parametrize(
    ("provider", "model", "rule", "text"),
    lines(PUBLISHED),
    ids=[f"{p}.toml {m} {r} = {' '.join(t.split())}" for p, m, r, t in lines(PUBLISHED)],
)
def test_a_published_figure(provider: str, model: str, rule: str, text: str) -> None:
    value, confidence, words = value_and_rest(text)
    found, name = rules(provider, model, rule)
    assert json.loads(json.dumps(getattr(found, name))) == value
    figure = found.figure(name)
    assert figure is not None
    assert words in figure.source
    assert figure.confidence == confidence
    assert figure.line is not None


@pytest.mark.parametrize(("provider", "model", "rule", "other"), lines(DISPUTED))
def test_a_disputed_figure_names_the_other_reading(provider: str, model: str, rule: str, other: str) -> None:
    found, name = rules(provider, model, rule)
    figure = found.figure(name)
    assert figure is not None
    readings = [value for value, _ in figure.alternatives]
    assert other in readings
    assert figure.value not in readings


def test_every_file_is_in_the_table() -> None:
    assert {provider for provider, _, _, _ in lines(PUBLISHED)} == set(provider_names())


@pytest.mark.parametrize("provider", provider_names())
def test_no_source_was_read_in_the_future(provider: str) -> None:
    assert load_rules(provider).read_until.isoformat() <= "2026-11-29"
