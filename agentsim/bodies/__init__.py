"""Request bodies become prompts.

:class:`MessagesReader` turns the body of an Anthropic Messages request into a :class:`agentsim.core.prompt.Prompt`: one
block per tool definition, per system block and per content block of a message, in the order in which the provider
renders them. Reading the next body of a conversation costs what is new in it.
"""

from agentsim.bodies.body_error import BodyError
from agentsim.bodies.messages_body import MessagesReader, ReadBody, model_of
from agentsim.bodies.provider_quirks import ignored_by_provider

__all__ = ["BodyError", "MessagesReader", "ReadBody", "ignored_by_provider", "model_of"]
