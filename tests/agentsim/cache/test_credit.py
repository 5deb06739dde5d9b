"""A refused request, sent again to another model with the token of the refusal: its bill, and what is kept."""

from __future__ import annotations

from agentsim.bodies import MessagesReader
from agentsim.cache.modeled_provider import ModeledProvider
from agentsim.cache.simulate import scan
from agentsim.core.session import Request, Usage
from agentsim.diagnose.relax import judge_bodies
from agentsim.rules.providers import rules_for
from tests.agentsim.prompts import block, prompt, request, session

HEAD = [block("tools", 3_000, "tools"), block("rules", 3_000, "system", role=None), block("do it", 100)]
MORE = block("and that", 900)
REFUSES, ANSWERS = "claude-opus-5", "claude-opus-4-8"
CLAIM = {"fallback_credit": "true"}


def turns(claim: dict[str, str]) -> list[Request]:
    """A conversation with one model; its next request is refused and goes to another, which then goes on."""
    first, second = prompt(HEAD, 2), prompt([*HEAD, MORE], 3)
    return [
        request("0", 0, first, model=REFUSES),
        request("1", 20, second, model=ANSWERS, settings=claim),
        request("2", 40, prompt([*HEAD, MORE, block("so", 50)], 4), model=ANSWERS),
    ]


def split(requests: list[Request], backend: ModeledProvider | None = None) -> list[tuple[int | None, int | None]]:
    """Read and written."""
    rows = scan(session(requests), backend or ModeledProvider()).rows
    return [(row.usage.read, row.usage.write) for row in rows]


def test_what_was_warm_at_the_other_model_is_billed_as_read() -> None:
    assert split(turns(CLAIM)) == [(0, 6_100), (6_100, 900), (7_000, 50)]


def test_without_the_token_the_other_model_begins_anew() -> None:
    assert split(turns({})) == [(0, 6_100), (0, 7_000), (7_000, 50)]


def test_what_was_not_warm_is_no_credit() -> None:
    first, second, _ = turns(CLAIM)
    late = request("1", 301, second.prompt, model=ANSWERS, settings=CLAIM)
    assert split([first, late]) == [(0, 6_100), (0, 7_000)]


def test_the_rule_can_be_switched_off() -> None:
    off = ModeledProvider(rules_for("anthropic", ANSWERS, None).with_(fallback_credit=False))
    assert split(turns(CLAIM), off)[1] == (0, 7_000)


def test_the_credit_costs_what_reading_costs_at_the_model_that_answers() -> None:
    rows = scan(session(turns(CLAIM)), ModeledProvider()).rows
    # Opus 4.8: 0.50 and 6.25 dollars for a million tokens read and written; 10**6 picodollars a token.
    assert rows[1].cost == 6_100 * 500_000 + 900 * 6_250_000


def test_a_reported_credit_is_no_loss_and_was_foreseen() -> None:
    told = (Usage(fresh=0, write_short=6_100, read=0), Usage(fresh=0, write_short=900, read=6_100))
    requests = [
        request(f"{n}", 20 * n, one.prompt, model=one.model, settings=dict(one.settings), usage=usage)
        for n, (one, usage) in enumerate(zip(turns(CLAIM), told, strict=False))
    ]
    verdict = judge_bodies(session(requests))[1]
    assert (verdict.kind, verdict.predicted, verdict.prediction) == ("hit", 6_100, "exact")


def test_the_token_itself_is_not_kept() -> None:
    body = {"model": ANSWERS, "messages": [{"role": "user", "content": "go"}], "fallback_credit_token": "secret-1"}
    read = MessagesReader().read(body)
    assert ("fallback_credit", "true") in read.settings
    assert "secret-1" not in f"{read}"
