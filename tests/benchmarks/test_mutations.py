"""Mutants are what they say, and loaded functions run them."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from benchmarks.code_exchange import exchange
from benchmarks.mutations import mutations_of

SOURCE = '''"""Text."""

from __future__ import annotations

LIMIT: int = 3


class Some(Base, frozen=True):
    """A class."""

    size: int = 5

    def fits(self, number: int | None) -> Literal[1]:
        """Whether it fits."""
        if number is None or not number:
            return None
        return min(number, 2) <= self.size
'''


def test_every_kind_once_and_what_no_test_could_tell_not_at_all() -> None:
    found = [plan.make() for plan in mutations_of(SOURCE, "some.py")]
    assert [(one.line, one.before, one.after) for one in found] == [
        (5, "3", "4"),
        (5, "3", "2"),
        (11, "5", "6"),
        (11, "5", "4"),
        (15, "number is None or not number", "number is None and (not number)"),
        (15, "number is None", "number is not None"),
        (15, "not number", "number"),
        (17, "return min(number, 2) <= self.size", "return None"),
        (17, "min(number, 2) <= self.size", "min(number, 2) < self.size"),
        (17, "min(number, 2)", "max(number, 2)"),
        (17, "2", "3"),
        (17, "2", "1"),
    ]
    assert len({one.source for one in found}) == len(found)
    assert {one.lines for one in found} == {(5, 5), (11, 11), (15, 15), (17, 17)}


def test_loaded_functions_get_the_code_of_a_mutant(tmp_path: Path) -> None:
    path = tmp_path / "loaded_for_exchange.py"
    source = "LIMIT = 3\n\n\ndef below(number, most=LIMIT):\n    return number < most\n"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("loaded_for_exchange", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    below = module.below
    before = compile(source, "x", "exec")
    made = {one.after: one for one in (plan.make() for plan in mutations_of(source, "x"))}
    assert not exchange(os.path.realpath(path), before, made["4"].code), "a constant of the module is no function"
    assert not below(3)
    assert exchange(os.path.realpath(path), before, made["number <= most"].code)
    assert below(3)
