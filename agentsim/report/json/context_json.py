"""What contexts were filled with, for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentsim.report.figures import exact
from agentsim.report.json.canonical_json import DOLLAR_DIGITS, Document, envelope, problem_documents

if TYPE_CHECKING:
    from agentsim.context.context_account import ContextAccount, ContextBlock, ContextGroup
    from agentsim.core.session import Problem


def context_document(accounts: Sequence[ContextAccount], top: int | None, problems: Iterable[Problem]) -> Document:
    """Each session's groups, its ``top`` most expensive pieces (all: ``None``), and what would have cost less."""
    return {
        **envelope("context"),
        "sessions": [_session(account, top) for account in accounts],
        "problems": problem_documents(problems),
    }


def _session(account: ContextAccount, top: int | None) -> Document:
    from agentsim.context.context_alternatives import (
        cut_results,
        deferred_definitions,
        fresh_subagents,
        report_tokens,
    )

    deferred = deferred_definitions(account)
    report, measured = report_tokens(account)
    return {
        "id": account.id,
        "format": account.format,
        "worded": account.worded,
        "requests": account.requests,
        "not_priced": account.unpriced,
        "without_counters": account.unmeasured,
        "bill": exact(account.bill, DOLLAR_DIGITS),
        "input": exact(account.input, DOLLAR_DIGITS),
        "output": exact(account.output, DOLLAR_DIGITS),
        "output_tokens": account.output_tokens,
        "groups": [_group(group) for group in account.groups()],
        "pieces": [_block(block) for block in account.blocks[:top]],
        "results_cut": [
            {
                "characters": cut.characters,
                "results": cut.results,
                "saves": exact(cut.saves, DOLLAR_DIGITS),
                "of_the_shell": cut.shell,
                "of_the_shell_saves": exact(cut.shell_saves, DOLLAR_DIGITS),
            }
            for cut in cut_results(account)
        ],
        "tools_deferred": None
        if deferred is None
        else {
            "never_called": deferred.never,
            "never_called_cost": exact(deferred.never_cost, DOLLAR_DIGITS),
            "called": deferred.later,
            "called_cost_until_then": exact(deferred.later_cost, DOLLAR_DIGITS),
        },
        "report_tokens": {"tokens": report, "measured": measured},
        "fresh_subagents": [
            {
                "first_row": one.turn.first,
                "last_row": one.turn.last,
                "requests": one.turn.requests,
                "tokens_before": one.turn.before,
                "tokens_of_work": one.turn.work,
                "saves": exact(one.saves, DOLLAR_DIGITS),
            }
            for one in fresh_subagents(account)
        ],
    }


def _group(group: ContextGroup) -> Document:
    return {
        "kind": group.kind,
        "name": group.name,
        "pieces": group.blocks,
        "tokens": group.tokens,
        "rows": group.rows,
        "paid_anew": group.again,
        **_prices(group),
    }


def _block(block: ContextBlock) -> Document:
    found: Document = {
        "kind": block.kind,
        "name": block.name,
        "server": block.server,
        "detail": block.detail,
        "tokens": block.tokens,
        "characters": block.characters,
        "lane": block.lane,
        "first_row": block.since,
        "last_row": block.left,
        "rows": block.rows,
        "rows_read": block.reads,
        "paid_anew": block.again,
        "file": block.file,
        "line": block.line,
        **_prices(block),
    }
    return found if block.words is None else {**found, "words": block.words}


def _prices(priced: ContextBlock | ContextGroup) -> Document:
    return {
        "read": exact(priced.read, DOLLAR_DIGITS),
        "written": exact(priced.written, DOLLAR_DIGITS),
        "fresh": exact(priced.fresh, DOLLAR_DIGITS),
        "cost": exact(priced.cost, DOLLAR_DIGITS),
    }
