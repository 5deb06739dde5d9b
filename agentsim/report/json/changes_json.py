"""Two recordings for programs."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim import __version__
from agentsim.budget.budget_gate import Gate
from agentsim.budget.recording_changes import Changes, RequestPair, Side
from agentsim.report.figures import exact, more
from agentsim.report.json.canonical_json import DOLLAR_DIGITS, TOKEN_DIGITS, Document, totals
from agentsim.report.json.gate_json import EXITS, place, results


def diff_document(changes: Changes, gate: Gate | None, old_files: Sequence[str], new_files: Sequence[str]) -> Document:
    """Every pair of requests, the sums of both recordings, and what budgets made of the new one."""
    old, new = changes.old.totals, changes.new.totals
    return {
        "agentsim": __version__,
        "report": "diff",
        "version": 1,
        "old": _session(changes.old.session.id, old_files),
        "new": _session(changes.new.session.id, new_files),
        "prompts_comparable": changes.comparable,
        "pairs": [_pair(pair) for pair in changes.pairs],
        "old_totals": totals(old),
        "new_totals": totals(new),
        "more": {
            "cost": exact(more(old.known_cost, new.known_cost), DOLLAR_DIGITS),
            "input_equivalents": exact(more(old.known_equivalents, new.known_equivalents), TOKEN_DIGITS),
            "misses": new.misses - old.misses,
        },
        "outcome": gate.outcome if gate is not None else None,
        "exit_code": int(EXITS[gate.outcome]) if gate is not None else 0,
        "results": results(gate.results) if gate is not None else [],
    }


def _session(id: str, files: Sequence[str]) -> Document:
    return {"id": id, "files": list(files)}


def _pair(pair: RequestPair) -> Document:
    return {
        "lane": pair.lane,
        "old": _side(pair.old),
        "new": _side(pair.new),
        "more_cost": exact(pair.cost, DOLLAR_DIGITS),
        "first_difference": place(pair.place) if pair.place is not None else None,
        "settings": list(pair.settings),
    }


def _side(side: Side | None) -> Document | None:
    if side is None:
        return None
    usage, verdict = side.row.usage, side.verdict
    return {
        "row": side.number,
        "request": side.row.request.id,
        "written": usage.write,
        "read": usage.read,
        "fresh": usage.fresh,
        "output": usage.output,
        "cost": exact(side.row.cost, DOLLAR_DIGITS),
        "kind": verdict.kind,
        "cause": verdict.cause,
        "place": place(verdict.place) if verdict.place is not None else None,
        "lost_tokens": verdict.lost,
    }
