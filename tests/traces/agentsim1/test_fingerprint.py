"""A fingerprint holds nothing private, and is still enough for a diagnosis."""

from __future__ import annotations

import io

import msgspec
import pytest
from hypothesis import given, settings

from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.session import Accounting, Event, Lane, Problem, ProviderDiagnosis, Request, Session, Source, Usage
from agentsim.traces.readers.agentsim1 import fingerprint, fingerprints, is_keyed, write
from tests.traces.sessions import sessions, text_block

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))


def written(*parts):
    stream = io.BytesIO()
    write(parts, stream)
    return stream.getvalue()


def canary_session():
    """A session with the word "canary" wherever outside text can stand."""
    tool = Block(section="tools", kind="canary_kind", digest=b"t" * 16, name="canary_tool", text="canary text")
    said = text_block("canary said", role="canary role")
    prompt = Prompt.of([tool, said], [Breakpoint(1, 300)])
    request = Request(
        id="canary-request",
        lane="canary-lane",
        model="claude-sonnet-4",
        provider="canary provider",
        start=5,
        parent="canary-parent",
        prompt=prompt,
        settings=(
            ("canary setting", '"x"'),
            ("mcp_servers", '[{"url":"https://canary.example","authorization_token":"canary"}]'),
            ("output_format", '{"schema":{"canary":1}}'),
            ("thinking", '{"budget_tokens":1024,"type":"enabled","canary":"canary"}'),
            ("tool_choice", '{"name":"canary_tool","type":"tool"}'),
        ),
        usage=Usage(fresh=1, read=2),
        diagnosis=ProviderDiagnosis(reported=True, reason="canary"),
        stop_reason="canary",
        service_tier="canary",
        speed="canary",
        region="canary",
        harness_version="1.2.3-canary",
        section_tokens=(("canary", 3),),
        source=Source("/home/canary/log.jsonl", 7),
    )
    return Session(
        id="canary-session",
        format="canary-format",
        completeness="full",
        lanes=(Lane(id="canary-lane", title="canary title", parent="canary-parent-lane"),),
        requests=(request,),
        events=(Event(kind="compaction", time=1, lane="canary-lane", before="canary-request", detail="canary"),),
        files=("/home/canary/log.jsonl",),
        harness="canary harness",
        title="canary title",
        accounting=Accounting(rows=2, used=1, skipped=(("canary reason", 1),)),
        problems=(Problem(file="/home/canary/x", line=1, reason="canary", remedy="canary"),),
    )


def test_the_canary_is_in_the_trace_and_not_in_the_fingerprint():
    session = canary_session()
    assert written(session).count(b"canary") > 30
    data = written(fingerprint(session))
    assert b"canary" not in data
    assert b'"digests":"keyed"' in data


def test_digests_of_content_do_not_survive_either():
    """A digest without a key lets anybody test a guess at the content."""
    session = canary_session()
    data = written(fingerprint(session))
    for block in session.requests[0].prompt or ():
        assert block.digest.hex().encode() not in data


def test_the_key_is_drawn_anew_and_is_not_written():
    session = canary_session()
    assert written(fingerprint(session)) != written(fingerprint(session))
    data = written(fingerprint(session, KEY))
    assert data == written(fingerprint(session, KEY))
    assert data != written(fingerprint(session, OTHER_KEY))
    assert KEY.hex().encode() not in data
    assert KEY not in data


def test_a_short_key_is_refused():
    with pytest.raises(ValueError, match="32 bytes, not 3"):
        fingerprint(canary_session(), b"abc")


def test_what_a_diagnosis_needs_stays():
    request = fingerprint(canary_session()).requests[0]
    assert (request.model, request.start, request.usage) == ("claude-sonnet-4", 5, Usage(fresh=1, read=2))
    assert request.prompt is not None
    assert request.prompt.breakpoints == (Breakpoint(1, 300),)
    shown = dict(request.settings)
    assert msgspec.json.decode(shown["thinking"])["budget_tokens"] == 1024
    assert msgspec.json.decode(shown["tool_choice"])["type"] == "tool"


def test_an_account_number_in_a_model_is_blanked():
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/claude"
    session = canary_session()
    session = msgspec.structs.replace(session, requests=(msgspec.structs.replace(session.requests[0], model=arn),))
    assert fingerprint(session).requests[0].model == "arn:aws:bedrock:us-east-1:000000000000:inference-profile/claude"


