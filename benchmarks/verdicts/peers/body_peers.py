"""Peers that compare request bodies: promptcachelint, ctxdiff."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.verdicts.evidence_files import usage_of
from benchmarks.verdicts.peers.peer_program import (
    EXPIRED,
    MESSAGES,
    SYSTEM,
    TOOLS,
    Asked,
    PeerProgram,
    Verdicts,
    claims,
    leaves_open,
    output_of,
)
from benchmarks.verdicts.simulated_agent import LivedCall
from benchmarks.verdicts.verdict_scores import Said

_PARAMETERS = {
    "model": ("AS404",),
    "thinking": ("AS402",),
    "tool_choice": ("AS401",),
    "output_config.effort": ("AS403",),
    "reasoning_effort": ("AS403",),
    "reasoning": ("AS403",),
    "prompt_cache_key": ("AS503", "AS407"),
    "speed": ("AS406",),
}
_NOT_TOLD = ("CL011", "CL012", "CL013")
"""Advice on a body; no cause of a loss."""


def _promptcachelint(program: Path, asked: Asked) -> Verdicts:
    with tempfile.TemporaryDirectory() as scratch:
        trace = Path(scratch) / "trace.jsonl"
        trace.write_text("".join(json.dumps(_record(call)) + "\n" for call in asked.calls))
        text = output_of(program, "report", "--json", trace)
    try:
        report = json.loads(text)
    except ValueError:
        return {}
    found: Verdicts = {}
    for session in report["sessions"]:
        for request in session["requests"]:
            findings = [finding for finding in request["findings"] if finding["code"] not in _NOT_TOLD]
            if findings:
                found[request["id"]] = _of_findings(findings, (request["diff"] or {}).get("lost_tokens_estimate"))
    return found


def _record(call: LivedCall) -> dict[str, Any]:
    usage = usage_of(call)
    total, read = call.billed.total, call.billed.read
    written = call.billed.write_short + call.billed.write_long
    return {
        "provider": "anthropic" if call.rules.api == "messages" else "openai",
        "id": call.id,
        "at": call.start,
        "model": call.body["model"],
        "session_id": call.lane,
        "session_explicit": True,
        "body": call.body,
        "usage": {
            "input_tokens": total - read - written,
            "output_tokens": usage.get("output_tokens", call.output),
            "cache_read": read,
            "cache_write": written,
        },
    }


def _of_findings(findings: list[dict[str, Any]], lost: int | None) -> Said:
    """The first finding is what it tells first; the others are named beside it."""
    told = [codes for finding in findings if (codes := _codes(finding))]
    if not told:
        return leaves_open("AS503", "AS901")
    also = tuple(code for codes in told[1:] for code in codes)
    said = claims(told[0], lost)
    return Said(said.kind, said.cause, True, also, said.lost, said.evidence, said.also)


def _codes(finding: dict[str, Any]) -> tuple[str, ...]:
    code, path = finding["code"], finding.get("path") or ""
    if code == "CL001":
        return SYSTEM if path.startswith(("system", "instructions")) else MESSAGES
    if code == "CL003":
        return _PARAMETERS.get((finding.get("data") or {}).get("key", ""), ("AS407",))
    known = {"CL002": TOOLS, "CL004": ("AS302", "AS305"), "CL006": EXPIRED, "CL007": ("AS301",)}
    known |= {"CL010": ("AS305",), "CL014": ("AS306",)}
    return known.get(code, ())


_CTXDIFF = """
import json, sys, tempfile, os
from ctxdiff.analyze.cache import analyze_cache
from ctxdiff.capture.anthropic import AnthropicAdapter as Messages
from ctxdiff.capture.openai import OpenAIAdapter as Chat
from ctxdiff.capture.recorder import Recorder
from ctxdiff.store.ctrace import CTrace
path = os.path.join(tempfile.mkdtemp(), "t.ctrace")
rows = [json.loads(line) for line in open(sys.argv[1])]
adapter = Messages() if rows[0]["provider"] == "anthropic" else Chat()
trace = CTrace.create(path, "p", rows[0]["provider"], rows[0]["model"])
recorder = Recorder(trace, adapter, None)
for at, row in enumerate(rows):
    recorder.record(at, row["body"], None, None, None, [], agent=row["session_id"], provider=row["provider"])
for part in analyze_cache(trace).breaks:
    print(json.dumps([part.seq, part.culprit_kind, part.culprit_label, part.detail]))
"""


def _without_markers(value: Any) -> Any:
    """A body without its markers: they move on each request, and this peer would take that for a change."""
    if isinstance(value, dict):
        return {name: _without_markers(item) for name, item in value.items() if name != "cache_control"}
    return [_without_markers(item) for item in value] if isinstance(value, list) else value


def _ctxdiff(program: Path, asked: Asked) -> Verdicts:
    with tempfile.TemporaryDirectory() as scratch:
        trace = Path(scratch) / "trace.jsonl"
        rows = [_record(call) | {"body": _without_markers(call.body)} for call in asked.calls]
        trace.write_text("".join(json.dumps(row) + "\n" for row in rows))
        text = output_of(program.parent / "python", "-c", _CTXDIFF, trace, home=Path(scratch), seconds=20)
    found: Verdicts = {}
    for line in text.splitlines():
        at, _, label, _ = json.loads(line)
        codes = TOOLS if "tool_schema" in label or label == "tools" else SYSTEM if "system" in label else MESSAGES
        found[asked.calls[at].id] = claims(codes)
    return found


BODY_PEERS = (
    PeerProgram("promptcachelint", "pairs", _promptcachelint),
    PeerProgram("ctxdiff", "pairs", _ctxdiff),
)
"""Programs that compare bodies."""
