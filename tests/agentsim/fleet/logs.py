"""Folders of logs for the tests of fleets."""

from __future__ import annotations

from pathlib import Path

from agentsim.traces.samples.claude_log import ClaudeLog

SAMPLES = Path(__file__).resolve().parents[3] / "traces" / "samples"


def log(session: str, *, calls: int = 4, lost_every: int = 3, version: str = "2.1.240", begun: float = 0) -> bytes:
    """A session of Claude Code in which every so many calls lose their prefix."""
    made = ClaudeLog(session, model="claude-opus-4-8", version=version)
    made.now += begun
    made.user("Begin.")
    made.label(None).call(20_000, 5_000, output=100, hour=True)
    warm = 25_000
    for number in range(1, calls):
        made.now += 20
        made.results()
        if number % lost_every == 0:
            made.label("system_changed").call(0, warm + 1_000, output=100, hour=True)
        else:
            made.label(None).call(warm, 1_000, output=100, hour=True)
        warm += 1_000
    return "".join(f"{line}\n" for line in made.lines).encode()


def fleet(root: Path, projects: int = 3, sessions: int = 3) -> Path:
    """Projects with sessions: each session's losses are fixed by its number."""
    for project in range(projects):
        folder = root / f"team-{project % 2}" / f"project-{project}"
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(sessions):
            name = f"session-{project}-{number}"
            text = log(name, calls=4 + 3 * number, version=f"2.1.{200 + project}", begun=86_400 * 7 * number)
            (folder / f"{name}.jsonl").write_bytes(text)
    return root
