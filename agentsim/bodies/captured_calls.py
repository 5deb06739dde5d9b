"""Calls as they were captured, whatever API they are of: the body to read, and what the answer says."""

from __future__ import annotations

import msgspec

from agentsim.bodies import bedrock_converse, gemini_content, openai_replies
from agentsim.bodies.api_shapes import OPENAI_APIS, Api
from agentsim.bodies.aws_event_stream import inner_events, is_event_stream
from agentsim.bodies.messages_replies import read_message
from agentsim.bodies.openai_replies import OpenAIReply
from agentsim.bodies.sse import is_stream, read_events, read_stream
from agentsim.core.strict_decoding import decode

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def body_to_read(data: bytes, api: Api, model: str | None) -> bytes:
    """A body in the shape that its API is read in: as it is, or that of the Messages API. ``model`` is what the address
    named, for bodies that do not. Raises BadRow when it is none of that API."""
    if api == "converse":
        return bedrock_converse.messages_body(data, model)
    if api == "generate":
        return gemini_content.messages_body(data, model)
    if model is None or api in OPENAI_APIS:
        return data
    fields = decode(_fields, data)
    return data if "model" in fields else msgspec.json.encode({"model": model, **fields})


def read_answered(data: bytes, api: Api) -> OpenAIReply:
    """The reply that a recorded body holds, whole or as a stream. Raises BadRow when it holds none."""
    if api in OPENAI_APIS:
        return openai_replies.read(data)
    if api == "converse":
        return OpenAIReply(bedrock_converse.read_answer(data))
    if api == "generate":
        return OpenAIReply(gemini_content.read_answer(data))
    if is_event_stream(data):
        return OpenAIReply(read_events(inner_events(data)))
    return OpenAIReply(read_stream(data) if is_stream(data) else read_message(data))
