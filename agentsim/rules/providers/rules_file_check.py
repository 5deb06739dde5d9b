"""Checks a rules file as a whole: not only what it states, but whether rules come of it."""

from __future__ import annotations

from agentsim.rules.providers.rules_document import RulesFile, RulesFileError, RulesProblem
from agentsim.rules.providers.rules_library import read_rules_file, with_rules


def check_rules(path: str) -> tuple[RulesFile | None, tuple[RulesProblem, ...]]:
    """A user's file and every mistake in it; no file where it cannot be read as one. Raises OSError."""
    try:
        file = read_rules_file(path)
    except RulesFileError as error:
        return None, error.problems or (_problem(path, str(error)),)
    problems: list[RulesProblem] = []
    with with_rules(file):
        for model in _models(file):
            for marked in (False, True):
                try:
                    file.resolve(model, None, None, marked)
                except RulesFileError as error:
                    problems.append(_problem(path, str(error).removeprefix(f"{file.file}: ")))
                    break
    return file, tuple(dict.fromkeys(problems))


def _models(file: RulesFile) -> list[str]:
    """A name that no pattern is about, unless the file speaks of some models only; and one for each pattern."""
    options = [option for found in file.figures.rules.values() for option in found]
    options += file.like
    patterns = dict.fromkeys(pattern for option in options for pattern in option.models or ())
    names = [pattern.replace("*", "").replace("?", "0").split("[")[0] for pattern in patterns]
    speaks_of_all = any(option.models is None for option in (*file.figures.rules.get("matching", ()), *file.like))
    return ["any-model", *names] if speaks_of_all or not names else names


def _problem(path: str, reason: str) -> RulesProblem:
    remedy = "state that rule, or refer to another provider with [[like]]"
    return RulesProblem(file=path, line=None, key="", reason=reason, remedy=remedy)
