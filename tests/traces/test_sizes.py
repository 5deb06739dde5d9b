"""Traces of sizes (Azure, BurstGPT) and of plain text (LMCache): nothing is said about hits, and nothing made up."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import HealthCheck, given, settings

from agentsim.capacity import load, serve
from agentsim.core.session import Usage
from agentsim.rules.providers import rules_for
from agentsim.traces.format_registry import detect
from agentsim.traces.readers import azure_llm, burst_gpt, lmcache
from tests.traces.captures import jsonl
from tests.traces.damage import damaged, damages
from tests.traces.log_checks import check_damaged, sound

AZURE = b"""TIMESTAMP,ContextTokens,GeneratedTokens\r
2023-11-16 18:17:03.9799600,4808,10\r
2023-11-16 18:17:04.0319600,-1,8\r
2023-11-16 18:17:04.0781490,110,27\r
"""
BURST = b"""Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
5,a,1.5,ChatGPT,472,18,490,Conversation log
45.25,b,2,GPT-4,1087,230,1317,API log
118,a,9,GPT-4,417,0,417,Conversation log
120,a,9,"GPT-4",417,3,400,Conversation log
"""
OLDER = b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n"
TEXTS = jsonl(
    {"timestamp": 1760428436442742, "input": "a" * 128, "output": "x", "session_id": "s"},
    {"timestamp": 1760428438442742, "input": "a" * 128 + "b" * 10, "output": "x", "session_id": "s"},
    {"timestamp": 1760428437442742, "input": "a" * 64 + "c" * 64, "output": "x", "session_id": "s"},
)
ALL = [(azure_llm, AZURE), (burst_gpt, BURST), (lmcache, TEXTS)]
IDS = ["azure", "burst", "lmcache"]


def only(reader, path):
    (session,) = sound(list(reader.read_sessions([str(path)])))
    return session


@pytest.mark.parametrize(("reader", "data"), ALL, ids=IDS)
def test_detected(tmp_path, reader, data):
    path = tmp_path / "x"
    path.write_bytes(data)
    found = detect(str(path))
    assert found is not None
    assert found.name == reader.NAME
    assert reader.detect(data, "x")


def test_azure(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(AZURE)
    session = only(azure_llm, path)
    assert [request.usage for request in session.requests] == [
        Usage(fresh=4808, output=10),
        Usage(fresh=110, output=27),
    ]
    assert session.requests[1].start - session.requests[0].start == 98_189_000
    assert session.accounting.skipped == (("bad counter", 1),)
    assert [problem.line for problem in session.problems] == [3]


def test_burst(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(BURST)
    session = only(burst_gpt, path)
    assert [(request.lane, request.model, request.usage) for request in session.requests] == [
        ("a", "ChatGPT", Usage(fresh=472, output=18)),
        ("b", "GPT-4", Usage(fresh=1087, output=230)),
    ]
    assert [(request.start, request.end) for request in session.requests] == [
        (5_000_000_000, 6_500_000_000),
        (45_250_000_000, 47_250_000_000),
    ]
    # No answer is a failure; a total that is no sum is damage.
    assert (session.accounting.not_billable, session.accounting.skipped) == (1, (("bad counter", 1),))
    path.write_bytes(OLDER)
    (request,) = only(burst_gpt, path).requests
    assert (request.lane, request.end, request.usage) == ("main", None, Usage(fresh=472, output=18))


def test_texts(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(TEXTS)
    session = only(lmcache, path)
    assert [request.id for request in session.requests] == ["#1", "#3", "#2"]
    one, three, two = (request.prompt for request in session.requests)
    assert [block.tokens for block in two] == [16, 16, 3]
    assert (two.common_length(one), three.common_length(one)) == (2, 1)
    assert {block.origin for block in two} == {"estimated"}
    assert {request.usage for request in session.requests} == {Usage()}


def test_the_real_azure_trace(shared_data):
    path = shared_data / "azure-llm" / "azure__AzureLLMInferenceTrace_code-first4000.csv"
    session = only(azure_llm, path)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(session.requests) == len(rows) == 4000
    assert sum(request.usage.fresh for request in session.requests) == sum(int(row["ContextTokens"]) for row in rows)
    assert sum(request.usage.output for request in session.requests) == sum(int(row["GeneratedTokens"]) for row in rows)
    assert all(request.usage.read is None for request in session.requests)


@pytest.mark.parametrize(
    ("name", "calls", "characters", "shared", "before"),
    [
        ("miniswe-063925220f0d2954505eb37612b11ab3", 30, 528_872, 0.938, 0.911),
        ("taubench-9028da139d6eb51d381b591ee2b75138", 31, 6_929, 0.963, 0.930),
    ],
)
def test_real_texts(shared_data, name, calls, characters, shared, before):
    """91.1 % and 93.0 % are the parts that the prompt before had already, in the order of the file and by characters. A
    cache knows all prompts before, in the order of their times: 93.8 % and 96.3 % by characters, a little less by
    pieces of 64 of them."""
    path = shared_data / "lmcache-agent-trace" / f"lmcache__{name}.jsonl"
    session = only(lmcache, path)
    assert len(session.requests) == calls
    total = sum(request.prompt.tokens for request in session.requests)
    assert 0 <= total - characters / 4 < calls
    with open(path) as file:
        texts = [json.loads(line)["input"] for line in file]
    last, seen = "", 0
    for text in texts:
        pairs = enumerate(zip(last, text, strict=False))
        seen += next((at for at, (one, other) in pairs if one != other), min(len(last), len(text)))
        last = text
    assert round(seen / characters, 3) == before
    (trace,), _ = load([str(path)], [])
    served = serve(trace, rules_for("sglang", "", None), ())
    assert shared - 0.003 < served.shared / served.tokens <= shared + 0.001


@pytest.mark.parametrize(("reader", "data"), ALL, ids=IDS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=damages)
def test_damage(tmp_path, reader, data, damage):
    check_damaged(reader, tmp_path / "x.csv", damaged(data, damage))
