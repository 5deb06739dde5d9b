"""``python -m benchmarks.tuning``: two months of sessions, a setting chosen from their logs, and the two months after.

A person works under one pair of lifetimes. ``tune`` sees only the logs, chooses and predicts a share of the bill. The
next two months are then lived twice by the same agents with the same random numbers: as before, and under the
best setting. The difference of the two bills is the truth. ``tune verify`` sees only the logs of the second life.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from agentsim.core.session import Session
from agentsim.harness.plan import Plan
from agentsim.traces.format_registry import read
from agentsim.tuning.kept_applications import KeptApplication
from agentsim.tuning.saving_shares import share_of
from agentsim.tuning.tunable_setting import flat
from agentsim.tuning.tune_choice import CannotTune, choose_settings
from agentsim.tuning.tune_verification import TuneVerification, verify_settings
from benchmarks.verdicts.__main__ import between_marks
from benchmarks.whatif.backtest_sessions import BacktestOrder, LivedSession, bill, live, plan_of
from benchmarks.whatif.hidden_facts import share
from benchmarks.whatif.kept_logs import FORMS, VERSION

SHORT, LONG = 300, 3600
DAY = 86_400 * 10**9
LIFETIMES = ((LONG, SHORT), (SHORT, SHORT), (LONG, LONG))
"""Of the main loop and of subagents, as a person has them."""

UNDER: dict[str, tuple[int | None, int | None]] = {
    "ttl-5m": (SHORT, SHORT),
    "ttl-1h": (LONG, LONG),
    "ttl-main-1h": (LONG, SHORT),
    "ttl-children-1h": (SHORT, LONG),
    "ttl-lanes": (None, SHORT),
}
NEWER = "2.1.300"
"""A version that has all the settings."""
START = 1_790_000_000 * 10**9


@dataclass(frozen=True)
class TunedFleet:
    """One person: what was predicted of the best setting and what was true, in millionths of the bill; ``None``: none
    saved in both parts of the logs. ``proposed`` is whether all of the interval is a saving."""

    lifetimes: tuple[int, int]
    policy: str | None
    predicted: tuple[int, int, int] | None
    true: int | None
    proposed: bool = False
    verification: TuneVerification | None = None


def orders_of(person: int, seed: int, count: int, first: int) -> list[BacktestOrder]:
    """The sessions of a person: of few scenarios and with pauses of one kind, as somebody's work is alike from week to
    week."""
    found: list[BacktestOrder] = []
    number = 0
    slow = int(5 * share(f"{seed}/{person}", "slow"))
    kinds = {int(24 * share(f"{seed}/{person}", f"kind {which}")) for which in range(4)}
    while len(found) < count:
        order = BacktestOrder(10_000 * person + first + number, seed)
        number += 1
        # Every twenty-fourth session is of the same scenario, but that those of fitted logs take turns.
        alike = abs(int(5 * share(order.name, "pauses")) - slow) <= 1
        if alike and order.number % 24 in kinds and plan_of(order)[1].marks.ttl:
            found.append(order)
    return found


def plan_on(order: BacktestOrder, lifetimes: tuple[int, int], start: int) -> Plan:
    """The plan of a session with these lifetimes, begun at a time."""
    plan = plan_of(order)[1]
    marks = msgspec.structs.replace(plan.marks, ttl=lifetimes[0], subagent_ttl=lifetimes[1])
    return msgspec.structs.replace(plan, marks=marks, start=start)


def live_one(person: int, seed: int, sessions: int, folder: Path) -> TunedFleet:
    """Two months of work, a choice, and the two months after."""
    lifetimes = LIFETIMES[int(share(f"{seed}/{person}", "lifetimes") * len(LIFETIMES))]
    before = orders_of(person, seed, sessions, 0)
    after = orders_of(person, seed, sessions, 5_000)
    logs = _written(before, lifetimes, START, folder / "before")
    try:
        proposal = choose_settings(logs)
    except CannotTune:
        return TunedFleet(lifetimes, None, None, None)
    if not proposal.best or proposal.predicted is None:
        return TunedFleet(lifetimes, None, None, None)
    policy = proposal.best[0].setting.policy
    main, children = UNDER[policy]
    later = START + 61 * DAY
    chosen = (main or lifetimes[0], children or lifetimes[1])
    as_before = _bills(after, lifetimes, later)
    as_chosen = _bills(after, chosen, later)
    told = proposal.predicted
    true = share_of(as_before - as_chosen, as_before)
    ends = (told.share, told.low, told.high)
    if not proposal.chosen:
        return TunedFleet(lifetimes, policy, ends, true, proposed=False)
    since = _written(after, chosen, later, folder / "after")
    application = KeptApplication(
        file="settings.json",
        harness=proposal.harness,
        time=later,
        written=dict(flat(proposal.chosen[0].setting.settings)),
        before={},
        missing=False,
        policies=(policy,),
        lifetimes=proposal.lifetimes,
        predicted=proposal.predicted,
        sessions=proposal.older + proposal.newer,
        first=proposal.first,
        last=proposal.last,
    )
    try:
        verification = verify_settings([*logs, *since], application)
    except CannotTune:
        verification = None
    return TunedFleet(lifetimes, policy, ends, true, proposed=True, verification=verification)


def _written(orders: Sequence[BacktestOrder], lifetimes: tuple[int, int], first: int, folder: Path) -> list[Session]:
    folder.mkdir(parents=True, exist_ok=True)
    found: list[Session] = []
    for number, lived in enumerate(_lived(orders, lifetimes, first)):
        path = folder / f"{number:04d}.jsonl"
        FORMS["claude-code"][0](lived, path)
        path.write_text(path.read_text(encoding="utf-8").replace(VERSION, NEWER), encoding="utf-8")
        found += read([str(path)])  # one by one: ids of requests are the same in every session
    return found


def _bills(orders: Sequence[BacktestOrder], lifetimes: tuple[int, int], first: int) -> int:
    held = FORMS["claude-code"][1]
    return sum(bill(held(lived)) for lived in _lived(orders, lifetimes, first))


def _lived(orders: Sequence[BacktestOrder], lifetimes: tuple[int, int], first: int) -> Iterator[LivedSession]:
    """One session a day."""
    for number, order in enumerate(orders):
        yield live(order, plan_on(order, lifetimes, first + number * DAY))


def table(fleets: Sequence[TunedFleet]) -> str:
    """What was predicted beside what was true."""
    chosen = [one for one in fleets if one.predicted is not None and one.true is not None]
    inside = [one for one in chosen if one.predicted[1] <= one.true <= one.predicted[2]]  # type: ignore[index,operator]
    proposed = [one for one in chosen if one.proposed]
    wrong = [one for one in proposed if one.true is not None and one.true <= 0]
    checked = [one for one in chosen if one.verification is not None]
    off = sorted(abs(one.verification.measured.share - one.true) for one in checked)  # type: ignore[union-attr,operator]
    covered = [one for one in checked if one.verification.measured.holds(one.true)]  # type: ignore[union-attr,arg-type]
    judged: dict[str, int] = {}
    for one in checked:
        assert one.verification is not None
        judged[one.verification.judgement] = judged.get(one.verification.judgement, 0) + 1
    by_policy: dict[str, int] = {}
    for one in chosen:
        by_policy[str(one.policy)] = by_policy.get(str(one.policy), 0) + 1
    names = ", ".join(f"{name} {count}" for name, count in sorted(by_policy.items()))
    lines = [
        "| | |",
        "|---|---|",
        f"| people | {len(fleets)} |",
        f"| a setting saved in both parts of the logs for | {len(chosen)} ({names}) |",
        f"| the predicted interval holds the true saving | {len(inside)} of {len(chosen)} |",
        f"| it was proposed, as its whole interval is a saving, to | {len(proposed)} |",
        f"| what was proposed cost more in truth | {len(wrong)} of {len(proposed)} |",
        f"| verify: measured and true share differ by, median | {_middle(off)} % of the bill |",
        f"| verify: the measured interval holds the truth | {len(covered)} of {len(checked)} |",
        f"| verify: judged | {', '.join(f'{k} {v}' for k, v in sorted(judged.items()))} |",
    ]
    return "\n".join(lines)


def _middle(sorted_shares: Sequence[int]) -> str:
    return f"{sorted_shares[len(sorted_shares) // 2] / 10_000:.2f}" if sorted_shares else "-"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("--seed", type=int, default=20261130, help="of all that is drawn (default: %(default)s)")
    parser.add_argument("--people", type=int, default=100, help="how many (default: %(default)s)")
    parser.add_argument("--sessions", type=int, default=20, help="in two months (default: %(default)s)")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table into this page, between its marks")
    parser.add_argument("--each", action="store_true", help="a line for each person")
    asked = parser.parse_args(arguments)
    began = time.monotonic()
    fleets = []
    for person in range(asked.people):
        with tempfile.TemporaryDirectory(prefix="tuning-") as scratch:
            fleets.append(live_one(person, asked.seed, asked.sessions, Path(scratch)))
        if asked.each:
            one = fleets[-1]
            judged = "" if one.verification is None else one.verification.judgement
            print(person, one.lifetimes, one.policy, one.predicted, one.true, one.proposed, judged, flush=True)
    text = f"Seed {asked.seed}: {asked.people} people, {asked.sessions} sessions in two months, "
    text += f"{time.monotonic() - began:.0f} s.\n\n{table(fleets)}"
    print(text)
    if asked.page:
        old = asked.page.read_text(encoding="utf-8")
        asked.page.write_text(between_marks(old, text, "tuning"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
