"""Reports for programs."""

import io
import json
from typing import Any

import msgspec
import pytest

from agentsim.report.json.canonical_json import agreement_document, replay_document, summary_document, write_document
from agentsim.trust.agreement import AgreedRow, LabelAgreement
from tests.agentsim.report.many import many
from tests.agentsim.report.small import diagnosis, row, small


def text(document: Any) -> str:
    stream = io.StringIO()
    write_document(stream, document)
    return stream.getvalue()


def test_a_replay_says_everything_exactly() -> None:
    document = json.loads(text(replay_document(small())))
    third = document["rows"][2]
    assert third["start"] == "2026-01-05T10:01:05.000000000Z"
    assert third["usage"]["written"] == 11_850
    # 11,850 written at 6,250,000 picodollars.
    assert third["cost"] == "0.0740625"
    assert third["verdict"]["cause"] == "AS101"
    assert third["verdict"]["lost_cost"] == "0.0575"
    assert document["totals"]["input_equivalents"] == "29535"
    assert document["totals"]["hit_rate"] == {"read": 20_350, "total_input": 42_350}


def test_what_was_written_and_never_read_is_told_of_the_row_and_in_sum() -> None:
    document = json.loads(text(replay_document(small())))
    *others, last = document["rows"]
    assert [row["never_read"] for row in others] == [None] * 3
    # 150 tokens at 6,250,000 - 5,000,000 picodollars of surcharge.
    assert (
        last["never_read"].items() >= {"cause": "AS307", "tokens": 150, "surcharge": "0.0001875", "why": "last"}.items()
    )
    assert document["totals"]["never_read"] == {"writes": 1, "tokens": 150, "surcharge": "0.0001875"}


def test_money_is_text_and_no_number_is_a_float() -> None:
    def check(value: Any) -> None:
        assert not isinstance(value, float)
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            check(item)

    for document in (replay_document(small()), summary_document(many())):
        check(json.loads(text(document)))


def test_words_of_the_conversation_are_left_out() -> None:
    titled = diagnosis([row("a", 0, 1, 1, 0)], [small().verdicts[2]], title="my private matter")
    assert "secret" not in text(replay_document(titled))
    assert "private" not in text(replay_document(titled))
    assert "secret" in text(replay_document(titled, content=True))
    assert "private" in text(replay_document(titled, content=True))


def test_rows_can_be_chosen() -> None:
    assert [r["number"] for r in replay_document(small(), rows="misses")["rows"]] == [3]
    assert replay_document(small(), lane="other")["rows"] == []


def test_each_record_has_its_line_and_keys_are_sorted() -> None:
    lines = text(replay_document(small())).splitlines()
    assert sum(line.startswith('{"compared') or '"number"' in line for line in lines) == 4
    keys = [line.split('"')[1] for line in lines if line.startswith('"')]
    assert keys == sorted(keys)


@pytest.mark.parametrize("hostile", ["\x1b]52;c;eA==\x07", "\x9b2J", "\x7f", "\u202e", "\udc80", "[/x]\n"])
def test_json_is_exact_and_inert(hostile: str) -> None:
    judged = diagnosis([row(hostile, 0, 1, 1, 0, model=hostile)], [small().verdicts[0]], id=hostile)
    shown = text(replay_document(judged))
    assert shown.isascii()
    assert all(c.isprintable() or c == "\n" for c in shown)
    document = json.loads(shown)
    assert document["session"]["id"] == hostile
    assert document["rows"][0]["model"] == hostile


def test_a_summary_parses() -> None:
    document = json.loads(text(summary_document(many())))
    assert document["cost"] == "1234.5"
    assert document["accounting"]["skipped"] == {"not JSON": 1}
    assert (
        sum(document["accounting"][k] for k in ("used", "duplicate", "not_billable")) + 1
        == document["accounting"]["rows"]
    )


def test_an_agreement_parses() -> None:
    entry = AgreedRow(
        session="s", request="r", reason="tools_changed", kind="miss", cause="AS101", grade="exact", lost=5
    )
    agreement = LabelAgreement(
        labelled=1,
        matrix=(("tools_changed", "AS101", "exact", 1),),
        rows=(entry,),
        exact=1,
        compatible=0,
        contradicted=0,
    )
    document = json.loads(text(agreement_document(agreement)))
    assert document["matrix"] == [{"reason": "tools_changed", "verdict": "AS101", "grade": "exact", "count": 1}]
    assert document["rows"][0]["lost_tokens"] == 5


def test_unknown_figures_are_null() -> None:
    unpriced = msgspec.structs.replace(small().rows[0], cost=None, equivalents=None, start=None)
    judged = diagnosis([unpriced], [small().verdicts[0]])
    first = json.loads(text(replay_document(judged)))["rows"][0]
    assert first["cost"] is None
    assert first["start"] is None
