"""The short way of common blocks comes to what the long way does."""

from __future__ import annotations

import pytest

from agentsim.bodies.canonical_block import _canonical, _plain, canonical_block

TEXT = {"type": "text", "text": "a\x1e b \u2028"}
CALL = {"type": "tool_use", "id": "toolu_\x1e", "name": "read", "input": {"b": 1, "a": [None, {"cache_control": {}}]}}
RESULT = {"type": "tool_result", "tool_use_id": 'toolu_"1"', "content": [TEXT]}


@pytest.mark.parametrize("block", [TEXT, {"text": "", "type": "text"}, CALL, {**CALL, "input": {}}, RESULT])
def test_the_same_form(block):
    assert _plain(block["type"], block) == _canonical(block["type"], dict(block), "x") == canonical_block(block, "x")


@pytest.mark.parametrize(
    "block",
    [
        {**TEXT, "cache_control": {"type": "ephemeral"}},
        {**CALL, "caller": {"type": "direct"}},
        {**CALL, "cache_control": {"type": "ephemeral"}},
        {**CALL, "input": None},
        {**CALL, "input": "{}"},
        {**CALL, "name": None},
        {"type": "tool_use", "id": "toolu_1", "input": {}, "cache_control": {"type": "ephemeral"}},
        {**RESULT, "is_error": True},
        {**RESULT, "content": [TEXT, TEXT]},
        {**RESULT, "content": "text"},
        {**RESULT, "content": [{**TEXT, "cache_control": {"type": "ephemeral"}}]},
        {**RESULT, "content": [{"type": "text", "citations": []}]},
        {**RESULT, "content": [{"type": "document", "text": "x"}]},
        {**RESULT, "tool_use_id": None},
        {"type": "tool_result", "cache_control": {"type": "ephemeral"}, "content": [TEXT]},
    ],
)
def test_all_others_take_the_long_way(block):
    assert _plain(block["type"], block) is None
