"""Fits find what was planted, say how sure they are, and their overrides are rules files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cli import main
from agentsim.core.dates import SECOND
from agentsim.core.shares import wilson
from agentsim.report.exits import ExitCode
from agentsim.rules.providers import rules_for
from agentsim.rules.providers.rules_library import load_rules, read_rules_file, with_rules
from agentsim.traces.format_registry import read
from agentsim.traces.samples.claude_log import ClaudeLog
from agentsim.trust.calibrate import PauseReturn, fit, returns_of
from agentsim.trust.calibrate.fitted_rules_file import override
from agentsim.trust.calibrate.pause_returns import FitEvidence
from tests.agentsim.prompts import DAY, MODEL, block, prompt, request


def came_back(
    pause: float, kept: bool, *, tier: str = "5m", provider: str = "anthropic", length: float = 4
) -> PauseReturn:
    return PauseReturn(
        session="s",
        provider=provider,
        model="claude-opus-4-8" if provider == "anthropic" else "gpt-5.5",
        tier=tier,
        since_start=int((pause + length) * SECOND),
        since_end=int(pause * SECOND),
        expected=1000,
        read=1000 if kept else 0,
        outcome="kept" if kept else "lost",
    )


def seen(returns: list[PauseReturn], reads: list[int] | None = None) -> FitEvidence:
    provider = returns[0].provider
    return FitEvidence(
        returns=tuple(returns),
        reads=tuple((provider, returns[0].model, size) for size in reads or []),
        floors=(),
        sessions=1,
    )


@given(
    st.integers(20, 4000),
    st.lists(st.integers(1, 8000), min_size=8, max_size=60),
    st.sampled_from(["request_start", "response_end"]),
)
def test_a_lifetime_that_parts_all_returns_is_found(lifetime, pauses, clock):
    # Requests of 4 s: a clock that starts with the request runs 4 s longer.
    shift = 4 if clock == "request_start" else 0
    returns = [came_back(pause, pause + shift <= lifetime) for pause in pauses]
    (found,) = fit(seen(returns))
    (life,) = found.lifetimes
    assert life.wrong == 0
    assert life.kept + life.lost == life.returns == len(pauses)
    on_clock = lifetime if life.clock == clock else lifetime - shift if shift else lifetime + 4
    assert life.least <= on_clock
    assert life.most is None or on_clock <= life.most
    if life.lost >= 2:
        assert life.value is not None
        assert life.least <= life.value + 1
        assert life.most is not None
        assert life.value - 1 <= life.most


def test_the_documented_lifetime_is_kept_where_it_fits():
    (found,) = fit(seen([came_back(p, p < 290) for p in (10, 100, 250, 280, 310, 400, 500, 900)]))
    assert found.lifetimes[0].documented == 300
    assert found.lifetimes[0].value == 300
    with pytest.raises(ValueError, match="agrees"):
        override(found, date(2026, 11, 1))


def test_losses_that_time_does_not_explain_name_no_lifetime():
    pauses = [(p, p % 3 != 0) for p in range(1, 90)]
    (found,) = fit(seen([came_back(p, kept) for p, kept in pauses]))
    assert found.lifetimes[0].value is None
    # Requests of 4 s: pauses of up to 55 s are within the first minute from the start. Every third was lost.
    assert [(one.start, one.kept, one.lost) for one in found.retention[0][1]] == [(0, 37, 18), (60, 23, 11)]


def test_no_pause_was_long_enough():
    (found,) = fit(seen([came_back(p, True) for p in (5, 20, 200)]))
    life = found.lifetimes[0]
    assert (life.value, life.most, life.wrong) == (None, None, 0)
    assert life.least == 204


@given(st.sampled_from([1024, 512, 128, 64, 16]), st.integers(0, 15), st.sets(st.integers(1, 4000), min_size=40))
def test_the_step_of_reads_is_found(step, offset, multiples):
    reads = [step * number + offset for number in multiples]
    returns = [came_back(5, True, tier="unstated", provider="openai")]
    (found,) = fit(seen(returns, reads))
    assert found.quantum is not None
    assert found.quantum.step % step == 0  # by luck all may be multiples of more
    assert found.quantum.fits * 100 >= 98 * found.quantum.reads
    assert found.quantum.offset % step == offset


def test_few_reads_tell_no_step():
    (found,) = fit(seen([came_back(5, True)], [1024, 2048, 4096]))
    assert found.quantum is None


def test_wilson_is_the_published_interval():
    # E. B. Wilson's interval for 8 of 10 (e.g. Newcombe 1998, Stat. Med. 17: 0.4902 to 0.9433).
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)


def cold_after(seconds: float, pauses: Sequence[float]) -> ClaudeLog:
    """A session at a provider whose short lifetime is what is given."""
    log = ClaudeLog("s", model="claude-opus-4-8")
    log.user()
    log.label(None).call(20_000, 5_000, output=50)
    warm = 25_000
    for pause in pauses:
        log.now += pause
        log.results()
        if pause <= seconds:
            log.label(None).call(warm, 500, output=50)
        else:
            log.label("previous_message_not_found").call(20_000, warm - 20_000 + 500, output=50)
        warm += 500
    return log


def reads_again_after(pause: int) -> int | None:
    """What the second of two equal requests reads at the modeled provider."""
    body = prompt([block("a", 400)], 0)
    provider = ModeledProvider(rules_for("anthropic", MODEL, None).with_(minimum=0))
    for at in (0, pause):
        served = provider.serve(request(f"r{at}", at, body), (DAY + at) * SECOND)
    return served.usage.read


def test_an_override_is_used(tmp_path: Path) -> None:
    pauses = [30, 200, 20, 100, 140, 160, 210, 15, 220, 260, 180, 120, 290, 148, 155]
    log = cold_after(150, pauses).save(tmp_path / "s.jsonl")
    (found,) = fit(returns_of(read([str(log)])))
    life = found.lifetimes[0]
    assert life.tier == "5m"
    assert life.wrong == 0
    assert life.value is not None
    assert 148 <= life.value <= 165
    target = tmp_path / "mine.toml"
    assert main(["calibrate", str(log), "-o", str(target)]) == ExitCode.OK
    with with_rules(read_rules_file(str(target))):
        rules = rules_for("anthropic", "claude-opus-4-8", None)
        assert rules.lives_short == life.value
        figure = rules.figure("lives_short")
        assert figure is not None
        assert "fitted to own logs" in figure.source
        assert (rules.ttl_short, rules.lives_long) == (300, 0)  # the bundled rules hold wherever it says nothing
        # A simulation now loses what a session with bodies would have lost: two requests, 200 s apart.
        assert reads_again_after(200) == 0
    assert reads_again_after(200) == 400


def test_logs_without_dates_are_no_logs_of_1970(tmp_path: Path) -> None:
    """The rules that are written then say until when the bundled ones were read."""
    pauses = [30, 200, 20, 100, 140, 160, 210, 15, 220, 260, 180, 120, 290, 148, 155]
    trace, target = tmp_path / "trace.jsonl", tmp_path / "mine.toml"
    assert main(["convert", str(cold_after(150, pauses).save(tmp_path / "s.jsonl")), str(trace)]) == ExitCode.OK
    text = re.sub(r'"(start|first_token|end)":"179', r'"\1":"', trace.read_text())  # 1,790,000,000 s are 2026-09-21
    trace.write_text(text)
    assert main(["calibrate", str(trace), "-o", str(target)]) == ExitCode.OK
    assert read_rules_file(str(target)).read_until == load_rules("anthropic").read_until


def test_what_real_logs_show(shared_data: Path) -> None:
    found = fit(returns_of(read([str(shared_data / "claude-code")], [])))
    (anthropic,) = (one for one in found if one.provider == "anthropic")
    lives = {life.tier: life for life in anthropic.lifetimes}
    # Documented: five minutes and an hour. Nobody told the fit.
    assert lives["5m"].least < 300 < (lives["5m"].most or 0)
    assert lives["1h"].least < 3600 < (lives["1h"].most or 0)
    assert (lives["5m"].wrong, lives["5m"].lost) == (0, 20)
    assert (lives["1h"].wrong, lives["1h"].lost) == (0, 7)
    codex = fit(returns_of(read([str(shared_data / "codex")], [])))[0]
    assert codex.quantum is not None
    # Three requests of "fixture-model" were made by hand: they read 100, 101 and 102 tokens.
    assert (codex.quantum.step, codex.quantum.fits) == (128, codex.quantum.reads - 3)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(cold_after(300, [30, 400, 20, 500, 280, 320, 10, 600]).save(tmp_path / "s.jsonl"))
    target = tmp_path / "mine.toml"
    assert main(["calibrate", log, "-o", str(target)]) == ExitCode.OK
    told = capsys.readouterr()
    assert "300 s" in told.out
    assert "as documented" in told.out
    assert "was not written" in told.err
    assert not target.exists()
    assert main(["calibrate", log, "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["providers"][0]["lifetimes"][0]["documented"] == 300
    assert main(["calibrate", log, "--provider", "acme"]) == ExitCode.UNREADABLE
    assert "at acme" in capsys.readouterr().err


def test_a_base_prefix_is_what_many_losses_leave():
    """Of ten losses two left 4,992 tokens: a fifth. Of eleven, two are fewer than a fifth."""
    left = [4_992, 4_992, *range(100, 900, 100)]
    floors = [("anthropic", "m", f"s{number}", tokens) for number, tokens in enumerate(left)]
    base = seen([came_back(10, kept=True)])
    (one,) = fit(msgspec.structs.replace(base, floors=tuple(floors)))
    assert [(floor.tokens, floor.times, floor.losses) for floor in one.floors] == [(4_992, 2, 10)]
    more = (*floors, ("anthropic", "m", "t", 5))
    assert fit(msgspec.structs.replace(base, floors=more))[0].floors == ()


def test_why_nothing_could_be_fitted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A counter of minus five is no counter: the row is told, and then the failure. Other providers are named."""
    made = ClaudeLog("s")
    made.user("x")
    made.call(0, 20_000)
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{line}\n" for line in made.lines).replace("20000", "-5"))
    assert main(["calibrate", str(log)]) == ExitCode.UNREADABLE
    told = capsys.readouterr().err
    assert "bad counter" in told.splitlines()[0]
    assert "no request comes back" in told.splitlines()[-1]
    good = cold_after(300, [10, 20, 30]).save(tmp_path / "good.jsonl")
    assert main(["calibrate", str(good), "--provider", "openai"]) == ExitCode.UNREADABLE
    assert "at openai that was kept or lost; choose among anthropic" in capsys.readouterr().err
