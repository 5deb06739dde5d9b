"""A confusion matrix on a screen."""

import io
import re

import msgspec
import pytest

from agentsim.report.clean import display_width
from agentsim.report.paper import Paper
from agentsim.report.screen.agreement_page import write_agreement
from agentsim.trust.agreement import AgreedRow, ForeseenReads, LabelAgreement

EMPTY = LabelAgreement(labelled=0, matrix=(), rows=(), exact=0, compatible=0, contradicted=0)


def agreement() -> LabelAgreement:
    wrong = AgreedRow(
        session="s\x1b[2J",
        request="r9",
        reason="messages_changed",
        kind="miss",
        cause="AS201",
        grade="contradicted",
        lost=5,
    )
    return LabelAgreement(
        labelled=20,
        matrix=(
            ("messages_changed", "AS201", "contradicted", 1),
            ("previous_message_not_found", "AS202", "exact", 12),
            ("tools_changed", "AS105", "exact", 3),
            ("tools_changed", "AS190", "compatible", 4),
        ),
        rows=(wrong,),
        exact=15,
        compatible=4,
        contradicted=1,
    )


def page(item: LabelAgreement, width: int = 100) -> str:
    stream = io.StringIO()
    write_agreement(Paper(stream, width=width), item)
    return stream.getvalue()


def test_the_matrix() -> None:
    lines = page(agreement()).splitlines()
    assert [line.split() for line in lines[2:7]] == [
        ["provider", "\\", "blind", "AS105", "AS190", "AS201", "AS202"],
        [lines[3].strip()],
        ["messages_changed", "·", "·", "1", "x", "·"],
        ["previous_message_not_found", "·", "·", "·", "12", "="],
        ["tools_changed", "3", "=", "4", "~", "·", "·"],
    ]


def test_sums_add_up_to_all_rows() -> None:
    # 15, 4 and 1 of 20.
    text = page(agreement())
    assert re.search(r"= the same +15 +75.00 %", text)
    assert re.search(r"~ compatible +4 +20.00 %", text)
    assert re.search(r"x contradicted +1 +5.00 %", text)


def test_contradicted_rows_are_named_and_harmless() -> None:
    text = page(agreement())
    assert "r9" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_narrow_screen_lists_pairs(width: int) -> None:
    text = page(agreement(), width)
    assert max(display_width(line) for line in text.splitlines()) <= width
    assert "AS202" in text


def test_nothing_to_compare() -> None:
    assert page(EMPTY) == "No request in here carries a reason that the provider recorded.\n"


def test_reads_that_were_foreseen_fit_into_eighty_columns() -> None:
    seen = ForeseenReads(requests=1711, logged=1588, unlogged=40, losses=33, others=50)
    lines = page(msgspec.structs.replace(agreement(), foreseen=seen), 80).splitlines()
    assert max(map(display_width, lines)) <= 80
    assert any("1,588   92.81 %" in line for line in lines)
