"""Experiments against the emulated endpoint, through the official clients: what is measured is what the rules say."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from agentsim.cache.endpoint_accounts import EndpointAccount
from agentsim.cli import main
from agentsim.core.session import Usage
from agentsim.rules.prices import rate_card
from agentsim.rules.providers import rules_for
from agentsim.trust.probe import probe_experiments
from agentsim.trust.probe.probe_bench import Bench, ProbeStep
from agentsim.trust.probe.probe_emulation import emulated_account
from agentsim.trust.probe.probe_questions import EmulatedClock, ProbePrompt, RealClock
from agentsim.trust.probe.sdk_clients import asker_for
from tests.agentsim.gateway.serving import serving
from tests.agentsim.trust.probe.stub import Stub, json_answer, message_events, stub

pytestmark = pytest.mark.loopback
pytest.importorskip("anthropic")
pytest.importorskip("openai")
pytest.importorskip("starlette")

START = 1_790_000_000 * 10**9


def measured(
    provider: Any, model: str, kind: Any, tier: Any = "short", start: int = START
) -> tuple[Any, list[ProbeStep]]:
    rules = rules_for(provider, model, start)
    marks = provider == "openai" and rules.matching == "breakpoint"
    with (
        emulated_account(provider, start) as (account, clock),
        asker_for(account, model, clock, marks=marks) as asker,
    ):
        bench = Bench(asker=asker, clock=clock, rules=rules, run="test", waits=False)
        return probe_experiments.run(kind, bench, tier), bench.steps


def usages(steps: list[ProbeStep]) -> list[Usage]:
    return [step.answered.usage for step in steps]


def test_the_four_requests_of_an_endpoint_with_breakpoints() -> None:
    finding, steps = measured("anthropic", "claude-sonnet-4-6", "four requests")
    one, two, three, four = usages(steps)
    document = one.write
    assert document is not None
    assert document > 1024
    assert (one.read, two.read, three.read, four.read) == (0, document, document, 0)
    assert (two.write, three.write, four.write) == (0, 0, document)
    assert [usage.output for usage in (one, two, three, four)] == [96] * 4
    assert one.fresh is not None
    assert one.fresh < 20, "the question stands outside"
    assert finding.agrees
    for step in steps:
        assert step.holds
        assert (step.predicted.read, step.predicted.write) == (step.answered.usage.read, step.answered.usage.write)


def test_the_four_requests_under_the_newer_contract() -> None:
    """OpenAI's breakpoints: the document is written and read to the token, and its write is reported."""
    finding, steps = measured("openai", "gpt-5.6", "four requests")
    one, two, three, four = usages(steps)
    document = one.write
    assert document is not None
    assert document > 1024
    assert (one.read, two.read, three.read, four.read) == (0, document, document, 0)
    assert (two.write, three.write, four.write) == (0, 0, document)
    assert finding.agrees


