"""Adapters of peers, on programs that print what the real ones print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.verdicts.cell_registry import CELLS
from benchmarks.verdicts.evidence_files import write_lines
from benchmarks.verdicts.harness_logs import claude_code, stamp
from benchmarks.verdicts.peers.body_peers import BODY_PEERS
from benchmarks.verdicts.peers.claude_code_peers import CLAUDE_CODE_PEERS
from benchmarks.verdicts.peers.peer_comparison import OURS, ahead_of_us
from benchmarks.verdicts.peers.peer_program import Asked, Verdicts, claims
from benchmarks.verdicts.session_living import Order, live
from benchmarks.verdicts.session_truth import Truth
from benchmarks.verdicts.verdict_scores import Board, Said

PEERS = {peer.name: peer for peer in (*CLAUDE_CODE_PEERS, *BODY_PEERS)}


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    life = live(Order(CELLS["tool-inserted"], "claude", 0, 3), shipped_only=True)
    return Asked(write_lines(tmp_path / "log.jsonl", claude_code(life)), life.logged())


def explained(name: str, printed: str, asked: Asked, tmp_path: Path) -> Verdicts:
    """What a peer says of a log when its program prints this."""
    (tmp_path / "printed").write_text(printed)
    program = tmp_path / name
    program.write_text(f"#!/bin/sh\ncat '{tmp_path}/printed'\n")
    program.chmod(0o755)
    found = PEERS[name].found_in(tmp_path)
    assert found is not None
    return PEERS[name].explain(found, asked)


def test_a_program_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    assert all(peer.found_in(tmp_path) is None for peer in PEERS.values())


def test_turns_are_counted_from_nought(asked: Asked, tmp_path: Path) -> None:
    printed = (
        "Session s  client 2.1.240\n\n  turn 2 at 10:37:06 (+24s): read 0 of 4.4k expected, 4.4k re-billed\n"
        "    cause: system prompt or tool definitions changed\n    evidence: nothing was read\n"
        "  turn 3 at 10:38:06 (+60s): read 1 of 5k expected, 5k re-billed\n    cause: something new\n"
    )
    found = explained("replay-doctor", printed, asked, tmp_path)
    assert set(found) == {asked.calls[2].id, asked.calls[3].id}
    first = found[asked.calls[2].id]
    assert (first.cause, "AS112" in first.also, first.lost) == ("AS101", True, 4_400)
    assert not found[asked.calls[3].id].asserted


def test_a_cold_start_is_no_loss(asked: Asked, tmp_path: Path) -> None:
    misses = [
        {"step_index": 0, "cause": "cold_start", "rebuilt": 9},
        {"step_index": 1, "cause": "ttl_expiry", "rebuilt": 7},
    ]
    found = explained("kvleak", json.dumps({"top_misses": misses}), asked, tmp_path)
    assert {id: said.cause for id, said in found.items()} == {asked.calls[1].id: "AS201"}


def test_of_the_calls_of_a_minute_the_one_that_wrote_most_is_meant(asked: Asked, tmp_path: Path) -> None:
    minute = stamp(asked.calls[0].end)[5:16].replace("T", " ")
    printed = f"  when  project  session\n  {minute}  project  s  main   expired   9m  tool:x   6K    $0.03\n"
    found = explained("claude-cache-audit", printed, asked, tmp_path)
    assert [said.cause for said in found.values()] == ["AS201"]
    assert found.keys() <= {call.id for call in asked.calls}


def test_findings_are_told_in_their_order_and_advice_is_left_out(asked: Asked, tmp_path: Path) -> None:
    findings = [
        {"code": "CL012", "path": "system[0]"},
        {"code": "CL003", "path": None, "data": {"key": "tool_choice"}},
        {"code": "CL006", "path": None},
    ]
    id = asked.calls[1].id
    report = {"sessions": [{"requests": [{"id": id, "findings": findings, "diff": None}]}]}
    found = explained("promptcachelint", json.dumps(report), asked, tmp_path)
    assert (found[id].cause, found[id].alternatives[0]) == ("AS401", "AS201")


@pytest.mark.parametrize("name", ["replay-doctor", "kvleak", "cachemiss", "claude-cache-audit", "promptcachelint"])
def test_a_program_that_fails_says_nothing(name: str, asked: Asked, tmp_path: Path) -> None:
    assert explained(name, "Traceback: no", asked, tmp_path) == {}


def test_who_is_ahead_in_a_cell() -> None:
    board = Board()
    truth = Truth("loss", "c", ("AS101",), (), 10)
    board.of("c", OURS, "pairs").add(truth, Said("miss", "AS902", False), "pairs")
    board.of("c", "peer", "pairs").add(truth, claims(("AS101",)), "pairs")
    assert ahead_of_us(board) == [("c", "peer", "pairs")]
    board.of("c", OURS, "pairs").add(truth, Said("miss", "AS101", True), "pairs")
    board.of("c", OURS, "pairs").grades["open"] = 0
    assert ahead_of_us(board) == []
