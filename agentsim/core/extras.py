"""Parts that are installed only when they are asked for: what each is for, and the one way to say how to get it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import NamedTuple

DISTRIBUTION = "agentsim-cache"


class Extra(NamedTuple):
    """An optional part: the modules that it needs, and what it is for."""

    modules: tuple[str, ...]
    purpose: str


EXTRAS: Mapping[str, Extra] = MappingProxyType(
    {
        "engine": Extra(("torch", "gguf", "safetensors", "tokenizers", "jinja2", "numpy"), "a real model and its K/V"),
        "sweep": Extra(("dask", "distributed", "fsspec", "pyarrow", "pandas"), "fleets of logs; tables for pandas"),
        "vcr": Extra(("yaml", "brotli"), "VCR cassettes"),
        "web": Extra(("textual_serve",), "agentsim tui --web"),
        "serve": Extra(("starlette", "uvicorn", "httptools", "httpx2", "brotli"), "serve, exec and record"),
        "mcp": Extra(("mcp",), "agentsim mcp"),
        "probe": Extra(("anthropic", "openai"), "rules probe and rules live, with the official clients"),
    }
)
"""Those that people install; the others of pyproject.toml are for those who build agentsim."""


def missing_modules(extra: str) -> tuple[str, ...]:
    """The modules of an extra that are not installed."""
    return tuple(name for name in EXTRAS[extra].modules if find_spec(name) is None)


def how_to_install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def not_installed(name: str | None) -> str:
    """What is said of a module that is not there."""
    return f"this needs {name or 'a package'}, which is not installed"
