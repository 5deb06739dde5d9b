"""What is true of every verdict without bodies: over the sample of every reader, changed ones and drawn rows."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.core.session import Event, Lane, ProviderDiagnosis, Request, Session, Usage
from agentsim.diagnose import row_judge
from agentsim.diagnose.diagnosis import diagnose, judge_rows
from agentsim.diagnose.elimination import find_cause, hypotheses_on
from agentsim.diagnose.facts_from_session import facts_of
from agentsim.diagnose.hypothesis import SHOWN, Hypothesis, settled_by
from agentsim.diagnose.provider_words import answer_to, fitting, known_words
from agentsim.traces.format_registry import read
from tests.traces.format_samples import BY_MODULE

UNEXPLAINED = {"AS901", "AS902"}
SECOND = 10**9


def check(session: Session, *, blind: bool) -> int:
    """Hold the invariants against all verdicts of a session; how many losses there were."""
    cases: dict[str, Any] = {}

    def noted(case: Any) -> Any:
        cases[case.row.id] = (case, hypotheses_on(case))
        return find_cause(case)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_judge, "find_cause", noted)
        patch.setattr("agentsim.diagnose.automatic_rows.find_cause", noted)
        verdicts = judge_rows(session, use_provider_diagnosis=not blind)
    for row, verdict in zip(facts_of(session), verdicts, strict=True):
        parent = row.parent
        usage = verdict_usage(session, row.id)
        assert verdict.lost <= max(0, row.total - row.read), "more was lost than was written or sent fresh"
        if parent is not None and parent.measured:
            assert verdict.lost <= max(0, min(parent.warm, row.total)), "more than was cached and is in the prompt"
            if row.measured and row.read >= min(parent.warm, row.total):
                assert verdict.kind != "miss", "all that its predecessor left was read"
        assert verdict.cause not in verdict.alternatives
        assert verdict.evidence != "proved", "rows prove nothing"
        if verdict.kind != "miss":
            continue
        assert usage is not None
        assert verdict.cause is not None
        assert verdict.evidence is not None
        case, said = cases[row.id]
        named = {verdict.cause, *verdict.alternatives}
        standing = {one.code for one in said if one.standing != "excluded"}
        answer = fitting(case.reason) | UNEXPLAINED | {"AS503"} if case.reason is not None else frozenset()
        assert named <= standing | answer, "what is ruled out is named"
        sufficient = [one.code for one in said if one.standing == "sufficient"]
        if verdict.evidence == "implied":
            assert verdict.cause in sufficient
            first = next(one for one in said if one.code == verdict.cause and one.standing == "sufficient")
            others = [one for one in settled_by(first, said) if one.code != first.code]
            if case.reason is None:
                assert all(one.standing == "excluded" for one in others), "implied, and others are not excluded"
            assert not verdict.alternatives
        fits = frozenset() if case.reason is None else fitting(case.reason)
        finer = [one.code for one in said if is_shown(one) and one.code in fits]
        if finer and answer_to(case.reason) is not None and case.reason != "previous_message_not_found":
            assert verdict.cause in finer, "what the log shows and fits the provider's word wins over it"
        if verdict.evidence == "unexplained":
            assert verdict.cause in UNEXPLAINED
            assert not sufficient
        if verdict.evidence == "likely" and not sufficient:
            assert named & UNEXPLAINED or case.reason is not None, "that nothing changed stays possible"
        assert set(sufficient) <= named, "the provider's word erases what the log shows"
    return sum(verdict.kind == "miss" for verdict in verdicts)


def is_shown(one: Hypothesis) -> bool:
    return one.standing == "sufficient" or (one.standing != "excluded" and one.weight >= SHOWN)


def check_bodies(session: Session) -> int:
    """Hold against verdicts by bodies what is true of all; how many losses there were."""
    found = diagnose(session)
    by_id = {row.request.id: row for row in found.rows}
    for row, verdict in zip(found.rows, found.verdicts, strict=True):
        usage = row.usage
        told = f"{session.id} {row.request.id}: {verdict}"
        assert verdict.lost <= (usage.write or 0) + (usage.fresh or 0) or usage.read is None, told
        assert verdict.cause not in verdict.alternatives, told
        assert verdict.evidence != "implied" or not verdict.alternatives, told
        assert verdict.evidence != "unexplained" or verdict.cause in UNEXPLAINED, told
        before = by_id.get(verdict.compared_with or "")
        if verdict.kind != "miss" or before is None or before.request.prompt is None or row.request.prompt is None:
            continue
        assert verdict.lost <= max(before.request.prompt.tokens, before.usage.total_input or 0), told
        left = (before.usage.read or 0) + (before.usage.write or 0)
        whole = before.request.prompt.common_length(row.request.prompt) == len(before.request.prompt)
        if before.usage.write and whole and usage.read is not None:
            assert usage.read < left, f"all that its predecessor left was read: {told}"
        assert verdict.lost <= max(0, (usage.total_input or row.request.prompt.tokens) - (usage.read or 0)), told
    return sum(verdict.kind == "miss" for verdict in found.verdicts)


def verdict_usage(session: Session, id: str) -> Usage | None:
    return next(request.usage for request in session.requests if request.id == id)


@cache
def samples() -> tuple[tuple[str, Session], ...]:
    """The sessions of every reader's sample."""
    found = []
    for name, make in sorted(BY_MODULE.items()):
        with tempfile.TemporaryDirectory() as folder:
            path = make(Path(folder))
            found += [(name, session) for session in read([folder if name == "raw_bodies" else str(path)], [])]
    return tuple(found)


