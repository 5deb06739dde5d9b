"""Adding requests up: each kind of write is written, what has no price is counted and not priced."""

from agentsim.core.session import Usage
from agentsim.core.sums import FIELDS, Sums, add, as_sums, known_sum, named, new_sums


def test_tokens_and_money_of_two_requests():
    found = new_sums()
    add(found, Usage(fresh=10, write_short=200, write_long=30, write_other=4, read=5_000, output=60), 7_000, 900)
    add(found, Usage(fresh=1, read=9, output=2), 500, 100)
    sums = as_sums(found)
    assert sums == Sums(
        requests=2, fresh=11, written=234, read=5_009, output=62, cost=7_500, equivalents=1_000, unpriced=0
    )
    assert sums.total_input == 11 + 234 + 5_009
    assert sums.hit_rate == (5_009, 5_254)


def test_a_request_without_a_price_is_counted_and_adds_no_money():
    found = new_sums()
    add(found, Usage(fresh=10), None, 55)
    assert as_sums(found) == Sums(requests=1, fresh=10, unpriced=1)


def test_the_cost_is_unknown_where_no_request_has_a_price_and_a_sum_where_one_has():
    found = new_sums()
    assert (as_sums(found).known_cost, as_sums(found).known_equivalents) == (0, 0)
    add(found, Usage(fresh=10), None, None)
    assert (as_sums(found).known_cost, as_sums(found).known_equivalents) == (None, None)
    add(found, Usage(fresh=10), 700, 9)
    assert (as_sums(found).known_cost, as_sums(found).known_equivalents) == (700, 9)


def test_a_sum_of_what_is_known():
    assert known_sum([]) == 0
    assert known_sum([None, None]) is None
    assert known_sum([None, 3, 4]) == 7


def test_counters_that_a_log_does_not_report_add_nothing():
    found = new_sums()
    add(found, Usage(), 0, None)
    assert as_sums(found) == Sums(requests=1)


def test_more_numbers_may_stand_behind_the_sums():
    found = [*new_sums(), 3]
    add(found, Usage(read=5), 1, 1)
    assert found[-1] == 3
    assert named(found[: len(FIELDS)])["read"] == 5
