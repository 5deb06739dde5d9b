"""Ours and others on the same files: heavy sessions of Claude Code, and bodies of all families."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.verdicts.benchmark_run import by_call, forms_of, write_form
from benchmarks.verdicts.judged_by_agentsim import judge
from benchmarks.verdicts.peers.body_peers import BODY_PEERS
from benchmarks.verdicts.peers.claude_code_peers import CLAUDE_CODE_PEERS
from benchmarks.verdicts.peers.peer_program import Asked, PeerProgram
from benchmarks.verdicts.session_living import live, orders
from benchmarks.verdicts.simulated_agent import LivedCall
from benchmarks.verdicts.verdict_scores import Board, Said

OURS = "agentsim"
SILENT = Said("hit", lost=0)
"""A call that a program does not speak of lost nothing in its eyes."""


def compare(programs: Path, sessions: int, seed: int) -> Board:
    """The scores of each program that is installed in this folder, and ours: by cell, program and form.

    Only losses and healthy requests are scored: what is no loss (a compaction, a prompt below the minimum) is left out,
    as peers have no word for it.
    """
    present = [(peer, found) for peer in (*CLAUDE_CODE_PEERS, *BODY_PEERS) if (found := peer.found_in(programs))]
    board = Board()
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch:
        for order in orders(sessions, seed, "@claude", heavy=True):
            life = live(order)
            calls = sorted(life.logged(), key=lambda call: call.start)
            for form in ("claude-code", "pairs"):
                if form not in forms_of(life, order.cell.unseen):
                    continue
                path = write_form(life, form, Path(scratch))
                ours = by_call([call.id for call in calls], judge(path))
                _add(board, order.cell.name, OURS, form, calls, ours)
                for peer, found in present:
                    if peer.form == form:
                        _add(board, order.cell.name, peer.name, form, calls, _asked(peer, found, path, calls))
                path.unlink()
    return board


def _asked(peer: PeerProgram, program: Path, path: Path, calls: list[LivedCall]) -> dict[str, Said]:
    return peer.explain(program, Asked(path, calls))


def _add(board: Board, cell: str, program: str, form: str, calls: list[LivedCall], said: dict[str, Said]) -> None:
    score = board.of(cell, program, form)
    for call in calls:
        if call.truth.outcome in ("loss", "healthy", "first"):
            score.add(call.truth, said.get(call.id, SILENT), form)


def ahead_of_us(board: Board) -> list[tuple[str, str, str]]:
    """Cells in which a program is right more often than we are: (cell, program, form)."""
    found = []
    for (cell, program, form), score in sorted(board.scores.items()):
        ours = board.scores.get((cell, OURS, form))
        if program == OURS or ours is None or not score.losses:
            continue
        if score.share("right", "coarse") > ours.share("right", "coarse", "named"):
            found.append((cell, program, form))
    return found