@pytest.mark.parametrize("blind", [True, False])
def test_the_samples_of_all_readers(blind: bool) -> None:
    for _, session in samples():
        check(session, blind=blind)


def full() -> list[Session]:
    return [session for _, session in samples() if session.completeness == "full"]


def test_the_bodies_of_all_readers() -> None:
    assert sum(check_bodies(session) for session in full()) > 0
    assert len(full()) > 5


counts = st.sampled_from((0, 3, 128, 1_000, 2_047, 9_000, 9_600, 20_000, 40_000)) | st.integers(0, 60_000)
maybe = st.none() | counts


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_changed_samples(data: st.DataObject) -> None:
    _, session = data.draw(st.sampled_from(samples()))
    if not session.requests:
        return
    at = data.draw(st.integers(0, len(session.requests) - 1))
    changed = msgspec.structs.replace(
        session.requests[at],
        usage=Usage(fresh=data.draw(maybe), read=data.draw(maybe), write_short=data.draw(maybe), output=5),
        model=data.draw(st.sampled_from((session.requests[at].model, "claude-opus-5", "gpt-5.4"))),
        diagnosis=ProviderDiagnosis(reported=True, reason=data.draw(st.none() | st.sampled_from(known_words()))),
    )
    requests = (*session.requests[:at], changed, *session.requests[at + 1 :])
    check(msgspec.structs.replace(session, requests=requests), blind=data.draw(st.booleans()))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_changed_bodies(data: st.DataObject) -> None:
    session = data.draw(st.sampled_from([one for one in full() if one.requests]))
    at = data.draw(st.integers(0, len(session.requests) - 1))
    old = session.requests[at]
    total = (old.usage and old.usage.total_input) or (old.prompt.tokens if old.prompt is not None else 9_000)
    read = min(total, data.draw(counts))
    written = data.draw(st.integers(0, total - read))
    changed = msgspec.structs.replace(
        old,
        usage=Usage(fresh=total - read - written, read=read, write_short=written, output=5),
        host=data.draw(st.sampled_from((old.host, "elsewhere"))),
        start=old.start if old.start is None else old.start + data.draw(st.sampled_from((0, 1, 400))) * SECOND,
    )
    check_bodies(
        msgspec.structs.replace(session, requests=(*session.requests[:at], changed, *session.requests[at + 1 :]))
    )


EVENTS = ("compaction", "clearing", "tools_delta", "instructions_delta", "api_error", "prompt_submitted")
PROVIDERS = (("anthropic", "claude-opus-4-8"), ("openai", "gpt-5.4"), ("openai", "gpt-5.6"), ("codex", "gpt-5.6-luna"))


@st.composite
def drawn(draw: st.DrawFn) -> Session:
    """Some rows of one lane, often ones that read what the row before left."""
    provider, model = draw(st.sampled_from(PROVIDERS))
    short, long = draw(st.sampled_from((("write_short", "write_long"), ("write_other", "write_other"))))
    requests: list[Request] = []
    events: list[Event] = []
    now, warm = 1_790_000_000 * SECOND, 0
    for number in range(draw(st.integers(2, 7))):
        reads = st.sampled_from((warm, max(0, warm - 100), 0, 9_000, 128)) | counts
        usage = Usage(
            read=draw(reads), fresh=draw(counts), output=9, **{draw(st.sampled_from((short, long))): draw(maybe)}
        )
        warm = (usage.read or 0) + (usage.write or 0)
        now += draw(st.sampled_from((1, 20, 290, 301, 340, 3_500, 4_000, 90_000))) * SECOND
        requests.append(
            Request(
                id=f"r{number}",
                lane="main",
                parent=f"r{number - 1}" if number else None,
                provider=provider,
                model=draw(st.sampled_from((model, model, model, "other-model"))),
                start=draw(st.sampled_from((now, now, None))),
                end=now + 5 * SECOND,
                usage=usage,
                settings=(("effort", draw(st.sampled_from(('"low"', '"high"')))),),
                speed=draw(st.sampled_from((None, "standard", "fast"))),
                host=draw(st.sampled_from((None, "a", "b"))),
                account=draw(st.sampled_from((None, "one", "two"))),
                appended_blocks=draw(st.sampled_from((None, 2, 20, 21))),
                diagnosis=draw(
                    st.builds(
                        ProviderDiagnosis,
                        reported=st.booleans(),
                        reason=st.none() | st.sampled_from((*known_words(), "a new word")),
                    )
                ),
            )
        )
        events += [
            Event(kind=kind, time=None, lane="main", before=f"r{number}")  # type: ignore[arg-type]
            for kind in draw(st.lists(st.sampled_from(EVENTS), max_size=1))
        ]
    return Session(
        id="s",
        format="test",
        completeness=draw(st.sampled_from(("usage", "messages"))),
        lanes=(Lane(id="main", title="main"),),
        requests=tuple(requests),
        events=tuple(events),
    )


@settings(max_examples=80, deadline=None)
@given(drawn(), st.booleans())
def test_drawn_rows(session: Session, blind: bool) -> None:
    check(session, blind=blind)


def test_the_drawn_rows_lose_something() -> None:
    """The invariants hold of nothing if nothing is lost: most sessions that are drawn lose something."""
    found = [check(session, blind=True) for _, session in samples()]
    assert sum(found) > 3
