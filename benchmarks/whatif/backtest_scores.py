"""How far predictions are from what happened: per policy and form, and the tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

MATTERS = 0.02
"""Below this share of the bill the sign of a saving is not scored."""


@dataclass(frozen=True)
class Prediction:
    """What was predicted of one policy on one log, and what was true, in picodollars. ``saving`` is ``None`` where no
    dollars were told; ``low`` and ``high`` are the ends of its interval."""

    session: str
    scene: str
    form: str
    policy: str
    bill: int
    true: int
    saving: int | None
    low: int | None = None
    high: int | None = None
    told: bool = True
    reason: str = ""


@dataclass(frozen=True)
class Baseline:
    """The recorded run, simulated: in picodollars how far it is from the bill of the log."""

    session: str
    form: str
    bill: int
    off: int | None
    """``None`` where it could not be simulated."""
    reason: str = ""


@dataclass(frozen=True)
class PolicyScore:
    """The figures of one policy in one form."""

    policy: str
    form: str
    count: int
    told: int
    mattering: int
    right: int
    median: float
    ninetieth: float
    covered: float | None


def score(predictions: Iterable[Prediction]) -> list[PolicyScore]:
    """The scores, by policy and form."""
    groups: dict[tuple[str, str], list[Prediction]] = {}
    for prediction in predictions:
        groups.setdefault((prediction.policy, prediction.form), []).append(prediction)
    return [_score(policy, form, found) for (policy, form), found in sorted(groups.items())]


def _score(policy: str, form: str, found: list[Prediction]) -> PolicyScore:
    known = [p for p in found if p.saving is not None]
    told = [p for p in known if p.told]
    mattering = [p for p in told if abs(p.true) > MATTERS * p.bill]
    right = [p for p in mattering if (p.saving or 0) * p.true > 0]
    errors = sorted(abs((p.saving or 0) - p.true) / max(p.bill, 1) for p in known)
    spans = [p for p in known if p.low is not None and p.high is not None]
    covered = [p for p in spans if (p.low or 0) <= p.true <= (p.high or 0)]
    return PolicyScore(
        policy,
        form,
        len(found),
        len(told),
        len(mattering),
        len(right),
        _at(errors, 0.5),
        _at(errors, 0.9),
        len(covered) / len(spans) if spans else None,
    )


def _at(values: Sequence[float], part: float) -> float:
    return values[min(len(values) - 1, int(part * len(values)))] if values else 0.0


def tables(predictions: Sequence[Prediction], baselines: Sequence[Baseline]) -> str:
    """All tables, as Markdown."""
    sessions = len({baseline.session for baseline in baselines})
    return "\n\n".join((f"{sessions} sessions.", baseline_table(baselines), policy_table(predictions)))


def policy_table(predictions: Sequence[Prediction]) -> str:
    """A row for each policy and form."""
    lines = [
        "| policy | form | n | told | sign right | median error % | 90th percentile % | interval holds % |",
        "|--|--|--|--|--|--|--|--|",
    ]
    for row in score(predictions):
        covered = "–" if row.covered is None else f"{100 * row.covered:.0f}"
        lines.append(
            f"| `{row.policy}` | {row.form} | {row.count} | {row.told} | {row.right} of {row.mattering} "
            f"| {100 * row.median:.2f} | {100 * row.ninetieth:.2f} | {covered} |"
        )
    return "\n".join(lines)


def baseline_table(baselines: Sequence[Baseline]) -> str:
    """In how many sessions the recorded run, simulated, costs what the log says."""
    lines = ["| form | sessions | simulated | to the cent | off by more than 1 % | worst % |", "|--|--|--|--|--|--|"]
    for form in dict.fromkeys(baseline.form for baseline in baselines):
        own = [baseline for baseline in baselines if baseline.form == form]
        known = [baseline for baseline in own if baseline.off is not None]
        exact = sum(abs(baseline.off or 0) < 10**10 for baseline in known)
        shares = [abs(baseline.off or 0) / max(baseline.bill, 1) for baseline in known]
        far = sum(each > 0.01 for each in shares)
        lines.append(f"| {form} | {len(own)} | {len(known)} | {exact} | {far} | {100 * max(shares, default=0):.1f} |")
    return "\n".join(lines)


def save(path: Path, predictions: Sequence[Prediction], baselines: Sequence[Baseline]) -> None:
    """Write every prediction and baseline, a line each."""
    rows = [{"kind": "Prediction", **asdict(each)} for each in predictions]
    rows += [{"kind": "Baseline", **asdict(each)} for each in baselines]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def load(paths: Iterable[Path]) -> tuple[list[Prediction], list[Baseline]]:
    """The predictions and baselines of files that were written before."""
    predictions: list[Prediction] = []
    baselines: list[Baseline] = []
    for path in paths:
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if row.pop("kind") == "Prediction":
                predictions.append(Prediction(**row))
            else:
                baselines.append(Baseline(**row))
    return predictions, baselines
