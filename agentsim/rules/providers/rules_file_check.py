"""Checks a rules file as a whole: not only what it states, but whether rules come of it."""

from __future__ import annotations

from agentsim.core.file_problems import FileProblem, WrittenFileError
from agentsim.rules.dated import matches
from agentsim.rules.prices.price_names import model_names
from agentsim.rules.providers.rules_document import RulesFile
from agentsim.rules.providers.rules_library import read_rules_file, with_rules
from agentsim.rules.providers.rules_resolution import resolve


def check_rules(path: str) -> tuple[RulesFile | None, tuple[FileProblem, ...]]:
    """A user's file and every mistake in it; no file where it cannot be read as one."""
    try:
        file = read_rules_file(path)
    except WrittenFileError as error:
        return None, error.problems
    problems: list[FileProblem] = []
    with with_rules(file):
        for model in _models(file):
            for marked in (False, True):
                try:
                    resolve(file, model, None, None, marked)
                except WrittenFileError as error:
                    problems += error.problems
                    break
    return file, tuple(dict.fromkeys(problems))


def idle_patterns(file: RulesFile) -> tuple[FileProblem, ...]:
    """The patterns of a file that name no model known to anybody: a note, since a model may be newer than the lists."""
    known = model_names()
    return tuple(
        FileProblem(
            file=file.file,
            line=line,
            key="models",
            reason=f"{pattern!r} names no model that is known",
            remedy="check the spelling; patterns are compared in whatever case",
        )
        for pattern, line in _patterns(file).items()
        if not any(matches(pattern, name) for name in known)
    )


def _patterns(file: RulesFile) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for table in (file.figures, file.marked, *file.profiles.values()):
        for option in (*(one for options in table.rules.values() for one in options), *table.settings):
            for pattern in option.models or ():
                found.setdefault(pattern, option.line)
    for option in file.like:
        for pattern in option.models or ():
            found.setdefault(pattern, option.line)
    for price in file.prices:
        for pattern in price.models or ():
            found.setdefault(pattern, None)
    return found


def _models(file: RulesFile) -> list[str]:
    """A name that no pattern is about, unless the file speaks of some models only; and one for each pattern."""
    options = [option for found in file.figures.rules.values() for option in found]
    options += file.like
    patterns = dict.fromkeys(pattern for option in options for pattern in option.models or ())
    names = [pattern.replace("*", "").replace("?", "0").split("[")[0] for pattern in patterns]
    speaks_of_all = any(option.models is None for option in (*file.figures.rules.get("matching", ()), *file.like))
    return ["any-model", *names] if speaks_of_all or not names else names