def test_the_four_requests_of_an_automatic_cache() -> None:
    finding, steps = measured("openai", "gpt-5.1", "four requests")
    total = usages(steps)[0].total_input
    assert total is not None
    assert [usage.read for usage in usages(steps)] == [0, total // 128 * 128, total // 128 * 128, 0]
    assert finding.agrees


@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")  # the client's, about old models
@pytest.mark.parametrize(
    ("model", "floor"), [("claude-sonnet-4-6", 1024), ("claude-opus-4-5", 4096), ("claude-opus-5", 512)]
)
def test_the_floor_is_found_to_the_token(model: str, floor: int) -> None:
    finding, _ = measured("anthropic", model, "floor")
    assert finding.agrees
    assert finding.predicted == f"{floor:,} tokens"
    below, above = (int(word.replace(",", "")) for word in finding.measured.split() if word[0].isdigit())
    assert below < floor <= above <= below + 2


def test_the_floor_of_an_automatic_cache() -> None:
    finding, steps = measured("openai", "gpt-5.1", "floor")
    assert finding.measured == "1,023 tokens are not kept, 1,024 are"
    assert finding.agrees
    kept = [step for step in steps if step.answered.usage.read]
    assert all((step.answered.usage.total_input or 0) >= 1024 for step in kept)


def test_the_lookback_is_twenty_positions_its_own_among_them() -> None:
    finding, steps = measured("anthropic", "claude-sonnet-4-6", "lookback")
    assert (finding.measured, finding.agrees) == ("20 positions", True)
    found = {step.name: bool(step.answered.usage.read) for step in steps[1:]}
    assert found["19 blocks behind it"]
    assert not found["20 blocks behind it"]


def test_a_lookback_that_counts_breakpoints() -> None:
    """The newer contract of OpenAI: the latest 80 breakpoints, the document's own being the last of them."""
    finding, steps = measured("openai", "gpt-5.6", "lookback")
    assert (finding.measured, finding.agrees) == ("80 breakpoints", True)
    found = {step.name: bool(step.answered.usage.read) for step in steps[1:]}
    assert found["79 blocks behind it"]
    assert not found["80 blocks behind it"]


def test_an_automatic_cache_has_no_lookback() -> None:
    finding, steps = measured("openai", "gpt-5.1", "lookback")
    assert finding.agrees is None
    assert steps == []


@pytest.mark.parametrize(("provider", "model"), [("anthropic", "claude-sonnet-4-6"), ("openai", "gpt-5.1")])
def test_an_entry_is_read_once_the_first_answer_has_begun(provider: str, model: str) -> None:
    finding, steps = measured(provider, model, "visibility")
    assert finding.agrees
    read = {step.name: bool(step.answered.usage.read) for step in steps}
    assert read == {
        "together: writes": False,
        "together: reads": False,
        "after the first token: writes": False,
        "after the first token: reads": True,
        "after the end: writes": False,
        "after the end: reads": True,
    }


@pytest.mark.parametrize(
    ("provider", "model", "tier", "life"),
    [
        ("anthropic", "claude-sonnet-4-6", "short", 300),
        ("anthropic", "claude-sonnet-4-6", "long", 3600),
        ("openai", "gpt-5.1", "short", 600),
        ("openai", "gpt-5.6", "short", 1800),
        ("openai", "gpt-5.6", "long", 43_200),
    ],
)
def test_a_lifetime_is_measured_to_the_second_and_nobody_waits(provider: str, model: str, tier: str, life: int) -> None:
    finding, steps = measured(provider, model, "ttl", tier)
    assert finding.agrees
    assert finding.measured == f"read after {life - 1:,} s, lost after {life + 1:,} s"
    assert steps[-1].answered.start - steps[0].answered.start > life * 10**9


def test_the_short_retention_is_asked_for_where_a_day_is_what_one_gets_unasked() -> None:
    november = START + 60 * 24 * 3600 * 10**9  # 2026-11-20
    finding, _ = measured("openai", "gpt-5.1", "ttl", start=november)
    assert (finding.agrees, finding.predicted, finding.measured) == (
        True,
        "600 s",
        "read after 599 s, lost after 601 s",
    )


def test_a_rule_that_differs_is_told() -> None:
    model = "claude-sonnet-4-6"
    rules = rules_for("anthropic", model, START).with_(lookback=12, ttl_short=200, minimum=2000)
    with emulated_account("anthropic", START) as (account, clock), asker_for(account, model, clock) as asker:
        bench = Bench(asker=asker, clock=clock, rules=rules, run="test", waits=False)
        assert probe_experiments.run("lookback", bench, "short").agrees is False
        assert probe_experiments.run("ttl", bench, "short").agrees is False, "what should be gone after 200 s is read"
        floor = probe_experiments.run("floor", bench, "short")
        assert (floor.agrees, floor.predicted) == (False, "2,000 tokens")


@pytest.mark.parametrize("kind", probe_experiments.KINDS)
@pytest.mark.parametrize(
    ("provider", "model"), [("anthropic", "claude-sonnet-4-6"), ("openai", "gpt-5.1"), ("openai", "gpt-5.6")]
)
def test_no_experiment_costs_more_than_it_said(provider: Any, model: str, kind: Any) -> None:
    from agentsim.rules.prices import cost

    rules, card = rules_for(provider, model, START), rate_card(provider, model, START, 0)
    assert card is not None
    bill = probe_experiments.bill_of([kind], rules, "short", card)
    _, steps = measured(provider, model, kind)
    assert len(steps) <= bill.requests
    assert sum(usage.total_input or 0 for usage in usages(steps)) <= bill.input_tokens
    assert sum(usage.output or 0 for usage in usages(steps)) <= bill.output_tokens
    paid = sum(cost(card, usage) or 0 for usage in usages(steps))
    assert bill.cost is not None
    assert paid <= bill.cost


def test_the_most_that_four_requests_cost_is_exact() -> None:
    """Sonnet 4.6: $6 a million tokens written for an hour, the dearest price of input; $15 a million of output."""
    rules, card = (
        rules_for("anthropic", "claude-sonnet-4-6", START),
        rate_card("anthropic", "claude-sonnet-4-6", START, 0),
    )
    bill = probe_experiments.bill_of(["four requests"], rules, "short", card)
    assert bill.requests == 4
    assert bill.output_tokens == 4 * 96
    assert bill.cost == bill.input_tokens * 6_000_000 + 4 * 96 * 15_000_000


def asking(server: Stub) -> Any:
    return asker_for(EndpointAccount("anthropic", server.url, "sk-test"), "m", RealClock())


def key_in(headers: dict[str, str]) -> str | None:
    """The key that a client sent: editions of it differ in the header that they use."""
    return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")


def test_usage_is_cumulative_and_replaced_never_added() -> None:
    counters = {"input_tokens": 7, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 3}
    with stub(lambda *_: message_events(counters, 40, 96)) as server, asking(server) as asker:
        usage = asker.ask(ProbePrompt(parts=("text",))).usage
    assert usage == Usage(fresh=7, write_other=20, read=3, output=96), "not 1 + 40 + 96"


def test_the_marker_ends_the_document_and_the_question_is_outside() -> None:
    with stub(lambda *_: message_events({"input_tokens": 7}, 96)) as server, asking(server) as asker:
        asker.ask(ProbePrompt(parts=("document", "question"), output=96))
    path, headers, body = server.asked[0]
    assert path == "/v1/messages"
    assert key_in(headers) == "sk-test"
    assert body["max_tokens"] == 96
    document, question = body["messages"][0]["content"]
    assert document["cache_control"] == {"type": "ephemeral", "ttl": "5m"}
    assert "cache_control" not in question


def test_a_virtual_clock_goes_only_when_told() -> None:
    clock = EmulatedClock(START)
    with clock.held():
        clock.tick()
    assert clock.now() == START
    clock.tick()
    clock.wait_until(START)
    assert clock.now() == START + EmulatedClock.STEP
    clock.wait_until(START + 10**12)
    assert clock.now() == START + 10**12


def test_nothing_shows_a_key() -> None:
    account = EndpointAccount("openai", "https://user@host:8000/v1", "sk-canary-0123456789")
    assert repr(account) == "<Account openai at host:8000>"
    assert "canary" not in str(account.failure(ValueError("sk-canary-0123456789 is wrong")))


KEY = "sk-ant-canary-0123456789abcdef"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_KEY", KEY)


def told(capfd: pytest.CaptureFixture[str], out: Path) -> str:
    streams = capfd.readouterr()
    text = streams.out + streams.err + (out.read_text() if out.exists() else "")
    assert "canary" not in text
    return text


def live(url: str, out: Path, *more: str) -> list[str]:
    return ["probe", "--live", "--base-url", url, "--key-env", "PROBE_KEY", "--out", str(out), "--force", *more]


def test_live_stops_where_the_second_request_reads_nothing(
    account: None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "probe.jsonl"
    with stub(lambda *_: message_events({"input_tokens": 10, "cache_creation_input_tokens": 2700}, 96)) as server:
        assert main(live(server.url, out, "--yes")) == 1
    assert len(server.asked) == 2
    text = told(capfd, out)
    assert "at most 4 requests" in text
    assert "$" in text
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["record"] for row in rows] == ["run", "request", "request", "finding"]
    assert "stopped after the second request" in rows[-1]["note"]
    assert out.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("status", [429, 500, 529])
def test_live_never_sends_twice_and_tells_no_key(
    account: None, tmp_path: Path, capfd: pytest.CaptureFixture[str], status: int
) -> None:
    out = tmp_path / "probe.jsonl"
    refusal = {"type": "error", "error": {"type": "x", "message": f"wrong key {KEY}"}}
    with stub(lambda *_: json_answer(refusal, status)) as server:
        assert main(live(server.url, out, "--yes")) == 3
    assert len(server.asked) == 1, "never again"
    assert key_in(server.asked[0][1]) == KEY
    text = told(capfd, out)
    assert f"HTTP {status}" in text
    assert json.loads(out.read_text().splitlines()[-1])["record"] == "failure"


def test_live_asks_first(account: None, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    class Typed:
        def __init__(self, line: str, tty: bool = True) -> None:
            self.line, self.tty = line, tty

        def isatty(self) -> bool:
            return self.tty

        def readline(self) -> str:
            return self.line

    out = tmp_path / "probe.jsonl"
    with stub(lambda *_: message_events({"input_tokens": 10}, 96)) as server:
        for typed in (Typed("n\n"), Typed("\n"), Typed("y\n", tty=False)):
            monkeypatch.setattr("sys.stdin", typed)
            assert main(live(server.url, out)) == 2
            assert server.asked == []
            assert "at most 4 requests" in told(capfd, out), "the cost is said before the question"
        monkeypatch.setattr("sys.stdin", Typed("y\n"))
        assert main(live(server.url, out)) == 1
        assert len(server.asked) == 2


def test_a_key_goes_only_where_it_belongs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with stub(lambda *_: message_events({"input_tokens": 10}, 96)) as server:
        assert main(["probe", "--live", "--yes", "--base-url", server.url]) == 1
        assert KEY not in str(server.asked[0][1]), "another address does not get the usual key unasked"
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert main(["probe", "--live", "--yes"]) == 1
        assert key_in(server.asked[-1][1]) == KEY, "the environment names the address and the key together"
    told(capfd, tmp_path / "none")
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert main(["probe", "--live", "--yes"]) == 2
    assert main(["probe", "--live", "--yes", "--key-env", "NO_SUCH_KEY"]) == 2
    assert main(["probe", "--live", "--yes", "--base-url", "ftp://x"]) == 2
    assert main(["probe", "--yes"]) == 2, "for a real endpoint only"
    assert main(["probe", "--run", "a b"]) == 2


def test_live_waiting_is_said(
    account: None, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    """Half as long again as the lifetime: 450 s is 7 min 30 s."""
    monkeypatch.setattr("sys.stdin", StringIO())
    assert main(live("http://127.0.0.1:9", tmp_path / "x", "--ttl")) == 2
    assert "waiting takes 7 min 30 s" in told(capfd, tmp_path / "x")


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_the_emulated_probe_on_the_command_line(
    provider: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "probe.jsonl"
    assert main(["probe", "--provider", provider, "--run", "r1", "--out", str(out)]) == 0
    assert "four requests: agrees" in capfd.readouterr().out
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["record"] for row in rows] == ["run", *["request"] * 4, "finding"]
    assert {row["run"] for row in rows} == {"r1"}
    assert all(row["holds"] for row in rows if row["record"] == "request")
    assert main(["probe", "--out", str(out)]) == 2, "it exists"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_live_against_an_endpoint_that_runs(provider: str, tmp_path: Path, capfd: Any) -> None:
    """The emulated endpoint as if it were a real one: on its own clock, through a real connection."""
    with serving(tmp_path) as served:
        url = served.url if provider == "anthropic" else f"{served.url}/v1"
        words = ["probe", "--provider", provider, "--live", "--yes", "--base-url", url, "--four", "--visibility"]
        code = main([*words, "--run", "r2"])
    page = capfd.readouterr().out
    assert "four requests: agrees" in page
    assert "real; run r2" in page
    # It answers as fast as it can: of two requests sent together the second is read, unlike a real one's.
    assert code in (0, 1)
    assert len(served.sessions()[0].requests) == 10
