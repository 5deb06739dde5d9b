"""Everything for a terminal goes through one place. Others may not write to a stream by themselves."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MAY_WRITE = {
    "agentsim/report/paper.py": "the sink",
    "agentsim/report/json/canonical_json.py": "JSON, which is ASCII",
    "agentsim/report/progress.py": "the bar, whose label is cleaned",
    "agentsim/report/output.py": "formats that clean what they hold: JUnit, SARIF, annotations, Markdown",
    "agentsim/report/json/perfetto.py": "JSON, which is ASCII",
    "agentsim/cli.py": "the help and a newline",
    "agentsim/commands/completion.py": "a script of click's",
    "agentsim/commands/trace_schema.py": "a schema of our own, in ASCII",
}
SOURCES = [
    path for folder in ("agentsim/report", "agentsim/commands") for path in sorted((ROOT / folder).glob("*.py"))
] + [ROOT / "agentsim" / "cli.py"]


def writes(tree: ast.AST) -> list[int]:
    """The lines that print, or write to something."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        to_stream = name in ("write", "writelines") and not (isinstance(owner, ast.Name) and owner.id == "formatter")
        imported = name == "write" and owner is None  # a function of that name writes a trace
        if name in ("print", "echo", "secho") or (to_stream and not imported):
            found.append(node.lineno)
    return found


def test_nobody_else_writes() -> None:
    for path in SOURCES:
        name = path.relative_to(ROOT).as_posix()
        lines = writes(ast.parse(path.read_text(encoding="utf-8")))
        assert bool(lines) == (name in MAY_WRITE), f"{name}: lines {lines}"


def test_no_markup_is_parsed() -> None:
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert "from_markup" not in text
        assert "import rich" not in text
        assert "from rich" not in text
