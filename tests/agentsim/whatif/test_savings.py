"""The saving of each verdict's own fix."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.core.session import Session
from agentsim.diagnose import diagnose
from agentsim.diagnose.cause_registry import CAUSES
from agentsim.whatif.fix_savings import FIXES, in_words, savings, with_savings
from agentsim.whatif.policies import NAMES, policy
from agentsim.whatif.saving_interval import SavingInterval
from tests.agentsim.whatif.policies.small import HEAD, MINUTE, block, request, session

FORCED = (("tool_choice", '{"name":"submit","type":"tool"}'),)


def paused(minutes: float) -> Session:
    blocks = [*HEAD, block("task", 17_000)]
    return session(request("r1", 0, blocks), request("r2", minutes * MINUTE, blocks))


def test_every_fix_is_a_policy_and_every_cause_is_known() -> None:
    assert set(FIXES) <= set(CAUSES)
    assert set(FIXES.values()) <= set(NAMES)


def test_an_expiry_saves_a_rewrite_less_its_refreshes() -> None:
    (nothing, saving) = savings(diagnose(paused(8)))
    assert nothing is None
    assert saving is not None
    assert (saving.cause, saving.policy.name, saving.policy.only) == ("AS201", "keep-alive", ("r2",))
    assert saving.equivalents == 20_000 * (115 - 10) * 10**4  # one refresh
    assert (saving.written, saving.read) == (0, 20_000)


def test_a_fix_that_costs_more_than_it_saves_says_so() -> None:
    (_, saving) = savings(diagnose(paused(600)))
    assert saving is not None
    assert saving.equivalents == -20_000 * 11 * 10**5  # eleven refreshes, and lost all the same
    fix = with_savings(diagnose(paused(600))).verdicts[1].fix
    # 22,000 tokens at $5 a million, and eleven tokens of output at $25.
    assert fix is not None
    assert fix.endswith("Policy keep-alive, for this row alone, would have cost $0.1103 more than it saves.")


def test_a_changed_setting_is_undone_for_as_long_as_it_lasted() -> None:
    history = [*HEAD, block("task", 17_000)]
    requests = []
    for number, choice in enumerate([(), FORCED, FORCED, (), FORCED]):
        history = [*history, block(f"turn {number}", 500)]
        requests.append(request(f"r{number}", 20 * number, history, (1, -1), settings=choice))
    found = {s.request: s for s in savings(diagnose(session(*requests))) if s is not None}
    # r1 to r2 were forced; r4 again, which found what r2 had written for forced requests.
    assert found["r1"].policy.only == ("r1", "r2")
    assert found["r1"].read == 20_500


def test_copies_have_no_saving() -> None:
    given = paused(8)
    copies = tuple(msgspec.structs.replace(r, counted=False) for r in given.requests)
    assert savings(diagnose(msgspec.structs.replace(given, requests=copies))) == (None, None)


@pytest.mark.parametrize("requests", [0, 1])
def test_nothing_lost_nothing_to_save(requests: int) -> None:
    given = msgspec.structs.replace(paused(1), requests=paused(1).requests[:requests])
    assert savings(diagnose(given)) == (None,) * requests


def test_a_saving_whose_sign_is_not_known_says_so_and_an_unproven_policy_tells_tokens() -> None:
    (_, found) = savings(diagnose(paused(8)))
    assert found is not None
    unclear = msgspec.structs.replace(found, cost=10**10, interval=SavingInterval(-(10**10), 3 * 10**10))
    assert in_words(unclear).endswith("may cost $0.0100 or save $0.0300: the log does not tell.")
    clear = msgspec.structs.replace(unclear, interval=SavingInterval(1, 3 * 10**10))
    assert in_words(clear).endswith("would have saved $0.0100 over the session.")
    unproven = msgspec.structs.replace(clear, policy=policy("pin-thinking"))
    assert in_words(unproven).endswith("would let it read 20,000 and write 0 tokens.")
