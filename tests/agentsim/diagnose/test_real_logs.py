"""Published session logs: how often the next read is known beforehand, and what the other rows are."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from agentsim.core.session import Request, Session
from agentsim.core.verdict import Verdict
from agentsim.diagnose import judge_rows
from agentsim.traces.readers.claude_code import read_sessions
from agentsim.trust.agreement import agree

Judged = list[tuple[Session, int, Request, Verdict]]


@pytest.fixture(scope="module")
def sessions(shared_data: Path) -> list[Session]:
    return read_sessions([str(shared_data / "claude-code")])


@pytest.fixture(scope="module")
def judged(sessions: list[Session]) -> Judged:
    """Every counted request with its place in its session's file order and its verdict."""
    rows: Judged = []
    for session in sessions:
        found = judge_rows(session)
        rows += [
            (session, index, request, verdict)
            for index, (request, verdict) in enumerate(zip(session.requests, found, strict=True))
            if request.counted
        ]
    return rows


def version(request: Request) -> tuple[int, ...]:
    return tuple(int(part) for part in (request.harness_version or "0").split("."))


def predicted(rows: Judged) -> Fraction:
    later = [verdict.prediction for *_, verdict in rows if verdict.kind != "first"]
    return Fraction(sum(p in ("exact", "class") for p in later), len(later))


def test_reads_are_known_beforehand(judged: Judged) -> None:
    assert predicted(judged) >= Fraction(95, 100)
    assert predicted([row for row in judged if version(row[2]) >= (2, 1, 200)]) >= Fraction(98, 100)


def test_hardly_a_row_stays_unexplained(judged: Judged) -> None:
    unexplained = [verdict for *_, verdict in judged if verdict.evidence == "unexplained"]
    assert len(unexplained) <= len(judged) // 100
    assert {verdict.kind for *_, verdict in judged} <= {"first", "hit", "extended", "shorter", "compaction", "miss"}


def at(judged: Judged, session: str, index: int) -> Verdict:
    return next(verdict for s, i, _, verdict in judged if s.id.startswith(session) and i == index)


@pytest.mark.parametrize(
    ("session", "index"), [("03ce845f", 13), ("03ce845f", 14), ("d1ffb512", 131), ("d1ffb512", 173)]
)
def test_the_lookback_losses_are_named(judged: Judged, session: str, index: int) -> None:
    assert (at(judged, session, index).kind, at(judged, session, index).cause) == ("miss", "AS301")


EXPIRIES = {
    "3a782158": [31, 50, 82, 104],
    "44df7d08": [5, 9, 40, 41, 48, 132, 135, 140],
    "a318ad73": [4],
    "e4599950": [33, 40, 47, 50, 57, 65],
    "94fab1a1": [54, 230],
    "d1ffb512": [5, 57, 155],
    "030df228": [72],
    "6b6f4218": [404, 541],
}


@pytest.mark.parametrize("session", EXPIRIES)
def test_expiries_are_named(judged: Judged, session: str) -> None:
    found = [i for s, i, _, v in judged if s.id.startswith(session) and (v.cause or "").startswith("AS20")]
    assert found == EXPIRIES[session]


def test_the_rewind_is_no_miss(judged: Judged) -> None:
    verdict = at(judged, "fdd24234", 29)
    assert (verdict.kind, verdict.lost) == ("shorter", 0)


def test_the_clearing_of_old_results_is_named(judged: Judged) -> None:
    assert at(judged, "fdd24234", 44).cause == "AS122"


def test_the_clean_session_has_no_loss(judged: Judged) -> None:
    assert Counter(v.kind for s, _, _, v in judged if s.id.startswith("be80e9bc")) == {"first": 1, "hit": 50}


def test_unlogged_calls_of_one_session(judged: Judged) -> None:
    """24 of its reads equal the read, the writes and the output before them, to the token: 22 after a turn whose first
    request had read such a reply too, so that they were known beforehand."""
    replies = [v for s, _, _, v in judged if s.id.startswith("94fab1a1") and v.kind == "extended"]
    assert Counter(v.prediction for v in replies if v.prediction != "wrong") == {"exact": 22, "class": 2}


def test_blind_verdicts_never_contradict_the_provider(sessions: list[Session]) -> None:
    agreement = agree(sessions)
    assert agreement.contradicted == 0
    assert agreement.labelled == agreement.exact + agreement.compatible == sum(n for *_, n in agreement.matrix)
    # Of the losses with a word of the provider, the blind verdict says the same of 25 of 28.
    assert agreement.exact >= 25


def test_agreement_tells_how_many_reads_were_foreseen(sessions: list[Session], judged: Judged) -> None:
    seen = agree(sessions).foreseen
    later = [verdict for *_, verdict in judged if verdict.kind != "first"]
    assert seen.requests == len(later) == seen.logged + seen.unlogged + seen.losses + seen.others
    assert seen.logged == sum(verdict.prediction == "exact" for verdict in later)
    assert Fraction(seen.logged, seen.requests) >= Fraction(9573, 10_000)
    assert Fraction(seen.requests - seen.others, seen.requests) == predicted(judged)
