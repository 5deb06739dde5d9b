"""Days, weeks and months beside those of ccusage, which sums up the same logs: to the cent, and token for token.

It runs offline, with its own prices. AGENTSIM_CCUSAGE names its ``cli.js`` (npm i ccusage@20); without one this is
skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentsim.fleet.summary.grouped import By, summarise_groups

PROGRAM = os.environ.get("AGENTSIM_CCUSAGE", "/work/harnesses/ccusage/node_modules/ccusage/src/cli.js")
CENT = 10**10
"""Picodollars."""


@pytest.fixture(scope="module")
def root(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not os.path.isfile(PROGRAM) or shutil.which("node") is None:
        pytest.skip("ccusage is not installed")
    root = tmp_path_factory.mktemp("claude")
    (root / "projects" / "p").mkdir(parents=True)
    for path in (shared_data / "claude-code").glob("*.jsonl"):
        shutil.copy(path, root / "projects" / "p")
    return root


def theirs(root: Path, period: str) -> list[dict[str, Any]]:
    words = ["node", PROGRAM, period, "--offline", "--json", "--timezone", "UTC"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(root / "home"), "CLAUDE_CONFIG_DIR": str(root)}
    done = subprocess.run(words, env=environment, capture_output=True, timeout=120, check=True)
    found = json.loads(done.stdout)[period]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(("period", "by"), [("daily", "day"), ("weekly", "week"), ("monthly", "month")])
def test_the_same_to_the_cent(root: Path, period: str, by: By) -> None:
    ours = {group.name: group for group in summarise_groups([str(root)], by=by).groups}
    rows = theirs(root, period)
    assert [row["period"] for row in rows] == sorted(name for name in ours if name is not None)
    for row in rows:
        group = ours[row["period"]]
        assert group.cost is not None
        assert group.input == row["inputTokens"] + row["cacheCreationTokens"] + row["cacheReadTokens"]
        assert abs(group.cost - int(Decimal(str(row["totalCost"])).scaleb(12))) < CENT // 2, row["period"]
