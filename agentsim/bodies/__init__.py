"""Request bodies become prompts.

:class:`MessagesReader` turns the body of an Anthropic Messages request into a :class:`agentsim.prompt.Prompt`: one
block per tool definition, per system block and per content block of a message, in the order in which the provider
renders them. Reading the next body of a conversation costs what is new in it.
"""

from agentsim.bodies.errors import BodyError
from agentsim.bodies.quirks import ignored_by_provider
from agentsim.bodies.reader import MessagesReader, ReadBody, model_of

__all__ = ["BodyError", "MessagesReader", "ReadBody", "ignored_by_provider", "model_of"]
