"""Every real sample beside its README: requests, input tokens, the part that was read, and falls of the read.

A fall is a read below 80 % of the smaller of the request's own input and of what the request before it in its lane had
cached: what it read and wrote, or its whole input where a cache is automatic. Differences from the README are in
``EMPTY``: rows that consumed nothing, which it counts among its requests and which are not billed here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentsim.capacity import load, serve
from agentsim.rules.providers import rules_for
from agentsim.traces.format_registry import read

AUTOMATIC = frozenset({"codex", "opencode", "gemini-cli", "qwen-code", "cline", "dsh", "weka-kv-trace"})

SAMPLES = [
    # README: requests, input in millions of tokens, read in per cent, falls.
    ("claude-code/oh-my-posh__opus5-1h-parent-030df228.jsonl", 250, 38.27, 98.1, 4),
    ("claude-code/oh-my-posh__opus5-1h-fork-6b6f4218", 610, 180.51, 97.6, 12),
    ("claude-code/oh-my-posh__fable5-1h-then-5m-94fab1a1.jsonl", 275, 75.20, 97.7, 5),
    ("claude-code/oh-my-posh__sonnet5-1h-expiry-d1ffb512.jsonl", 189, 34.78, 96.7, 6),
    ("claude-code/oh-my-posh__fable5-tools-changed-8521e3ab.jsonl", 30, 2.23, 92.0, 2),
    ("claude-code/oh-my-posh__sonnet5-lookback-03ce845f.jsonl", 107, 14.94, 98.4, 2),
    ("claude-code/entire-cli__2.0.76-opus45-to-sonnet45.jsonl", 117, 12.65, 93.0, 7),
    ("claude-code/entire-cli__2.1.5-5m-expiry-302s.jsonl", 143, 15.16, 93.2, 10),
    ("claude-code/entire-cli__2.1.17-microcompact.jsonl", 54, 6.02, 95.6, 1),
    ("claude-code/entire-cli__2.1.17-api-error.jsonl", 20, 0.94, 90.0, 1),
    ("claude-code/entire-cli__2.1.17-sonnet45-many-expiries.jsonl", 74, 5.50, 87.6, 7),
    ("claude-code/packmind__2.1.49-opus46.jsonl", 14, 0.56, 91.6, 1),
    ("claude-code/blackgirlbytes__2.1.181-opus48-clean.jsonl", 51, 5.60, 97.1, 0),
    ("claude-code/agentcgroup__2.0.0-haiku35-numba.jsonl", 46, 2.02, 92.8, 0),
    ("claude-trace/lemmy__claude-code-1.0.6-full-requests.jsonl", 64, 0.33, 84.5, 1),
    ("openhands-llm-log/openhands-sdk__sonnet4-no-cache-control.jsonl", 6, 0.04, 0.0, 0),
    ("pi/pi-mono__large-session.jsonl", 453, 47.53, 91.0, 37),
    ("pi/agentsview__pi-v3-tree-fixture.jsonl", 2, 0.00, 0.0, 0),
    ("codex/agentv__gpt55-173req-compacted.jsonl", 172, 19.62, 92.9, 14),
    ("codex/agentv__gpt54-10req.jsonl", 10, 0.27, 86.5, 1),
    ("codex/codexbar__live-fork-4d90-52bf-parent.jsonl", 178, 24.89, 95.4, 5),
    ("codex/codexbar__live-fork-4d90-52bf-child.jsonl", 194, 26.69, 95.1, 6),
    ("codex/codexbar__archived-fork-33ce-3869-parent.jsonl", 133, 13.36, 90.9, 15),
    ("codex/codexbar__archived-fork-33ce-3869-child.jsonl", 155, 15.25, 88.8, 20),
    ("opencode/nimbus__opencode-1.2.24-parent-122req.json", 122, 9.30, 91.3, 6),
    ("deepseek-harness/dsh__goal-multi-turn-12req.jsonl", 12, 0.11, 91.1, 0),
    ("deepseek-harness/dsh__fs-delete-recreate-5req.jsonl", 5, 0.03, 79.5, 0),
    ("cline/cline__sdk-session.messages.json", 16, 0.63, 84.8, 1),
    ("weka-kv-trace/kv-cache-tester__trace_0004.json", 215, 20.44, 96.3, 6),
    ("weka-kv-trace/kv-cache-tester__trace_0007.json", 12, 1.61, 91.3, 0),
]

EMPTY = {
    "claude-code/oh-my-posh__fable5-1h-then-5m-94fab1a1.jsonl": 2,  # <synthetic>: a limit was reached
    "claude-code/entire-cli__2.1.17-sonnet45-many-expiries.jsonl": 1,  # <synthetic>
    "claude-code/agentcgroup__2.0.0-haiku35-numba.jsonl": 1,  # <synthetic>
    "pi/pi-mono__large-session.jsonl": 14,  # aborted
    "opencode/nimbus__opencode-1.2.24-parent-122req.json": 3,  # aborted
}


def rows_of(paths: list[str]) -> Iterator[tuple[str, int, int, int]]:
    """Lane, input, tokens read, and tokens that the request left in a cache."""
    for session in read(paths, []):
        if session.format == "weka-kv-trace":
            (trace,), _ = load(paths, [])
            served = serve(trace, rules_for("vllm", "", None), (), page=1, keep_rows=True)
            lanes = {request.source.line: request.lane for request in session.requests if request.source is not None}
            rows = zip(served.lines, served.inputs, served.reads, strict=True)
            yield from ((lanes[line], sent, reads[-1], sent) for line, sent, reads in rows)
            continue
        for request in session.requests:
            usage = request.usage
            if request.counted and usage is not None:
                sent, found = usage.total_input or 0, usage.read or 0
                left = sent if session.format in AUTOMATIC else found + (usage.write or 0)
                yield request.lane, sent, found, left


@pytest.mark.parametrize(("name", "count", "millions", "share", "falls"), SAMPLES, ids=[one[0] for one in SAMPLES])
def test_as_its_readme_says(shared_data, name, count, millions, share, falls):
    folder, _, file = name.partition("/")
    paths = sorted(str(path) for path in (shared_data / folder).glob(f"{file}*"))
    rows = list(rows_of(paths))
    sent, found = sum(row[1] for row in rows), sum(row[2] for row in rows)
    fell = 0
    before: dict[str, int] = {}
    for lane, whole, hit, left in rows:
        fell += lane in before and whole > 0 and hit < 0.8 * min(whole, before[lane])
        before[lane] = left
    assert len(rows) == count - EMPTY.get(name, 0)
    assert round(sent / 1e6, 2) == millions
    assert abs(100 * found / sent - share) <= 0.05 + 1e-9
    assert fell == falls
