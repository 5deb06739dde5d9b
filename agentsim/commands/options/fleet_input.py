"""What commands on fleets are given: the folder of a sweep, or logs that are swept now."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

from agentsim.commands.options.policy_choice import chosen_policies
from agentsim.core.extras import how_to_install, not_installed
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.core.session import Problem

T = TypeVar("T")


@contextmanager
def swept(
    paths: tuple[str, ...],
    policies: tuple[str, ...],
    team: str | None,
    problems: list[Problem],
    *,
    asked: bool = False,
) -> Iterator[str]:
    """The folder of a sweep: the one that was named, or one made now from logs, which lasts as long as the context.

    ``asked`` says that the policies were named by the user: a sweep has its own, and its own teams.

    Raises Failure.
    """
    from agentsim.fleet.sweep_folder import NotOurs, SweepSettings, settings_of

    check_team(team)
    check_paths(paths)
    check_packages()
    try:
        known = [settings_of(path) is not None for path in paths]
    except NotOurs as error:
        raise Failure(str(error), file=paths[0], remedy=error.remedy, code=ExitCode.USAGE) from None
    if any(known):
        if len(paths) > 1:
            reason, place = "the folder of a sweep stands alone", paths[known.index(True)]
            raise Failure(reason, file=place, remedy="name it, or logs", code=ExitCode.USAGE)
        if asked or team is not None:
            option = "--policy" if asked else "--team"
            remedy = f"give {option} to 'agentsim fleet sweep'"
            raise Failure(f"{option} is for logs, not for a sweep", file=paths[0], remedy=remedy, code=ExitCode.USAGE)
        yield paths[0]
        return
    from agentsim.fleet.sweep import sweep
    from agentsim.report.notices import tell_problems
    from agentsim.report.progress import ProgressBar

    with TemporaryDirectory(prefix="agentsim-") as folder:
        try:
            with ProgressBar("reading logs") as progress:
                done = sweep(paths, SweepSettings(policies=policies, team=team), folder, workers=0, progress=progress)
        except ValueError as error:
            remedy = "install the package that serves this storage"
            raise Failure(str(error), remedy=remedy, code=ExitCode.USAGE) from None
        except OSError as error:
            raise Failure(str(error), file=paths[0], remedy="check that it can be reached") from None
        problems += [*done.problems, *(problem for note in done.notes for problem in note.problems)]
        if done.failed:
            tell_problems(problems)
            raise Failure(done.failed[0].reason, file=done.failed[0].files[0], remedy="check that it can be read")
        yield folder


def seen_or_told(look: Callable[[], T], place: str, problems: Sequence[Problem], remedy: str) -> T:
    """What ``look`` sees in a sweep. Where it finds nothing to see, the reasons are told first. Raises Failure."""
    from agentsim.fleet.sweep_folder import DamagedTable
    from agentsim.report.notices import tell_problems

    try:
        return look()
    except DamagedTable as error:
        again = "remove it, and run the same 'agentsim fleet sweep' again"
        raise Failure(str(error), file=error.path, remedy=again) from None
    except (ValueError, OSError) as error:
        tell_problems(problems)
        raise Failure(str(error), file=place, remedy=remedy) from None


def policies_of(specs: tuple[str, ...], every: bool) -> tuple[str, ...]:
    """The policies to try, as text: workers may be other machines. Raises Failure."""
    return tuple(dict.fromkeys(policy.spec for policy in chosen_policies(specs, every)))


def check_team(team: str | None) -> None:
    """Raise Failure for what is no regular expression."""
    try:
        re.compile(team or "")
    except re.error as error:
        raise Failure(f"--team: {error}", remedy="give a regular expression", code=ExitCode.USAGE) from None


def check_paths(paths: tuple[str, ...]) -> None:
    """Raise Failure for a path that is not there; URLs are looked at later."""
    from agentsim.commands.options.session_inputs import check_path

    for path in paths:
        if "://" not in path:
            check_path(path)


def check_packages() -> None:
    """Raise Failure where the packages of the extra 'sweep' are missing."""
    from importlib.util import find_spec

    missing = [name for name in ("distributed", "fsspec", "pyarrow", "numpy") if find_spec(name) is None]
    if missing:
        raise Failure(not_installed(", ".join(missing)), remedy=how_to_install("sweep"), code=ExitCode.USAGE)
