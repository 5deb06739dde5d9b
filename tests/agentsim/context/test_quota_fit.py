"""What tokens take of an allowance: the truth is within every interval that is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsim.cli import main
from agentsim.context.quota_fit import QuotaFit, quota_fits
from agentsim.core.quota import QuotaReading
from agentsim.core.session import Lane, Request, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.traces.format_registry import read
from agentsim.traces.words.quota_words import quota_readings

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
LOG = DATA / "codex" / "agentv__gpt55-173req-compacted.jsonl"


def lived(
    usages: list[tuple[int, int, int]], rates: tuple[float, float, float], others: float = 0, lag: bool = False
) -> QuotaFit | None:
    """A session whose counter goes by these rates (per cent for a million tokens), rounded down; every third request
    lost half of what it sent."""
    requests, verdicts, readings = [], [], {}
    used = before = 0.0
    for number, (fresh, read_, output) in enumerate(usages):
        id = f"r{number}"
        usage = Usage(fresh=fresh, read=read_, output=output)
        requests.append(Request(id=id, lane="main", model="gpt-5.5", provider="codex", start=None, usage=usage))
        lost = fresh // 2 if number % 3 == 0 else 0
        verdicts.append(Verdict(request=id, kind="miss" if lost else "hit", lost=lost))
        before = used
        used += (fresh * rates[0] + read_ * rates[1] + output * rates[2]) / 1e6 + others
        shown = float(int(before if lag else used))
        readings[id] = (QuotaReading(window=300, used=shown, resets=9_000, limit="plan"),)
    lanes = (Lane(id="main", title="main"),)
    session = Session(id="s", format="codex", completeness="usage", lanes=lanes, requests=tuple(requests))
    found = quota_fits(session, readings, verdicts)
    return found[0] if found else None


sizes = st.tuples(st.integers(0, 200_000), st.integers(0, 300_000), st.integers(0, 5_000))
truths = st.tuples(st.floats(1, 40), st.floats(0, 5), st.floats(0, 200))


@settings(max_examples=60, deadline=None)
@given(st.lists(sizes, min_size=8, max_size=40), truths, st.sampled_from([0.0, 0.4]), st.booleans())
def test_the_truth_is_in_every_interval(
    usages: list[tuple[int, int, int]], rates: tuple[float, float, float], others: float, lag: bool
) -> None:
    fit = lived(usages, rates, others, lag)
    if fit is None or fit.reason is not None or (others and not fit.shared):
        return  # what others used may pass for tokens of ours; it is only sure that where it cannot, it is noticed
    for name, rate in zip(("fresh", "read", "output"), rates, strict=True):
        assert fit.rates[name].least - 1e-6 <= rate <= fit.rates[name].most + 1e-6
    assert fit.lost is not None
    true = fit.lost_tokens / 1e6 * (rates[0] - rates[1])
    assert true <= fit.lost.most + 1e-6
    assert true >= fit.lost.least - 1e-6 or true < 0


def test_what_others_use_leaves_only_at_most() -> None:
    fit = lived([(1_000, 0, 0)] * 12 + [(200_000, 0, 0)] * 6, (10.0, 1.0, 50.0), others=5.0)
    assert fit is not None
    assert fit.shared
    assert {interval.least for interval in fit.rates.values()} == {0.0}


def test_few_changes_tell_nothing() -> None:
    for changes, words in ((1, "one change of the counter is too few"), (2, "2 changes of the counter are too few")):
        fit = lived([(100_000, 0, 0)] * (changes + 1), (10.0, 1.0, 50.0))
        assert fit is not None
        assert fit.reason == words
    assert (fit := lived([(100_000, 0, 0)] * 4, (10.0, 1.0, 50.0))) is not None
    assert fit.reason is None


def test_a_real_rollout(capsys: pytest.CaptureFixture[str]) -> None:
    if not LOG.exists():
        pytest.skip("no shared data here")
    (session,) = read([str(LOG)], [])
    assert len(quota_readings(session)) == len(session.requests)
    assert main(["replay", str(LOG), "--json"]) == 0
    found = {fit["window_minutes"]: fit for fit in json.loads(capsys.readouterr().out)["quota"]}
    assert found[300]["only_at_most"]
    weekly = found[10080]
    assert 0 < weekly["lost_by_price"]["at_least"] < weekly["lost_by_price"]["at_most"] <= weekly["lost"]["at_most"]
    assert main(["replay", str(LOG), "--rows", "misses"]) == 0
    assert "weekly window of codex/pro" in capsys.readouterr().out


@pytest.mark.parametrize("junk", ['{"used_percent": -1, "window_minutes": 300}', '{"used_percent": 5}', "null", "7"])
def test_odd_counters_are_passed_over(tmp_path: Path, junk: str) -> None:
    usage = {"input_tokens": 2000, "cached_input_tokens": 0, "output_tokens": 5, "total_tokens": 2005}
    info = {"total_token_usage": usage, "last_token_usage": usage}
    limits = json.loads(f'{{"limit_id": "x", "primary": {junk}}}')
    lines = [
        {"type": "session_meta", "payload": {"id": "a", "timestamp": "2026-01-01T00:00:00Z"}},
        {"type": "turn_context", "payload": {"model": "gpt-5.5"}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": info, "rate_limits": limits}},
    ]
    path = tmp_path / "rollout-a.jsonl"
    path.write_text("".join(json.dumps({"timestamp": "2026-01-01T00:00:01Z", **line}) + "\n" for line in lines))
    (session,) = read([str(path)], [])
    assert quota_readings(session) == {}
