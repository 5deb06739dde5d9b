"""A cause stands in one place: its facts in causes.toml, its code where a judge names it, and nowhere else."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentsim
from agentsim.diagnose.cause_registry import CAUSES, finer_than, lies_within
from agentsim.whatif.cache_bounds import CONDITIONS, FAMILIES
from agentsim.whatif.policies import NAMES

PACKAGE = Path(agentsim.__file__).parent

JUDGES = {
    "core/verdict.py",
    "diagnose/automatic_bodies.py",
    "diagnose/automatic_rows.py",
    "diagnose/body_case.py",
    "diagnose/elimination.py",
    "diagnose/hypotheses/breakpoint_hypotheses.py",
    "diagnose/hypotheses/lifetime_hypotheses.py",
    "diagnose/hypotheses/prefix_hypotheses.py",
    "diagnose/hypotheses/routing_hypotheses.py",
    "diagnose/hypotheses/setting_hypotheses.py",
    "diagnose/lost_reads.py",
    "diagnose/never_read.py",
    "diagnose/place_cause.py",
    "diagnose/relax.py",
    "diagnose/relax_causes.py",
    "diagnose/relax_words.py",
    "diagnose/row_judge.py",
    "diagnose/second_change.py",
    "diagnose/summary_rows.py",
    "diagnose/uncached_rows.py",
}
"""What finds a cause has to name it. Everything else asks the registry."""

_CODE = re.compile(r"AS\d{3}")


def named_codes(text: str) -> Iterator[str]:
    """Strings of a module that are a code and nothing else, and what looks like numbers put behind ``AS``."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _CODE.fullmatch(node.value):
            yield node.value
        if (
            isinstance(node, ast.JoinedStr)
            and isinstance(node.values[0], ast.Constant)
            and node.values[0].value == "AS"
        ):
            yield "AS…"


def test_only_judges_name_codes() -> None:
    files = [Path(top, name) for top, _, names in os.walk(PACKAGE, followlinks=True) for name in names]
    named = {
        path.relative_to(PACKAGE).as_posix()
        for path in files
        if path.suffix == ".py" and "AS" in (text := path.read_text(encoding="utf-8")) and any(named_codes(text))
    }
    assert named <= JUDGES, "ask agentsim.diagnose.cause_registry instead"
    assert named >= JUDGES, "no longer needed in the list"


def test_the_search_finds_codes() -> None:
    assert list(named_codes('a = {"AS101": 1}\nb = f"AS{a}"\nc = "such as AS101"')) == ["AS…", "AS101"]


def test_causes_lie_within_coarser_ones_of_the_same_kind() -> None:
    for one in CAUSES.values():
        if one.within is not None:
            coarser = CAUSES[one.within]
            assert coarser.group == one.group
            assert coarser.placeless, "what is coarser names no place"
            assert not lies_within(coarser.code, one.code)
            assert coarser.undone_by == one.undone_by, "what undoes the coarser undoes the finer"
    assert not any(lies_within(code, code) for code in CAUSES)


@pytest.mark.parametrize("code", [one.code for one in CAUSES.values() if one.placeless])
def test_whatever_answers_a_coarser_cause_fits_the_finer_one(code: str) -> None:
    """A provider's word for a section is also right of each change in that section."""
    for finer in finer_than(code):
        told = {*CAUSES[finer].answers, *CAUSES[finer].fits}
        assert {*CAUSES[code].answers} <= told | {"input_changed"}, finer


def test_policies_and_bounds_are_those_that_there_are() -> None:
    assert {one.policy for one in CAUSES.values()} - {None} <= set(NAMES)
    assert {one.undone_by for one in CAUSES.values()} - {None} == set(FAMILIES) == {"retention", *CONDITIONS}
    assert all(causes for _, causes in FAMILIES.values())


def test_a_setting_belongs_to_one_cause() -> None:
    named = [name for one in CAUSES.values() for name in one.settings]
    assert len(named) == len(set(named)) > 0
