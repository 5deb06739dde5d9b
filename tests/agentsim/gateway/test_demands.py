"""What a request demands of its reply, and threads: with the official clients."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.diagnose import diagnose
from agentsim.gateway.answer_script import DEFAULT, parse_script
from agentsim.gateway.injected_faults import Faults, parse_faults
from agentsim.gateway.schema_example import example_of
from tests.agentsim.gateway.serving import MODEL, WORDS, serving, status_of

pytestmark = pytest.mark.loopback
anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
jsonschema = pytest.importorskip("jsonschema")

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 3}, "kind": {"enum": ["a", "b"]}},
    "required": ["city", "days", "kind"],
    "additionalProperties": False,
}
LOOK = {"name": "look", "description": "Looks.", "input_schema": SCHEMA}
GO: Any = {"model": MODEL, "max_tokens": 500, "messages": [{"role": "user", "content": "go"}]}


def test_the_messages_api_gets_what_it_demands(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.anthropic() as client:
        for choice in ({"type": "any"}, {"type": "tool", "name": "look"}):
            answer = client.messages.create(**GO, tools=[LOOK], tool_choice=choice)
            assert answer.stop_reason == "tool_use"
            jsonschema.validate(answer.content[-1].input, SCHEMA)
        answer = client.messages.create(**GO, output_config={"format": {"type": "json_schema", "schema": SCHEMA}})
        jsonschema.validate(json.loads(answer.content[0].text), SCHEMA)
        answer = client.messages.create(**GO, stop_sequences=["x", "k"])
        assert (answer.stop_reason, answer.stop_sequence, answer.content[0].text) == ("stop_sequence", "k", "o")
        with client.messages.stream(**GO, stop_sequences=["k"]) as stream:
            assert stream.get_final_message().stop_sequence == "k"


def test_the_openai_apis_get_what_they_demand(tmp_path: Path) -> None:
    function = {"name": "look", "parameters": SCHEMA}
    talk: Any = {"model": "gpt-5.1", "messages": GO["messages"]}
    with serving(tmp_path) as served, served.openai() as client:
        for choice in ("required", {"type": "function", "function": {"name": "look"}}):
            tools = [{"type": "function", "function": function}]
            said = client.chat.completions.create(**talk, tools=tools, tool_choice=choice)
            assert said.id.startswith("chatcmpl-")
            assert said.choices[0].finish_reason == "tool_calls"
            jsonschema.validate(json.loads(said.choices[0].message.tool_calls[0].function.arguments), SCHEMA)
        format = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
        said = client.chat.completions.create(**talk, response_format=format)
        jsonschema.validate(json.loads(said.choices[0].message.content), SCHEMA)
        said = client.chat.completions.create(**talk, stop=["k"])
        assert said.choices[0].message.content == "o"
        told = client.responses.create(
            model="gpt-5.1", input="go", tools=[{"type": "function", **function}], tool_choice="required"
        )
        jsonschema.validate(json.loads(told.output[-1].arguments), SCHEMA)
        text = {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}}
        jsonschema.validate(
            json.loads(client.responses.create(model="gpt-5.1", input="go", text=text).output_text), SCHEMA
        )


simple = st.one_of(
    st.fixed_dictionaries({"type": st.just("string"), "minLength": st.integers(0, 9)}),
    st.fixed_dictionaries({"type": st.just("integer"), "minimum": st.integers(-5, 50)}),
    st.fixed_dictionaries({"type": st.just("number"), "exclusiveMaximum": st.integers(-5, 50)}),
    st.fixed_dictionaries({"enum": st.lists(st.integers(), min_size=1)}),
    st.just({"type": ["null", "boolean"]}),
    st.just({"$ref": "#/$defs/node"}),
)
schemas = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner, "minItems": st.integers(0, 3)}),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(
            lambda found: {"type": "object", "properties": found, "required": sorted(found)}
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda found: {"anyOf": found}),
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(schemas)
def test_an_example_satisfies_its_schema(schema: dict[str, Any]) -> None:
    node = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}
    whole = {**schema, "$defs": {"node": node}}
    jsonschema.validate(example_of(whole), whole)


def beta_tool() -> Any:
    from anthropic import beta_tool

    @beta_tool
    def look(place: str = "here") -> str:
        """Looks.

        Args:
            place: where
        """
        return f"nothing at {place}"

    return look


LOOP = parse_script('after = "Over."\n[[turn]]\nrepeat = 3\ncall = [{tool = "look", input = {place = "x"}}]', "s.toml")


def test_the_tool_runner_goes_on_in_a_thread(tmp_path: Path) -> None:
    """As it comes: the client holds its conversation on the server, and sends only what is new."""
    with serving(tmp_path, replier=LOOP) as served, served.anthropic() as client:
        system: Any = [{"type": "text", "text": WORDS, "cache_control": {"type": "ephemeral"}}]
        runner = client.beta.messages.tool_runner(**GO, system=system, tools=[beta_tool()])
        last = runner.until_done()
    assert last.content[0].text == "Over."
    (session,) = served.sessions()
    sizes = [len(request.prompt) for request in session.requests if request.prompt is not None]
    assert sizes == [sizes[0] + 2 * turn for turn in range(4)], "each grows by a call and its result"
    assert [verdict.kind for verdict in diagnose(session).verdicts] == ["first", "hit", "hit", "hit"]
    assert not session.events


def test_threads_refuse_what_they_do_not_take(tmp_path: Path) -> None:
    def sent(**thread: Any) -> bytes:
        return served.post(json.dumps({**GO, **thread}).encode())

    with serving(tmp_path, replier=LOOP) as served:
        unsupported = sent(thread={"type": "create"}, cache_control={"type": "ephemeral"})
        assert status_of(unsupported) == 400
        assert b'"error_code":"thread_unsupported_request"' in unsupported
        lost = sent(thread={"type": "continue", "previous_message_id": "msg_nobody"})
        assert (status_of(lost), b'"thread_not_found"' in lost) == (404, True)
        begun = sent(thread={"type": "create"})
        id = json.loads(begun.partition(b"\r\n\r\n")[2])["id"]
        assert status_of(sent(thread={"type": "continue", "previous_message_id": id})) == 200
        again = sent(thread={"type": "continue", "previous_message_id": id})
        assert b'"thread_already_continued"' in again


def test_a_prompt_longer_than_the_window_is_refused(tmp_path: Path) -> None:
    long: Any = {**GO, "messages": [{"role": "user", "content": WORDS * 3}]}
    with serving(tmp_path) as served, served.anthropic() as client:
        tokens = client.messages.count_tokens(model=MODEL, messages=long["messages"]).input_tokens
    for window, fits in ((tokens, True), (tokens - 1, False)):
        folder = tmp_path / str(window)
        folder.mkdir()
        with serving(folder, window=window) as served, served.anthropic() as client, served.openai() as other:
            if fits:
                client.messages.create(**long)
                continue
            with pytest.raises(
                anthropic.BadRequestError, match=f"prompt is too long: {tokens} tokens > {window} maximum"
            ):
                client.messages.create(**long)
            with pytest.raises(openai.BadRequestError) as caught:
                other.responses.create(model="gpt-5.1", input=WORDS * 4)
            assert caught.value.code == "context_length_exceeded"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd", "br"])
def test_compressed_bodies_are_read(tmp_path: Path, encoding: str) -> None:
    import zlib

    import brotli
    import zstandard

    plain = json.dumps(GO).encode()
    packed = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "zstd": zstandard.ZstdCompressor().compress,
        "br": brotli.compress,
    }[encoding]
    with serving(tmp_path) as served:
        head = f"Content-Encoding: {encoding}"
        assert status_of(served.post(packed(plain), "/v1/messages", head)) == 200
        assert status_of(served.post(plain, "/v1/messages", head)) == 400
        assert status_of(served.post(packed(b" " * (33 * 2**20)), "/v1/messages", head)) == 413


def test_answers_that_break_off(tmp_path: Path) -> None:
    faults = Faults(parse_faults(["cut@1", "error@2", "401@3"]))
    with serving(tmp_path, faults=faults, replier=DEFAULT) as served:
        streamed = json.dumps({**GO, "stream": True}).encode()
        cut = served.post(streamed)
        assert b"message_start" in cut
        assert b"message_stop" not in cut
        broken = served.post(streamed)
        assert re.search(rb"event: error\ndata: .*overloaded_error", broken)
        assert status_of(served.post(streamed)) == 401
        assert status_of(served.post(streamed)) == 200
    (session,) = served.sessions()
    assert [event.kind for event in session.events] == ["interrupted", "interrupted", "api_error"]


def test_paths_without_a_version_and_models_by_name(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.anthropic() as client:
        assert status_of(served.post(json.dumps(GO).encode(), "/messages")) == 200
        assert client.models.retrieve("claude-haiku-4-5").max_input_tokens == 200_000
        assert len(client.models.list().data) > 5
