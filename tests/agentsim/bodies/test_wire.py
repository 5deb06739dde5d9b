"""The names of request parameters, against the provider's own types."""

from __future__ import annotations

import pytest

from agentsim.bodies.messages_wire import KEY_SETTINGS, MARKED, NOT_IN_KEY, MessagesBody

DECODED = {*MessagesBody.__struct_fields__, "model"}
CONTENT = {"model", "messages", "system", "tools", "cache_control"}


def test_every_setting_is_decoded_and_none_is_in_both_lists():
    assert set(KEY_SETTINGS) <= DECODED
    assert CONTENT | set(KEY_SETTINGS) | set(MARKED) | {"anthropic_beta"} == DECODED
    assert not (set(KEY_SETTINGS) | set(MARKED)) & set(NOT_IN_KEY)


def test_every_parameter_of_the_sdk_has_been_thought_about():
    """A parameter added to the API belongs into one of the lists: can it be in the cache key or not?"""
    params = pytest.importorskip("anthropic.types.beta.message_create_params")
    known = CONTENT | set(KEY_SETTINGS) | set(MARKED) | set(NOT_IN_KEY)
    assert set(params.MessageCreateParamsNonStreaming.__annotations__) - known == set()
