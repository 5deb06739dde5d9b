"""The example notebook runs, on the results of a sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agentsim.fleet.logs import fleet

pytest.importorskip("pandas", reason="the extra 'sweep' is not installed")
pytest.importorskip("pyarrow", reason="the extra 'sweep' is not installed")

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "examples" / "fleet.ipynb"


def test_every_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentsim.fleet.fleet_figures import figures
    from agentsim.fleet.sweep import sweep
    from agentsim.fleet.sweep_folder import SweepSettings

    out = str(tmp_path / "fleet")
    sweep([str(fleet(tmp_path / "logs"))], SweepSettings(policies=("ttl-5m", "keep-alive")), out, workers=0)
    monkeypatch.setenv("FLEET", out)
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)
    found = figures(out)
    assert names["by_project"]["lost_cost"].sum() == (found.total.lost_cost or 0) > 0
    assert list(names["by_cause"]["misses"]) == [18]
    assert names["savings"].to_dict() == {line.policy: line.saving for line in found.policies}


def test_it_is_kept_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert all(cell.get("outputs", []) == [] for cell in cells)
