"""The baseline as it was where a branch began: growth is that of the branch, whatever came to the other one since."""

from __future__ import annotations

import os
import subprocess

from agentsim.budget.cost_baseline import BaselineEntry, BaselineError, entries_from

_SECONDS = 30
_NOTHING_ASKED = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def baseline_at(file: str, ref: str) -> dict[str, BaselineEntry]:
    """The entries that a committed baseline had in the last commit that HEAD and ``ref`` share.

    Asks git, which changes nothing and connects to nowhere. Raises BaselineError: ``missing`` where that commit has no
    such file.
    """
    folder, name = os.path.split(os.path.abspath(file))
    commit = _git(folder, file, "merge-base", "--end-of-options", "HEAD", ref).decode("ascii", "replace").strip()
    if not _git(folder, file, "ls-tree", "--name-only", commit, "--", name):
        raise BaselineError(f"not committed in {commit[:12]}, where HEAD and {ref} part", file, missing=True)
    return entries_from(_git(folder, file, "show", f"{commit}:./{name}"), f"{file} in {commit[:12]}")


def _git(folder: str, file: str, *words: str) -> bytes:
    try:
        done = subprocess.run(
            ("git", "-C", folder, *words),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, **_NOTHING_ASKED},
        )
    except FileNotFoundError:
        raise BaselineError("git is not installed, which knows where the branch began", file) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BaselineError(f"git cannot be asked: {error}", file) from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [
            "no common commit; fetch the whole history"
        ]
        raise BaselineError(f"git {words[0]}: {said[-1][:200]}", file)
    return done.stdout
