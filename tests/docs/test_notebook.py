"""The example notebook runs, on the results of a sweep."""

from __future__ import annotations

import ast
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


SESSIONS = NOTEBOOK.with_name("sessions.ipynb")


@pytest.mark.slow
def test_the_notebook_of_a_session_gives_what_it_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SESSIONS.parent)
    names: dict[str, Any] = {}
    charts = 0
    for cell in json.loads(SESSIONS.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop()
        assert isinstance(last, ast.Expr)
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        (output,) = cell["outputs"]
        for kind, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
            assert (kind in output["data"]) == hasattr(value, method)
            if kind in output["data"]:
                assert "".join(output["data"][kind]) == getattr(value, method)()
        charts += "image/svg+xml" in output["data"]
    assert charts == 3
