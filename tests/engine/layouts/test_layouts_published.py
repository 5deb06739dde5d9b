"""Layouts of published models by the settings that they come with, against K/V of 32,768 tokens counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentsim.engine.layouts.config_layout import layout_of_settings

MODELS = [json.loads(line) for line in (Path(__file__).parent / "published.jsonl").read_text().splitlines()]
"""Name, bytes, and the settings that matter or could be mistaken for such."""


@pytest.mark.parametrize("model", MODELS, ids=[model["name"] for model in MODELS])
def test_published_models(model: dict[str, Any]) -> None:
    layout = layout_of_settings(Path("config.json"), model["settings"])
    assert layout.kv_bytes(32_768) == model["bytes"]
    assert layout.fixed_bytes() is not None, "the size of its recurrent states is told, too"
