"""When a price applies, at the moment and one beside it; and names and tiers at their edges."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from agentsim.core.dates import DAY, SECOND
from agentsim.core.session import Request, Usage
from agentsim.rules.prices import PriceBook, RateCard
from agentsim.rules.prices.own_prices import OwnPrice
from agentsim.rules.prices.price_library import _added_model, _clause, _clock, _model
from agentsim.rules.prices.price_names import geography
from agentsim.rules.prices.price_table import When

HOUR = 3_600 * SECOND
MONDAY = 20_696 * DAY  # 2026-08-31
MILLION = 10**6


def test_a_price_of_some_hours_begins_at_the_first_and_ends_before_the_last() -> None:
    peak = When(from_time=2 * HOUR, until_time=8 * HOUR)
    moments = (2 * HOUR - 1, 2 * HOUR, 8 * HOUR - 1, 8 * HOUR)
    assert [peak.active(MONDAY + one, True) for one in moments] == [False, True, True, False]
    assert not peak.active(MONDAY + 2 * HOUR, False)  # only the day is known
    assert When(from_time=2 * HOUR).active(MONDAY, False)


def test_hours_past_midnight_belong_to_both_days() -> None:
    night = When(from_time=22 * HOUR, until_time=6 * HOUR)
    moments = (0, 6 * HOUR - 1, 6 * HOUR, 12 * HOUR, 22 * HOUR - 1, 22 * HOUR, DAY - 1)
    assert [night.active(MONDAY + one, True) for one in moments] == [True, True, False, False, False, True, True]


@pytest.mark.parametrize(("days", "is_active"), [(-1, False), (0, True), (1, True), (2, False)])
def test_hours_of_some_weekdays(days: int, is_active: bool) -> None:
    mondays_and_tuesdays = When(from_time=0, until_time=DAY, weekdays=(0, 1))
    assert mondays_and_tuesdays.active(MONDAY + days * DAY, True) == is_active


def test_an_hour_of_the_library_is_one_of_utc() -> None:
    shanghai = datetime.timezone(datetime.timedelta(hours=8))
    assert _clock(datetime.time(9, 30, 1)) == 9 * HOUR + 1_801 * SECOND
    assert _clock(datetime.time(9, tzinfo=shanghai)) == HOUR
    assert _clock(datetime.time(7, tzinfo=shanghai)) == 23 * HOUR


def test_tests_of_names_keep_their_parts() -> None:
    from genai_prices.types import ClauseAnd, ClauseContains, ClauseStartsWith

    both = _clause(ClauseAnd(and_=[ClauseStartsWith(starts_with="GPT-"), ClauseContains(contains="Mini")]))
    assert (both.op, [(one.op, one.text) for one in both.parts]) == ("and", [("starts", "gpt-"), ("contains", "mini")])


def test_a_model_whose_price_cannot_be_kept_is_known_without_one() -> None:
    from genai_prices.types import ClauseEquals, ModelInfo, ModelPrice

    def model(dollars: str) -> ModelInfo:
        price = ModelPrice(input_mtok=Decimal(dollars), output_mtok=Decimal(1))
        return ModelInfo(id="m", match=ClauseEquals(equals="M"), prices=price)

    fine, too_fine = _model(model("0.000001")), _model(model("0.0000001"))
    assert fine is not None
    assert too_fine is not None
    assert (len(fine.periods), too_fine.periods, too_fine.id) == (1, (), "m")  # a tenth of a picodollar a token
    half = _model(ModelInfo(id="m", match=ClauseEquals(equals="M"), prices=ModelPrice(input_mtok=Decimal(1))))
    assert half is not None
    assert half.periods == ()  # what an answer costs is not known


def test_an_added_price_holds_for_the_smallest_prompt() -> None:
    added = _added_model({"id": "m", "fresh": "1", "output": "2", "above": []})
    assert added.periods[0].prices.fresh == ((-1, MILLION),)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("us.anthropic.claude-opus-4-5", "us"),
        ("bedrock/EU.anthropic.claude", "eu"),
        ("global.openai.gpt-6", None),
        ("claude", None),
    ],
)
def test_a_name_of_a_cloud_tells_its_part_of_the_world(name: str, place: str | None) -> None:
    assert geography(name) == place


def test_tiers_of_a_model_and_what_no_request_reaches() -> None:
    assert PriceBook().tiers("anthropic", "no such model", MONDAY) == ()
    longest = "claude-opus-4-6".rjust(184, "x").replace("xclaude", "/claude").rjust(200, "y")
    assert len(longest) == 200
    for name, is_known in ((longest, True), (f"y{longest}", False)):
        assert bool(PriceBook().tiers("anthropic", name, MONDAY)) == is_known
        assert (PriceBook().card("anthropic", name, MONDAY, 0) is not None) == is_known
    small, fast = (PriceBook().tiers("anthropic", "claude-opus-4-6", MONDAY, speed) for speed in (None, "fast"))
    assert [above for above, _ in small] == [above for above, _ in fast]
    assert small[-1][0] == -1  # an empty prompt has a price, too
    assert [card.fresh for _, card in fast if card] == [6 * card.fresh for _, card in small if card]
    own = OwnPrice(card=RateCard(fresh=7, output=1), read_until=0)
    assert PriceBook(own={"mine": (own,)}).tiers("mine", "m", MONDAY) == ((-1, own.card),)


def test_one_inner_call_without_a_price_leaves_the_whole_without_one() -> None:
    own = OwnPrice(card=RateCard(fresh=2, output=1, write_short=3), read_until=0)  # an hour's write has no price
    book = PriceBook(own={"mine": (own,)})
    priced, unpriced = Usage(fresh=5, output=1), Usage(fresh=5, write_long=3, output=1)
    usage = Usage(fresh=10, write_long=3, output=2)
    for parts in ((priced, unpriced), (unpriced, priced)):
        asked = Request(id="r", lane="main", model="m", provider="mine", start=MONDAY, usage=usage, iterations=parts)
        assert book.price(asked) == (None, None)
    fine = Request(id="r", lane="main", model="m", provider="mine", start=MONDAY, usage=priced)
    assert book.price(fine) == (11, 5 * MILLION)
