"""Serving traces: prompts of block identities, and the reads that a cache without end could give."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.cache.engine_cache import EngineCache
from agentsim.cache.simulate import scan
from agentsim.rules.providers import rules_for
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import mooncake
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

ROWS = jsonl(
    {"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [0, 1]},
    {"timestamp": 250, "input_length": 1100, "output_length": 7, "hash_ids": [0, 2, 3]},
    {"timestamp": 3000.5, "input_length": 1300, "output_length": 1, "hash_ids": [0, 2, 4]},
    {"timestamp": 3001, "input_length": 9, "output_length": 1, "hash_ids": [0, 2, 4]},
)
BAILIAN = jsonl(
    {"chat_id": 7, "parent_chat_id": -1, "timestamp": 1.5, "input_length": 20, "output_length": 3, "hash_ids": [1, 2]},
    {"chat_id": 8, "parent_chat_id": 7, "timestamp": 9, "input_length": 40, "output_length": 3, "hash_ids": [1, 3, 4]},
)


def name_of(path):
    found = detect(str(path))
    return None if found is None else found.name


def only(path):
    (session,) = sound(list(mooncake.read_sessions([str(path)])))
    return session


def test_rows(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(ROWS)
    assert name_of(path) == "mooncake"
    session = only(path)
    assert [request.start for request in session.requests] == [0, 250_000_000, 3_000_500_000]
    assert [[block.tokens for block in request.prompt] for request in session.requests] == [
        [512, 488],
        [512, 512, 76],
        [512, 512, 276],
    ]
    assert session.requests[1].prompt.common_length(session.requests[2].prompt) == 2
    assert session.accounting.skipped == (("bad counter", 1),)
    assert {request.provider for request in session.requests} == {"engine"}


def test_bailian_has_small_blocks_and_seconds(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(BAILIAN)
    one, two = only(path).requests
    assert [block.tokens for block in one.prompt] == [16, 4]
    assert (one.start, two.parent) == (1_500_000_000, "7")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, damage):
    check_damaged(mooncake, tmp_path / "x.jsonl", damaged(ROWS + BAILIAN, damage))


@pytest.mark.parametrize(
    ("name", "rows", "rate"),
    [("conversation_trace-first1500", 1500, 0.270), ("synthetic_trace-first1000", 1000, 0.173)],
)
def test_the_ceiling_of_real_traces(shared_data, name, rows, rate):
    path = shared_data / "mooncake" / f"mooncake__{name}.jsonl"
    session = only(path)
    with open(path) as file:
        given = [json.loads(line) for line in file]
    # The same count without prompts: the longest run of leading ids that were seen before, at this place or another.
    seen: set[int] = set()
    expected = []
    for row in given:
        ids = row["hash_ids"]
        run = next((at for at, id in enumerate(ids) if id not in seen), len(ids))
        expected.append(min(run * 512, row["input_length"]))
        seen.update(ids)
    ledger = scan(session, EngineCache(rules_for("sglang", "", None), computes_last=False), price=False)
    read = [row.usage.read or 0 for row in ledger.rows]
    total = sum(row["input_length"] for row in given)
    assert len(session.requests) == rows
    assert round(sum(read) / total, 3) == rate
    # A partial last block is the same only where it is as long: ids alone cannot tell.
    assert sum(one != other for one, other in zip(read, expected, strict=True)) <= rows // 100


@pytest.mark.parametrize(
    ("room", "tokens"),
    [(176, 408_576), (352, 412_672), (704, 412_672), (1409, 450_987), (2818, 620_886), (None, 3_781_957)],
)
def test_limited_room_reads_what_another_simulator_reads(shared_data, room, tokens):
    """Tokens read in the last 750 of 1,500 requests, by ``kvcache-simulator`` 0.1.3 (PyPI), of which ``room`` is the
    number of blocks: ``kvcache-simulator run --trace mooncake__conversation_trace-first1500.jsonl --block-size 512
    --model glm-5.2 --policies lru --budgets-gib 8,16,32,64,128 --backend python --format json`` (the last is its
    ceiling). There a partial last block takes as much room as a whole one; here it takes its tokens, so that a few
    blocks more find room in the largest cache.
    """
    session = only(shared_data / "mooncake" / "mooncake__conversation_trace-first1500.jsonl")
    cache = EngineCache(rules_for("sglang", "", None), room and room * 512, computes_last=False)
    rows = scan(session, cache, price=False).rows[750:]
    read = sum(row.usage.read or 0 for row in rows)
    assert sum(row.usage.total_input or 0 for row in rows) == 10_664_700
    assert read - tokens == (16 * 512 if room == 2818 else 0)
