"""Hit rates of serving traces: the public ones, and what two other programs say of the same requests."""

from __future__ import annotations

import os
from collections import OrderedDict

import pytest

from agentsim.capacity import load, serve
from agentsim.core.session import Problem
from agentsim.rules.providers import rules_for
from agentsim.traces.hostile_records import TraceError
from tests.traces.captures import body, jsonl, pair, response, usage, user

SGLANG, VLLM = (rules_for(name, "", None) for name in ("sglang", "vllm"))
SAMPLE = "mooncake/mooncake__conversation_trace-first1500.jsonl"


def only(*paths, block=None):
    traces, _ = load([str(path) for path in paths], [], block=block)
    (trace,) = traces
    return trace


def row(at, tokens, ids, **fields):
    return {"timestamp": at, "input_length": tokens, "output_length": 1, "hash_ids": ids, **fields}


def test_by_hand(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        jsonl(row(0, 1500, [1, 2, 3]), row(9, 1500, [1, 2, 3]), row(5, 1100, [1, 2, 4]), row(20, 512, [7]))
    )
    served = serve(only(path), SGLANG, (512, 1100, 5000), keep_rows=True)
    # In the order of their times: [1, 2, 4] comes second and finds two blocks, [1, 2, 3] third: all but the last token.
    assert served.lines == (1, 3, 2, 4)
    assert served.reads == ((0, 0, 0, 0), (512, 1024, 1024, 1024), (512, 1024, 1499, 1499), (0, 0, 0, 0))
    assert (served.shared, served.tokens, served.room) == (1024 + 1500, 4612, 1500 + 76 + 512)
    assert [point.hits for point in served.points] == [2, 2, 2]
    # vLLM keeps pages of 16 tokens: 1,499 tokens are 93 of them.
    assert serve(only(path), VLLM, ()).ceiling.read == 1024 + 93 * 16
    assert serve(only(path), SGLANG, (), page=64).ceiling.read == 1024 + 1472


