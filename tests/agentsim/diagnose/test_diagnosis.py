"""The diagnosis of a whole session: excerpts only when asked, modeled usage where none was reported."""

from __future__ import annotations

import msgspec

from agentsim.bodies import MessagesReader
from agentsim.core.session import Lane, Request, Session
from agentsim.diagnose import diagnose
from agentsim.traces.samples.make_atlas import atlas_session


def clocks() -> Session:
    """Two requests whose system text holds a clock with seconds."""
    reader = MessagesReader()
    requests = []
    for second in (1, 2):
        marked = {"type": "ephemeral"}
        text = f"Work with care. {'Rules. ' * 2000}Now: 2026-03-06 10:15:0{second}"
        body = {
            "model": "claude-opus-4-8",
            "system": [{"type": "text", "text": text, "cache_control": marked}],
            "messages": [{"role": "user", "content": "Begin."}],
        }
        requests.append(
            Request(
                id=f"r{second}",
                lane="main",
                model="claude-opus-4-8",
                parent="r1" if second == 2 else None,
                start=second * 20 * 10**9,
                end=(second * 20 + 5) * 10**9,
                prompt=reader.prompt(body),
            )
        )
    lanes = (Lane(id="main", title="main"),)
    return Session(id="s", format="test", completeness="full", lanes=lanes, requests=tuple(requests))


def test_c23_a_clock_in_the_system_text_is_named_and_shown_only_when_asked() -> None:
    _, quiet = diagnose(clocks()).verdicts
    _, shown = diagnose(clocks(), show_content=True).verdicts
    assert (quiet.kind, quiet.cause) == ("miss", "AS111")
    assert quiet.place is not None
    assert shown.place is not None
    assert (quiet.place.address, quiet.place.change, quiet.place.before) == ("system[0]", "volatile", None)
    assert "10:15:01" in (shown.place.before or "")
    assert "10:15:02" in (shown.place.after or "")


def test_bodies_without_usage_get_the_modeled_one() -> None:
    session = atlas_session()
    silent = msgspec.structs.replace(
        session, requests=tuple(msgspec.structs.replace(request, usage=None) for request in session.requests)
    )
    reported, modeled = diagnose(session), diagnose(silent)
    assert (modeled.totals.written, modeled.totals.read) == (280_420, 311_760)
    assert modeled.totals.equivalents == reported.totals.equivalents == 381_701 * 10**6
    assert [v.cause for v in modeled.verdicts] == [v.cause for v in reported.verdicts]


def test_judging_by_usage_only_ignores_the_bodies() -> None:
    diagnosis = diagnose(atlas_session(), use_bodies=False)
    causes = [(number, v.cause) for number, v in enumerate(diagnosis.verdicts, 1) if v.kind == "miss"]
    assert causes == [(5, "AS190"), (7, "AS201"), (9, "AS190"), (11, "AS190")]
    assert diagnosis.verdicts[9].kind == "recovered"
    assert not diagnosis.by_bodies


def test_usage_only_verdicts_keep_what_is_established_apart_from_what_is_to_check() -> None:
    verdicts = diagnose(atlas_session(), use_bodies=False).verdicts
    five, seven, nine, ten, eleven = (verdicts[number - 1] for number in (5, 7, 9, 10, 11))
    assert any("35 s since the previous request began" in s and "alone cannot explain" in s for s in five.established)
    assert any("grew by 1,850" in s and "350" in s for s in five.established)
    assert any("cannot place it" in s for s in five.to_check)
    assert any(
        "335 s since" in s and "185 s since its response ended" in s and "enough" in s for s in seven.established
    )
    assert any("counts from the request's start" in s for s in seven.to_check)
    assert any("7,350" in s and "tools and system" in s for s in nine.established)
    assert any("history or a parameter" in s for s in nine.to_check)
    assert any("older entry was alive" in s for s in ten.established)
    assert any("changed back" in s and "restored" in s for s in ten.to_check)
    assert any("next 3 requests read this row's whole prefix" in s for s in eleven.established)
    assert any("lookback" in s for s in eleven.to_check)
