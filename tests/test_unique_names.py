"""A name of a file or of a public class says one thing: a search for it ends in one place."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("agentsim", "engine", "kernels", "scenarios", "traces", "tui")


def modules() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return sorted({path.resolve() for path in found})


def test_no_two_modules_share_a_name() -> None:
    places = defaultdict(list)
    for path in modules():
        if path.name not in ("__init__.py", "__main__.py"):
            places[path.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_no_two_modules_define_the_same_public_class() -> None:
    places = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_a_second_and_the_collector_have_one_home() -> None:
    """How many nanoseconds a second has is written once; and one module switches the search for garbage."""
    seconds, collectors = [], []
    for path in modules():
        for node in ast.parse(path.read_text("utf-8")).body:
            names = [target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
            if any(name.strip("_") == "SECOND" for name in names):
                seconds.append(path.name)
        if any(
            isinstance(node, ast.Import) and any(name.name == "gc" for name in node.names)
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
        ):
            collectors.append(path.name)
    assert (seconds, collectors) == (["dates.py"], ["garbage_collection.py"])


IRREGULAR = frozenset(
    """
    Begun Bound Broken Brought Built Chosen Come Cut Done Drawn Felt Found Given Gone Grown Heard Held Hidden Kept Known
    Left Lost Made Meant Met Paid Put Read Run Said Seen Sent Set Shown Sold Spent Stolen Taken Thought Told Understood
    Worn Written
    """.split()
)

MESSAGES = ("Message", "Moved", "Typed")
"""What messages of the app are made from. They say what happened, as Textual's own do."""

BARE_PARTICIPLES = {
    "Served": "what became of a request, beside CacheLookup: the interface of backends calls it so",
    "Dated": "a base class: DatedFigure and others say what is dated",
    "_Run": "the noun: consecutive prefixes, or readings of a window",
}


def test_no_class_is_a_bare_participle() -> None:
    """A class says what it is, not what happened to it."""
    found = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not any(ast.unparse(base) in MESSAGES for base in node.bases):
                words = re.findall("[A-Z][a-z0-9]*", node.name)
                if len(words) == 1 and (words[0] in IRREGULAR or words[0].endswith("ed")):
                    found.add(node.name)
    assert found == set(BARE_PARTICIPLES)
