"""Each experiment, in brief and on the seeded model: it declares what it finds, and finds what was published."""

from __future__ import annotations

import dataclasses
import re

import pytest
import torch

from agentsim.engine.lab.experiment import (
    Experiment,
    FigureAgreement,
    Findings,
    Holds,
    LabSettings,
    LinePlot,
    MeasuredFigure,
    PublishedFigure,
    ResultTable,
    agreement,
)
from agentsim.engine.lab.experiment_registry import EXPERIMENTS, load

BRIEF = LabSettings(brief=True, weights="tiny")


@pytest.fixture(scope="module", params=list(EXPERIMENTS))
def done(request: pytest.FixtureRequest) -> tuple[Experiment, Findings]:
    torch.set_num_threads(1)
    experiment = load(request.param)
    return experiment, experiment.run(BRIEF)


def test_it_is_registered_under_its_own_name_and_title(done: tuple[Experiment, Findings]) -> None:
    experiment, _ = done
    assert EXPERIMENTS[experiment.name] == experiment.title


def test_every_published_figure_is_found_and_none_differs(done: tuple[Experiment, Findings]) -> None:
    experiment, found = done
    values = {figure.name: figure.value for figure in found.figures}
    assert len(values) == len(found.figures), "two figures share a name"
    assert set(experiment.published) <= set(values)
    wrong = {
        name: (values[name], published.value)
        for name, published in experiment.published.items()
        if agreement(values[name], published) is FigureAgreement.DIFFERS
    }
    assert not wrong


def test_it_says_what_it_establishes_and_what_it_does_not(done: tuple[Experiment, Findings]) -> None:
    experiment, _ = done
    assert "establish" in experiment.meaning
    assert re.search(r"\b(?:not|no|nor|nothing)\b", experiment.meaning)
    assert "\n" not in experiment.meaning
    assert "  " not in experiment.meaning, "two spaces where strings were joined"


def test_its_values_can_be_printed_and_plotted(done: tuple[Experiment, Findings]) -> None:
    _, found = done
    assert found.figures
    for table in found.tables:
        assert table.rows
    for plot in found.plots:
        if isinstance(plot, LinePlot):
            assert all(series.points for series in plot.series), plot.title
        else:
            assert plot.bars


@pytest.mark.parametrize("name", ["acceptance", "restore", "experts", "indexer", "rollback", "contexts"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_figure_hangs_on_the_seed(name: str, seed: int) -> None:
    experiment = load(name)
    found = experiment.run(dataclasses.replace(BRIEF, seed=seed))
    for figure in found.figures:
        published = experiment.published.get(figure.name)
        assert agreement(figure.value, published) is not FigureAgreement.DIFFERS, figure


def test_the_same_seed_gives_the_same_figures() -> None:
    for name in ("acceptance", "restore", "experts", "indexer", "common-prefix"):
        assert load(name).run(BRIEF) == load(name).run(BRIEF)


def test_results_cannot_be_changed() -> None:
    figure = MeasuredFigure("a", 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        figure.value = 2  # type: ignore[misc]
    assert isinstance(load("latent").run(BRIEF).figures, tuple)


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells under 2 columns"):
        ResultTable("t", ("a", "b"), (("x",),))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(KeyError):
        load("nothing")


@pytest.mark.parametrize(
    ("measured", "published", "verdict"),
    [
        (32, PublishedFigure(32), FigureAgreement.SAME),
        (31, PublishedFigure(32), FigureAgreement.DIFFERS),
        (0.7236, PublishedFigure(0.724, Holds.CLOSELY, 0.0005), FigureAgreement.SAME),
        (0.7234, PublishedFigure(0.724, Holds.CLOSELY, 0.0005), FigureAgreement.DIFFERS),
        (9e-16, PublishedFigure(1e-15, Holds.AT_MOST), FigureAgreement.SAME),
        (2e-15, PublishedFigure(1e-15, Holds.AT_MOST), FigureAgreement.DIFFERS),
        (None, PublishedFigure(1.0, Holds.CLOSELY, 1.0), FigureAgreement.DIFFERS),
        (float("nan"), PublishedFigure(1.0, Holds.AT_MOST), FigureAgreement.DIFFERS),
        (5, PublishedFigure(95, Holds.MACHINE), FigureAgreement.MACHINE),
        (5, None, FigureAgreement.UNPUBLISHED),
    ],
)
def test_comparisons(measured: float | None, published: PublishedFigure | None, verdict: FigureAgreement) -> None:
    assert agreement(measured, published) is verdict
