"""How each real harness is run without a person: its program, its files, its command lines. Each is a file."""

from __future__ import annotations

import string
from collections.abc import Mapping
from importlib.resources import files

import msgspec

from agentsim.core.written_files import WrittenFile


class HarnessAdapter(msgspec.Struct, frozen=True):
    """A harness. ``package`` is where its program comes from; ``files`` are written into its home first,
    ``project_files`` into each project, ``mcp_files`` beside both in acts with a server of tools. Words may hold
    ``${url}``, ``${home}``, ``${project}``, ``${prompt}``, ``${model}``, ``${effort}``, ``${mcp_python}`` and
    ``${mcp_server}``. ``finish`` is the command that it wants from the model for an end."""

    title: str
    package: str
    program: str
    version: tuple[str, ...]
    start: tuple[str, ...]
    models: tuple[str, str]
    goes_on: tuple[str, ...] = ()
    fork: tuple[str, ...] = ()
    effort: tuple[str, ...] = ()
    efforts: tuple[str, str] = ("low", "high")
    environment: dict[str, str] = {}
    files: dict[str, str] = {}
    project_files: dict[str, str] = {}
    mcp_files: dict[str, str] = {}
    mcp_words: tuple[str, ...] = ()
    instructions: str = ""
    abilities: tuple[str, ...] = ("shell",)
    finish: str | None = None
    name: str = ""

    def can(self, need: str) -> bool:
        """Whether it has what an act needs."""
        known = {
            "resume": bool(self.goes_on),
            "fork": bool(self.fork),
            "effort": bool(self.effort),
            "model": True,
            "instructions": bool(self.instructions),
            "mcp": bool(self.mcp_files or self.mcp_words),
        }
        return known.get(need, need in self.abilities)


def adapter_names() -> list[str]:
    """The harnesses that are known by name."""
    found = files("agentsim.conform").joinpath("adapters").iterdir()
    return sorted(item.name.removesuffix(".toml") for item in found if item.name.endswith(".toml"))


def adapter(name: str) -> HarnessAdapter:
    """How a known harness is run. Raises FileNotFoundError."""
    text = files("agentsim.conform").joinpath("adapters", f"{name}.toml").read_text("utf-8")
    return msgspec.structs.replace(WrittenFile(text, f"{name}.toml").as_a(HarnessAdapter), name=name)


def adapter_of_command(words: tuple[str, ...]) -> HarnessAdapter:
    """A harness of your own: the command is run once for each step, with the prompt where it says ``{prompt}``, or as
    its last word. Steps that go on are marked by AGENTSIM_STEP in its environment."""
    marked = tuple(word.replace("$", "$$").replace("{prompt}", "${prompt}") for word in words)
    start = marked if marked != words or "${prompt}" in "".join(marked) else (*marked, "${prompt}")
    return HarnessAdapter(
        title=words[0],
        package="",
        program=words[0],
        version=(),
        start=start,
        goes_on=start,
        models=("claude-sonnet-4-6", "claude-opus-4-6"),
        abilities=("shell", "subagents", "window"),
        name="own",
    )


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with its words filled in."""
    return string.Template(text).safe_substitute(words)
