"""The requests of a probe on a screen."""

from __future__ import annotations

import io

import pytest

from agentsim.core.session import Usage
from agentsim.report.clean import display_width
from agentsim.report.paper import Paper
from agentsim.report.screen.probe_page import write_steps
from agentsim.trust.probe.four_request_probe import NAMES
from agentsim.trust.probe.probe_bench import PredictedUsage, ProbeStep
from agentsim.trust.probe.probe_questions import ProbeAnswer

USAGE = Usage(fresh=11, read=0, write_short=2_704, write_long=0, output=96)


@pytest.mark.parametrize("width", [80, 100, 140])
def test_requests_are_called_as_the_documentation_calls_them(width: int) -> None:
    answered = ProbeAnswer(id="x", start=0, first_token=1, end=2, usage=USAGE)
    steps = [
        ProbeStep(
            experiment="four requests",
            number=number,
            name=name,
            answered=answered,
            predicted=PredictedUsage(read=0, write=2_704),
            holds=number != 4,
        )
        for number, name in enumerate(NAMES, 1)
    ]
    stream = io.StringIO()
    write_steps(Paper(stream, width=width), steps, None)
    lines = stream.getvalue().splitlines()
    assert [line.startswith(name + " ") for line, name in zip(lines[2:], NAMES, strict=True)] == [True] * 4
    assert lines[-1].endswith("not as expected")
    assert max(map(display_width, lines)) <= width
