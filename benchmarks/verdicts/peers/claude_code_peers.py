"""Peers that read Claude Code's session logs."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.verdicts.peers.peer_program import (
    EXPIRED,
    MESSAGES,
    PREFIX,
    SYSTEM,
    TOOLS,
    Asked,
    PeerProgram,
    Verdicts,
    claims,
    leaves_open,
    output_of,
)

_REPLAY_CAUSES: dict[str, tuple[str, ...]] = {
    "system prompt or tool definitions changed": (*TOOLS, *SYSTEM),
    "prefix diverged inside the message history": MESSAGES,
    "client re-rendered history after the system prefix": MESSAGES,
    "cache expired": EXPIRED,
    "model changed": ("AS404",),
    "effort or thinking setting changed": ("AS403", "AS402"),
    "tool_choice": ("AS401",),
    "compact": ("AS140",),
    "block": ("AS301",),
}
_TURN = re.compile(r"^\s+turn (\d+) at [^:]+:\d\d:\d\d[^:]*: read (\S+) of (\S+) expected, (\S+) re-billed")


def _replay_doctor(program: Path, asked: Asked) -> Verdicts:
    found: Verdicts = {}
    at: int | None = None
    lost = 0
    for line in output_of(program, "diff", asked.path).splitlines():
        turn = _TURN.match(line)
        if turn is not None:
            at, lost = int(turn[1]), _tokens(turn[4])
        elif at is not None and line.strip().startswith("cause:") and at < len(asked.calls):
            words = line.split("cause:", 1)[1].strip()
            codes = next((codes for start, codes in _REPLAY_CAUSES.items() if start in words), None)
            found[asked.calls[at].id] = claims(codes, lost) if codes is not None else leaves_open()
            at = None
    return found


def _tokens(text: str) -> int:
    number = float(text.rstrip("kM"))
    return int(number * (1_000 if text.endswith("k") else 1_000_000 if text.endswith("M") else 1))


def _projects(asked: Asked, home: Path) -> Path:
    """A folder of projects that holds this log alone."""
    folder = home / "projects" / "-home-user-project"
    folder.mkdir(parents=True)
    shutil.copyfile(asked.path, folder / asked.path.name)
    return folder.parent


_CACHEMISS: dict[str, tuple[str, ...]] = {
    "prefix_changed": PREFIX,
    "ttl_expired": EXPIRED,
    "model_changed": ("AS404",),
    "cli_version_changed": ("AS408",),
    "compaction": ("AS140",),
    "effort_changed": ("AS403",),
}


def _cachemiss(program: Path, asked: Asked) -> Verdicts:
    with tempfile.TemporaryDirectory() as scratch:
        root = _projects(asked, Path(scratch))
        text = output_of(program, "--root", root, "ledger", "--since", "all", "--json", "--limit", "200")
    found: Verdicts = {}
    for row in _json(text).get("rebuilds", ()):
        id = str(row["request_id"]).removeprefix("req_")
        codes = _CACHEMISS.get(row["reason"])
        found[id] = claims(codes, row["rebuilt_tokens"]) if codes is not None else leaves_open()
    return found


_KVLEAK: dict[str, tuple[str, ...]] = {
    "ttl_expiry": EXPIRED,
    "prefix_bust": PREFIX,
    "model_switch": ("AS404",),
    "tools_changed": TOOLS,
    "system_changed": SYSTEM,
    "compaction": ("AS140",),
}


def _kvleak(program: Path, asked: Asked) -> Verdicts:
    flags = ("--min-miss", "500", "--json", "--top-misses", "200")
    with tempfile.TemporaryDirectory() as scratch:
        text = output_of(program, "audit", "--path", asked.path, *flags, home=Path(scratch))
    found: Verdicts = {}
    for row in _json(text).get("top_misses", ()):
        if row["step_index"] >= len(asked.calls) or row["cause"] == "cold_start":
            continue
        codes = _KVLEAK.get(row["cause"])
        said = claims(codes, row["rebuilt"]) if codes is not None else leaves_open()
        found[asked.calls[row["step_index"]].id] = said
    return found


_AUDIT: dict[str, tuple[str, ...]] = {
    "expired": EXPIRED,
    "prefix-change": PREFIX,
    "model-switch": ("AS404",),
    "compaction": ("AS140",),
}
_AUDIT_ROW = re.compile(r"^\s+(\d\d-\d\d \d\d:\d\d)\s+\S+\s+\S+\s+\S+\s+(\S+)")


def _claude_cache_audit(program: Path, asked: Asked) -> Verdicts:
    """Its rows tell the minute: of the calls of that minute the one that wrote most is meant."""
    from benchmarks.verdicts.harness_logs import stamp

    with tempfile.TemporaryDirectory() as scratch:
        _projects(asked, Path(scratch))
        flags = ("--config-dir", scratch, "--all", "rebuilds", "--top", "200")
        text = output_of(program, *flags, home=Path(scratch))
    found: Verdicts = {}
    for line in text.splitlines():
        row = _AUDIT_ROW.match(line)
        if row is None:
            continue
        minute = row[1].replace(" ", "T")
        near = [call for call in asked.calls if stamp(call.end)[5:16] == minute or stamp(call.start)[5:16] == minute]
        if near:
            call = max(near, key=lambda call: call.billed.write_short + call.billed.write_long)
            codes = _AUDIT.get(row[2].split("/")[0])
            found[call.id] = claims(codes) if codes is not None else leaves_open()
    return found


_GLASS = """
import json, sys
from pathlib import Path
from claudeglass import discovery, parse, recache
for path in sorted(Path(sys.argv[1]).rglob("*.jsonl")):
    result = parse.parse_transcript(path, discovery.load_meta(path))
    for turn in recache.detect(result.turns, recache.RecacheThresholds()):
        print(json.dumps([turn.turn_index, turn.recache_signature, turn.cache_creation_tokens]))
"""
_GLASS_CAUSES: dict[str, tuple[str, ...]] = {
    "full-expiry": EXPIRED,
    "prefix-invalidated": PREFIX,
    "post-compaction": ("AS140",),
}


def _claudeglass(program: Path, asked: Asked) -> Verdicts:
    with tempfile.TemporaryDirectory() as scratch:
        root = _projects(asked, Path(scratch))
        text = output_of(program.parent / "python", "-c", _GLASS, root, home=Path(scratch))
    found: Verdicts = {}
    for line in text.splitlines():
        turn, signature, _ = json.loads(line)
        codes = _GLASS_CAUSES.get(signature)
        if 0 < turn <= len(asked.calls):
            found[asked.calls[turn - 1].id] = claims(codes) if codes is not None else leaves_open()
    return found


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


CLAUDE_CODE_PEERS = (
    PeerProgram("replay-doctor", "claude-code", _replay_doctor),
    PeerProgram("kvleak", "claude-code", _kvleak),
    PeerProgram("cachemiss", "claude-code", _cachemiss),
    PeerProgram("claudeglass", "claude-code", _claudeglass),
    PeerProgram("claude-cache-audit", "claude-code", _claude_cache_audit),
)
"""Programs that read the logs of Claude Code."""
