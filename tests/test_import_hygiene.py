"""What an import may pull in. A command must start at once; a heavy library is imported by the function that needs it.

Each module is imported in a process of its own: the static import graph cannot tell an import inside a function from
one at the top.
"""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import pytest

import agentsim

HEAVY = {"torch", "triton", "textual", "pandas", "numpy", "anthropic", "openai", "dask", "pyarrow"}
"""Never at the top of any module here: extras, or more than 0.1 s."""

HEAVY_FOLDERS = ("agentsim.engine", "agentsim.kernels", "agentsim.tui")
"""What computes with torch and what draws with textual may import them; nothing else imports these at its top."""

SLOW_START = HEAVY | {
    "rich",
    "pydantic",
    "simpy",
    "tiktoken",
    "bpe_openai",
    "genai_prices",
    "asyncio",
    "httpx2",
    "requests",
}
"""Not needed to print help or to say that a file is missing."""


def imported_by(statement: str) -> set[str]:
    """The modules that are there after a statement, in a fresh interpreter."""
    code = f"{statement}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def modules() -> list[str]:
    found = [
        module.name
        for package in (agentsim,)
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        if not module.name.endswith("__main__") and not module.name.startswith(HEAVY_FOLDERS)
    ]
    return ["agentsim", *found]


def test_the_command_line_starts_without_what_it_does_not_need():
    pytest.importorskip("agentsim.cli")
    assert not imported_by("import agentsim.cli") & SLOW_START


def test_no_module_imports_a_heavy_library():
    everything = "\n".join(f"import {name}" for name in modules())
    assert not imported_by(everything) & HEAVY


def test_prices_are_found_without_importing_their_library():
    first = imported_by("from agentsim.rules.prices import rate_card; rate_card('anthropic', 'claude-opus-5', 0, 1)")
    again = imported_by("from agentsim.rules.prices import rate_card; rate_card('anthropic', 'claude-opus-5', 0, 1)")
    assert "tomllib" in first or "genai_prices" not in first
    assert not again & {"genai_prices", "pydantic", "tomllib"}


def test_this_test_can_fail():
    assert {"decimal", "json"} <= imported_by("import decimal")
    assert "agentsim.rules.prices.price_book" in modules()