def test_an_id_that_looks_like_a_fingerprint_is_no_way_around():
    session = msgspec.structs.replace(canary_session(), id="~canary")
    assert is_keyed(session)
    assert b"canary" not in written(fingerprint(session))


@settings(max_examples=60, deadline=None)
@given(session=sessions())
def test_equal_stays_equal_and_different_stays_different(session):
    keyed = fingerprint(session, KEY)
    pairs = list(zip(session.requests, keyed.requests, strict=True))
    for one, one_keyed in pairs:
        assert (one.prompt is None) == (one_keyed.prompt is None)
        for other, other_keyed in pairs:
            assert (one.lane == other.lane) == (one_keyed.lane == other_keyed.lane)
            assert (one.parent == other.id) == (one_keyed.parent == other_keyed.id)
            if one.prompt is not None and other.prompt is not None:
                assert one_keyed.prompt is not None and other_keyed.prompt is not None  # noqa: PT018
                assert one.prompt.common_length(other.prompt) == one_keyed.prompt.common_length(other_keyed.prompt)
                assert one.prompt.tokens == one_keyed.prompt.tokens


def test_sessions_of_one_file_share_a_key():
    session = canary_session()
    one, other = fingerprints([session, session])
    assert one == other
    assert one != fingerprint(session)


def test_a_long_session_stays_linear_in_memory():
    """1,000 requests that append one block each share their blocks: 1,000 new objects and not 500,500."""
    prompt, requests = Prompt.of([]), []
    for number in range(1000):
        prompt = prompt.extend([text_block(f"{number:04}")])
        requests.append(Request(id=str(number), lane="main", model="m", start=number, prompt=prompt))
    lanes = (Lane(id="main", title="main"),)
    session = Session(id="s", format="x", completeness="full", lanes=lanes, requests=tuple(requests))
    keyed = fingerprint(session, KEY)
    assert len({id(block) for request in keyed.requests for block in request.prompt or ()}) == 1000


PROVIDERS = (
    "anthropic",
    "bedrock",
    "deepseek",
    "gemini",
    "google",
    "minimax",
    "moonshotai",
    "openrouter",
    "xai",
    "zai",
)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_public_names_of_providers_stay(provider: str) -> None:
    (request,) = canary_session().requests
    session = msgspec.structs.replace(
        canary_session(), requests=(msgspec.structs.replace(request, provider=provider, region="us-east-1"),)
    )
    (kept,) = fingerprint(session).requests
    assert (kept.provider, kept.region) == (provider, "us-east-1")


@pytest.mark.parametrize(
    ("model", "stays"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-6", "us.anthropic.claude-sonnet-4-6"),
        ("moonshotai/kimi-k3", "moonshotai/kimi-k3"),
        ("ft:gpt-4.1-mini:canary-corp:canary:id", "ft:gpt-4.1-mini:~"),
        (
            "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/canary",
            "arn:aws:bedrock:us-east-1:000000000000:application-inference-profile/~",
        ),
        (
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4",
            "arn:aws:bedrock:us-east-1:000000000000:inference-profile/us.anthropic.claude-sonnet-4",
        ),
        ("/home/canary/models/canary.gguf", "~"),
        ("C:\\models\\canary.gguf", "~"),
        ("projects/canary/locations/us/endpoints/1", "~"),
    ],
)
def test_models_keep_what_prices_need_and_no_name_of_an_owner(model: str, stays: str) -> None:
    (request,) = canary_session().requests
    session = msgspec.structs.replace(canary_session(), requests=(msgspec.structs.replace(request, model=model),))
    (kept,) = fingerprint(session).requests
    assert "canary" not in kept.model
    assert "123456789012" not in kept.model
    shown, mark, _ = kept.model.partition("~")
    assert shown + mark == stays


@pytest.mark.parametrize(("tokens", "kept"), [(1, 64), (31, 64), (95, 64), (96, 128), (6_400, 6_400)])
def test_sizes_of_blocks_are_rounded_and_counters_are_not(tokens: int, kept: int) -> None:
    session = canary_session()
    (request,) = session.requests
    block = Block(section="messages", kind="text", digest=b"d" * 16, tokens=tokens, text="canary")
    asked = msgspec.structs.replace(request, prompt=Prompt.of([block]))
    found = fingerprint(msgspec.structs.replace(session, requests=(asked,)), round_sizes=64).requests[0]
    assert found.prompt is not None
    assert (found.prompt[0].tokens, found.usage) == (kept, request.usage)
