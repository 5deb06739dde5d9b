"""Results of cases that take long, kept one by one, so that a run that ended early goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path

Lines = list[list[str]]


class Results:
    """A file of JSON lines, one a case; the last line of a case counts, and a line that was cut short does not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: dict[str, Lines] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            self._found[entry["case"]] = entry["lines"]

    def kept(self, case: str) -> Lines | None:
        """What was found for a case, if it was."""
        return self._found.get(case)

    def keep(self, case: str, lines: Lines) -> None:
        """Remember what was found for a case, now."""
        self._found[case] = lines
        self.path.parent.mkdir(parents=True, exist_ok=True)
        ends = not self.path.exists() or self.path.read_bytes()[-1:] in (b"", b"\n")
        with self.path.open("a", encoding="utf-8") as file:
            file.write(("" if ends else "\n") + json.dumps({"case": case, "lines": lines}) + "\n")

    def forget(self) -> None:
        """Begin anew."""
        self._found.clear()
        self.path.unlink(missing_ok=True)