def test_what_warms_up_is_not_measured(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(jsonl(*(row(n, 512 * 3, [1, 2, 10 + n]) for n in range(4))))
    served = serve(only(path), SGLANG, (), warmup=0.5)
    assert (served.requests, served.measured, served.tokens, served.ceiling.read) == (4, 2, 3072, 2048)


def test_blocks_of_another_size(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(jsonl(row(0, 60, [1, 2]), row(1, 60, [1, 3])))
    with pytest.raises(TraceError, match="as long as its blocks"):
        load([str(path)], [])
    assert serve(only(path, block=32), SGLANG, ()).ceiling.read == 32


def test_captured_bodies_are_served_too(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        jsonl(*(pair(body(user("x" * 4000)), response(f"m{n}", usage(fresh=900)), at=n) for n in range(2)))
    )
    served = serve(only(path), SGLANG, ())
    assert (served.format, served.tokens, served.ceiling.read) == ("claude-trace", 1800, 899)


def test_sizes_alone_are_counted_as_left_out(tmp_path, shared_data):
    problems: list[Problem] = []
    traces, without = load([str(shared_data / "pi" / "pi-mono__large-session.jsonl")], problems)
    assert not traces
    assert without > 400


@pytest.mark.parametrize(
    ("name", "requests", "blocks", "shared"),
    [
        # 27.0 % and 17.3 %: the leading run of ids that were seen before.
        (SAMPLE, 1500, 41_702, 5_663_986),
        ("mooncake/mooncake__synthetic_trace-first1000.jsonl", 1000, 23_787, 2_046_169),
        # 96.3 % and 91.3 %.
        ("weka-kv-trace/kv-cache-tester__trace_0004.json", 215, 319_556, 19_685_632),
        ("weka-kv-trace/kv-cache-tester__trace_0007.json", 12, 25_089, 1_465_728),
    ],
)
def test_what_real_traces_share(shared_data, name, requests, blocks, shared):
    served = serve(only(shared_data / name), VLLM, ())
    assert (served.requests, served.blocks, served.shared) == (requests, blocks, shared)


KVCACHE_SIMULATOR = {176: 408_576, 352: 412_672, 704: 412_672, 1409: 450_987, 2818: 620_886}
"""Tokens read in the last 750 requests by room in blocks. kvcache-simulator 0.1.3 (PyPI): ``kvcache-simulator run
--trace mooncake__conversation_trace-first1500.jsonl --block-size 512 --model glm-5.2 --policies lru --budgets-gib
8,16,32,64,128 --backend python --format json``; it gives a ceiling of 3,781,957 of 10,664,700."""


def test_beside_kvcache_simulator(shared_data):
    """The same but for two things. It reads whole prompts, where an engine computes the last token: one token for each
    request that is a front of another. A partial last block takes a whole block's room there, and its tokens here: in
    the largest cache sixteen blocks of 512 tokens more are still there."""
    served = serve(only(shared_data / SAMPLE), SGLANG, [room * 512 for room in KVCACHE_SIMULATOR], warmup=0.5)
    assert (served.tokens, served.shared) == (10_664_700, 3_781_957)
    assert served.shared - served.ceiling.read == 4
    got = {point.capacity // 512: point.read for point in served.points if point.capacity is not None}
    differences = {room: got[room] - theirs for room, theirs in KVCACHE_SIMULATOR.items()}
    assert differences == {176: 0, 352: 0, 704: 0, 1409: -1, 2818: 16 * 512 - 2}


LLMTRAFFICLENS = {16: 561_152, 64: 763_904, 256: 796_160, 1024: 980_992, 4096: 3_773_440, 16_384: 5_666_816}
"""Tokens read by capacity in 1,024 tokens. llmtrafficlens 0.13.4 (PyPI): ``llmtrafficlens profile TRACE --format
mooncake --warmup 0`` prints 2.7, 3.6, 3.8, 4.7, 18.0 and 27.0 %, and 27.0 % unbounded (5,666,816 as well)."""


def their_rows(trace, capacity):
    """Its accounting: any block that is there counts whole, also behind one that is missing and where it is partial;
    blocks are used from the first to the last, so that the beginning of a prompt goes first."""
    cache: OrderedDict[int, None] = OrderedDict()
    found = []
    for keys, _, _, _ in trace.rows():
        read = 0
        for key in (~key // 512 if key < 0 else key for key in keys):
            if key in cache:
                cache.move_to_end(key)
                read += 512
            else:
                cache[key] = None
                if capacity is not None and len(cache) > capacity // 512:
                    cache.popitem(last=False)
        found.append(read)
    return found


def test_beside_llmtrafficlens_row_by_row(shared_data):
    trace = only(shared_data / SAMPLE)
    sizes = [kilo * 1024 for kilo in LLMTRAFFICLENS]
    served = serve(trace, SGLANG, sizes, keep_rows=True)
    differing = []
    for at, size in enumerate([*sizes, None]):
        theirs = their_rows(trace, size)
        assert sum(theirs) == LLMTRAFFICLENS[(size or sizes[-1]) // 1024]
        rows = [(one[at], other) for one, other in zip(served.reads, theirs, strict=True)]
        differing.append((sum(one > other for one, other in rows), sum(one < other for one, other in rows)))
    # Small caches lose the beginnings of prompts there. In large ones only the last blocks of whole prompts differ.
    assert differing == [(403, 0), (55, 0), (0, 0), (1, 3), (1, 12), (0, 14), (0, 14)]
    for read, other, tokens in zip((row[-1] for row in served.reads), theirs, served.inputs, strict=True):
        assert read == other or (read == tokens - 1 and other == -(-tokens // 512) * 512)


@pytest.mark.skipif("MOONCAKE_TRACE" not in os.environ, reason="MOONCAKE_TRACE names no conversation_trace.jsonl")
def test_the_public_trace():
    """12,031 requests, and a ceiling of 39.8 % for the second half of them, as kvcache-simulator 0.1.3 has it:
    27,038,068 of 67,915,607 tokens. llmtrafficlens 0.13.4 says 37.4 % of the whole."""
    trace = only(os.environ["MOONCAKE_TRACE"])
    served = serve(trace, SGLANG, (), warmup=0.5)
    assert (served.requests, served.tokens, served.shared) == (12_031, 67_915_607, 27_038_068)
    whole = serve(trace, SGLANG, ())
    assert round(whole.shared / whole.tokens, 3) == 0.374
