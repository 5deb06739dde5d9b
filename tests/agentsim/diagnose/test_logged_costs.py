"""The costs that a log states: told where only it knows, and where they are not what the prices say."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.core.session import Row, Usage
from agentsim.diagnose import diagnose
from agentsim.diagnose.logged_costs import LoggedCost, logged_costs
from tests.agentsim.prompts import request, session

DOLLAR = 10**12


def rows(*costs: tuple[str, int | None, bool]) -> tuple[Row, ...]:
    """Requests of 100,000 fresh tokens: model, what the log says, whether the request counts."""
    made = []
    for number, (model, logged, counted) in enumerate(costs):
        one = request(f"r{number}", 60 * number, None, model=model, usage=Usage(fresh=10**5, read=0, output=0))
        made.append(msgspec.structs.replace(one, logged_cost=logged, counted=counted))
    return diagnose(session(made)).rows


def test_by_model_and_only_what_counts():
    found = logged_costs(
        rows(
            ("claude-sonnet-4-6", 3 * DOLLAR, True),
            ("claude-sonnet-4-6", 4 * DOLLAR, True),
            ("claude-sonnet-4-6", 9 * DOLLAR, False),
            ("claude-sonnet-4-6", None, True),
            ("nobody-knows-it", DOLLAR, True),
        )
    )
    assert found == (
        LoggedCost("claude-sonnet-4-6", 2, 7 * DOLLAR, 6 * DOLLAR // 10),
        LoggedCost("nobody-knows-it", 1, DOLLAR, None),
    )
    assert [cost.disagrees for cost in found] == [True, False]


@pytest.mark.parametrize(("logged", "disagrees"), [(100, False), (102, False), (103, True), (98, False), (97, True)])
def test_what_is_rounded_does_not_disagree(logged, disagrees):
    assert LoggedCost("m", 1, logged, 100).disagrees is disagrees
