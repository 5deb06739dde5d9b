"""Whether a switch of the model paid."""

from __future__ import annotations

from fractions import Fraction

from agentsim.core.session import Lane, Request, Session, Usage
from agentsim.core.verdict import Verdict
from agentsim.rules.prices import RateCard
from agentsim.whatif.model_switches import ModelSwitch, model_switches, rates_needed
from agentsim.whatif.policies.break_even import hit_rate_to_pay

OPUS, SONNET = "claude-opus-4-5", "claude-sonnet-4-5"
"""At $5 and $3 a million: written 6.25 and 3.75, read 0.50 and 0.30, output 25 and 15."""
MICRO = 10**6


def rows(*given: tuple[str, Usage, int]) -> tuple[Session, list[Verdict]]:
    """Requests with their models, usage, and how much each lost."""
    requests, verdicts = [], []
    for number, (model, usage, lost) in enumerate(given):
        start = 1_770_000_000_000_000_000 + number * 10**9
        requests.append(Request(id=f"r{number}", lane="main", model=model, start=start, usage=usage))
        verdicts.append(Verdict(request=f"r{number}", kind="miss" if lost else "hit", lost=lost))
    lanes = (Lane(id="main", title="main"),)
    return Session(id="s", format="x", completeness="usage", lanes=lanes, requests=tuple(requests)), verdicts


def switch(*given: tuple[str, Usage, int]) -> ModelSwitch:
    (found,) = model_switches(*rows(*given))
    return found


FIRST = (OPUS, Usage(write_short=10_000, read=0, output=0), 0)


def test_a_switch_writes_what_staying_would_have_read() -> None:
    found = switch(FIRST, (SONNET, Usage(write_short=11_000, read=0, output=100), 10_000))
    assert found.paid == (11_000 * 3_750_000) + 100 * 15 * MICRO
    assert found.staying == 10_000 * 500_000 + 1_000 * 6_250_000 + 100 * 25 * MICRO
    assert found.saved == found.staying - found.paid < 0
    assert (found.first, found.last, found.back, found.lost_tokens) == (2, 2, False, 10_000)


def test_the_way_back_is_paid_for_too() -> None:
    other = (SONNET, Usage(write_short=11_000, read=0), 10_000)
    there = switch(FIRST, other)
    back = model_switches(*rows(FIRST, other, (OPUS, Usage(write_short=12_000, read=0), 10_000)))
    first = back[0]
    assert first.back
    assert first.paid == there.paid + 10_000 * (6_250_000 - 500_000)
    assert first.lost_tokens == 20_000


def test_a_long_stretch_with_a_cheaper_model_pays() -> None:
    reads = [(SONNET, Usage(read=11_000, write_short=100, output=800), 0)] * 20
    assert switch(FIRST, (SONNET, Usage(write_short=11_000, read=0), 10_000), *reads).saved > 0


def test_a_model_without_a_price_is_left_out() -> None:
    assert model_switches(*rows(FIRST, ("nobody-1", Usage(fresh=5), 0))) == ()
    assert model_switches(*rows(FIRST, FIRST)) == ()


def test_the_hit_rate_from_which_caching_pays() -> None:
    card = RateCard(fresh=100, output=500, read=10, write_short=125, write_long=200)
    assert hit_rate_to_pay(card) == Fraction(25, 115)
    assert hit_rate_to_pay(card, hour=True) == Fraction(100, 190)
    assert hit_rate_to_pay(RateCard(fresh=100, output=500, read=10, write_short=90)) == 0
    assert hit_rate_to_pay(RateCard(fresh=100, output=500, read=100, write_short=125)) is None
    # At exactly that rate both cost the same.
    h = Fraction(25, 115)
    assert h * 10 + (1 - h) * 125 == 100


def test_each_model_is_measured_by_what_it_wrote() -> None:
    given, _ = rows(FIRST, (OPUS, Usage(read=10_000, write_short=500), 0), (SONNET, Usage(fresh=5_000), 0))
    (opus,) = rates_needed([given])
    assert (opus.model, opus.lifetime, opus.per_mille) == (OPUS, "short", 218)
    assert opus.read_per_mille == 10_000 * 1000 // 20_500
