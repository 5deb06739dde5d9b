"""What was lost in the same way again and again, over all sessions, and what stands in front of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from agentsim.report.figures import plural
from agentsim.report.verdict_words import cause_title
from agentsim.tui.help_screen import HelpScreen
from agentsim.tui.ink import Ink, Piece

MOST_LISTED = 20

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from agentsim.cli import main; main(sys.argv[2:])"


def findings_of_all(paths: Sequence[str]) -> dict[str, Any] | None:
    """The findings of ``agentsim summary`` over these paths, or of this machine, made by a process of its own: reading
    holds the interpreter, and keys would wait for it. ``None`` where it could not be made."""
    from agentsim.rules.providers.rules_library import brought_files

    rules = [part for file in brought_files() for part in ("--rules", file.file)]
    command = [sys.executable, "-c", _START, json.dumps(sys.path), "summary", "--json", *rules, "--", *paths]
    try:
        told = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL).stdout
        found = json.loads(told)["findings"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, dict) else None


class FindingsScreen(HelpScreen):
    """Each kind of loss with how much of it there is, and what it comes with."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        super().__init__("", ())
        self._found = found

    def _rows(self) -> list[list[Piece]]:
        kinds = self._found["repeated"]
        rows: list[list[Piece]] = [[("Losses of one kind, over all sessions", Ink.STRONG)]]
        if not kinds:
            rows.append(["  nothing was lost twice in the same way"])
        for kind in kinds[:MOST_LISTED]:
            title = f"  {kind['losses']:,} × {kind['cause']} {cause_title(kind['cause'])}"
            rows.append([(title + (f", {kind['what']}" if kind["what"] else ""), Ink.NAME)])
            cost = "" if kind["cost"] is None else f", ${float(kind['cost']):,.2f}"
            rows.append([f"    {plural(kind['tokens'], 'token')}{cost}, in {plural(kind['sessions'], 'session')}"])
            rows += _lead(kind["lead"])
        if len(kinds) > MOST_LISTED:
            rows.append([("  and " + plural(len(kinds) - MOST_LISTED, "other"), Ink.FAINT)])
        if self._found["lead"] is not None:
            rows += [["  Losses without a place:"], *_lead(self._found["lead"])]
        for head in self._found["shared_heads"]:
            count = plural(head["conversations"], "conversation")
            rows.append([(f"  {count}: {head['cause']} {cause_title(head['cause'])}, in {head['place']}", Ink.NAME)])
            rows.append(
                [f"    {plural(head['tokens'], 'token')} sent again while an earlier session's lay in the cache"]
            )
        return rows


def _lead(lead: Mapping[str, Any] | None) -> list[list[Piece]]:
    return [] if lead is None else [[f"    {lead['sentence']} ", ("A lead, no proof.", Ink.FAINT)]]
