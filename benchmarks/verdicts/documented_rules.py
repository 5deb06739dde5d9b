"""The rules by which the world answers, as the providers publish them: one record a model.

Figures are written here anew and not read from the product's rule files, so that a wrong figure there shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.verdicts.wire_positions import Api, Json, Position, Section, compact

ORDER: tuple[Section, ...] = ("tools", "system", "messages")
MESSAGES = ("messages",)
UPPER = ("system", "messages")
ALL = ("tools", "system", "messages")


@dataclass(frozen=True)
class ModelRules:
    """What is published of one model. ``keyed`` names the sections that a setting re-keys; ``same_as_absent`` the value
    that equals leaving it out."""

    model: str
    provider: str
    api: Api
    matching: Literal["breakpoint", "implicit", "longest", "unit"]
    minimum: int
    keyed: dict[str, tuple[str, ...]]
    same_as_absent: dict[str, Any] = field(default_factory=dict)
    lookback: int = 20
    step: int = 1
    offset: int = 0
    writes_reported: bool = True


_CLAUDE = {
    "tool_choice": MESSAGES,
    "images": MESSAGES,
    "thinking": MESSAGES,
    "effort": MESSAGES,
    "betas": MESSAGES,
    "speed": UPPER,
    "citations": UPPER,
}
_CLAUDE_ABSENT = {
    "tool_choice": {"type": "auto"},
    "images": False,
    "thinking": {"type": "disabled"},
    "effort": "high",
    "betas": [],
    "speed": "standard",
    "citations": False,
}
_OPENAI: dict[str, tuple[str, ...]] = {"effort": ALL, "verbosity": ALL, "text_format": ALL}


def _claude(model: str, minimum: int, **keyed: tuple[str, ...]) -> ModelRules:
    return ModelRules(model, "anthropic", "messages", "breakpoint", minimum, {**_CLAUDE, **keyed}, _CLAUDE_ABSENT)


OPUS_48 = _claude("claude-opus-4-8", 1024)
SONNET_46 = _claude("claude-sonnet-4-6", 1024)
OPUS_47 = _claude("claude-opus-4-7", 2048)
OPUS_45 = _claude("claude-opus-4-5", 4096)
HAIKU_45 = _claude("claude-haiku-4-5", 4096)
OPUS_5 = _claude("claude-opus-5", 512, effort=ALL, thinking=ALL)
SONNET_5 = _claude("claude-sonnet-5", 1024, effort=ALL, thinking=ALL)
GPT_54 = ModelRules("gpt-5.4", "openai", "chat", "longest", 1024, _OPENAI, step=128, writes_reported=False)
GPT_52 = ModelRules("gpt-5.2", "openai", "responses", "longest", 1024, _OPENAI, step=128, writes_reported=False)
GPT_56 = ModelRules("gpt-5.6", "openai", "responses", "implicit", 1024, _OPENAI, lookback=80)
DEEPSEEK = ModelRules("deepseek-v4-pro", "deepseek", "chat", "unit", 128, {}, step=128, writes_reported=False)
CODEX = ModelRules(
    "gpt-5.4", "openai", "responses", "longest", 1024, _OPENAI, step=512, offset=384, writes_reported=False
)
CLAUDES = (OPUS_48, SONNET_46, SONNET_5, OPUS_5, OPUS_47)


def effort_in(body: Json) -> str | None:
    """The effort that a body states, whatever its API calls it."""
    found: str | None = body.get("output_config", {}).get("effort") or body.get("reasoning_effort")
    return found or body.get("reasoning", {}).get("effort")


def settings_of(body: Json, positions: list[Position], rules: ModelRules) -> dict[str, Any]:
    """The settings of a body that may take part in a key, those left out at their documented default."""
    found = {
        "tool_choice": body.get("tool_choice"),
        "images": any(position.image for position in positions) or None,
        "thinking": body.get("thinking"),
        "effort": effort_in(body),
        "betas": sorted(body.get("betas", ())) or None,
        "speed": body.get("speed"),
        "citations": any(p.kind == "document" and '"enabled":true' in p.rest for p in positions) or None,
        "verbosity": body.get("verbosity") or body.get("text", {}).get("verbosity"),
        "text_format": body.get("response_format") or body.get("text", {}).get("format"),
    }
    return {name: rules.same_as_absent.get(name) if value is None else value for name, value in found.items()}


def key_of_section(settings: dict[str, Any], rules: ModelRules, section: Section) -> str:
    """What of the settings takes part in the key of a section's entries."""
    wanted = ORDER[: ORDER.index(section) + 1]
    names = sorted(name for name, sections in rules.keyed.items() if section in sections)
    return compact([wanted, [(name, settings[name]) for name in names]])
