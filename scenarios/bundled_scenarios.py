"""The scenarios that come with the program."""

from __future__ import annotations

import tomllib
from importlib.resources import files


def names() -> list[str]:
    """Their names, in order."""
    return sorted(
        item.name.removesuffix(".toml") for item in files("agentsim.scenarios").iterdir() if item.name.endswith(".toml")
    )


def text(name: str) -> str:
    """The file of one of them. Raises FileNotFoundError."""
    return files("agentsim.scenarios").joinpath(f"{name}.toml").read_text("utf-8")


def story(name: str) -> str:
    """What one of them shows, in two lines."""
    return str(tomllib.loads(text(name))["story"]).strip()
