"""Prompts of recorded request bodies, whatever API they are of, each grown from the one before it in its lane.

A body of the Responses API has ``input``; one of the Messages API is told by its provider; any other with ``messages``
is one of Chat Completions. Sizes of blocks add up to what was counted.
"""

from __future__ import annotations

import msgspec

from agentsim.bodies import BodyError, MessagesReader
from agentsim.bodies.openai_reader import Chat, OpenAIReader, Responses
from agentsim.core.prompt import Prompt
from agentsim.core.strict_decoding import BadRow, decode
from agentsim.core.tokens import apportion

Settings = tuple[tuple[str, str], ...]

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_chat = msgspec.json.Decoder(Chat)
_responses = msgspec.json.Decoder(Responses)


class BodyPrompts:
    """Reads bodies. Mutable: it remembers the last prompt of each lane."""

    def __init__(self) -> None:
        self._messages = MessagesReader()
        self._openai = OpenAIReader()
        self._before: dict[str, Prompt] = {}

    def read(self, body: bytes, lane: str, *, messages_api: bool, total: int | None) -> tuple[Prompt | None, Settings]:
        """The prompt and the settings of a body; no prompt for one that continues what the provider holds.

        ``total`` is the input that was counted, in tokens. Raises BadRow for a body that is none.
        """
        before = self._before.get(lane)
        fields = decode(_fields, body)
        try:
            if messages_api:
                read = self._messages.read(body, before)
                prompt, settings = read.prompt, read.settings
            elif "input" in fields and "messages" not in fields:
                asked = decode(_responses, body)
                if asked.previous_response_id is not None:
                    return None, ()
                answer = self._openai.responses(asked, (), before)
                prompt, settings = answer.prompt, answer.settings
            else:
                answer = self._openai.chat(decode(_chat, body), before)
                prompt, settings = answer.prompt, answer.settings
        except BodyError as error:
            raise BadRow("prompt unknown", str(error)) from None
        if total and len(prompt):
            prompt = apportion(prompt, total)
        self._before[lane] = prompt
        return prompt, settings
