"""What agentsim says of a file: a verdict for each request, by the request's id."""

from __future__ import annotations

from pathlib import Path

from agentsim.core.session import Problem
from agentsim.diagnose.diagnosis import diagnose
from agentsim.traces.format_registry import read
from benchmarks.verdicts.verdict_scores import Said


def judge(path: Path) -> list[tuple[str, Said]]:
    """The verdicts on all sessions of a file, each with its request's id. Judged blind: without the provider's word.
    None at all for a file that cannot be read."""
    found: list[tuple[str, Said]] = []
    problems: list[Problem] = []
    try:
        sessions = list(read([str(path)], problems))
    except OSError:
        return found
    for session in sessions:
        diagnosis = diagnose(session, use_provider_diagnosis=False)
        for verdict in diagnosis.verdicts:
            said = Said(
                kind=verdict.kind,
                cause=verdict.cause,
                asserted=verdict.evidence not in (None, "unexplained"),
                evidence=verdict.evidence,
                alternatives=verdict.alternatives,
                lost=verdict.lost,
            )
            found.append((verdict.request, said))
    return found
