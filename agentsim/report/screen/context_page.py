"""What filled contexts, on a screen: kinds and tools with their price, the top pieces, what would cost less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.report import figures
from agentsim.report.paper import Paper, Span, Style
from agentsim.report.table import TableColumn, write_table

if TYPE_CHECKING:
    from agentsim.context.context_account import ContextAccount, ContextBlock, ContextGroup
    from agentsim.core.additions import AdditionKind

TITLES: dict[AdditionKind, str] = {
    "rest": "not in the log",
    "system": "system text",
    "tools": "tool definitions",
    "harness": "the harness's own",
    "user": "the user's words",
    "file": "files",
    "result": "results",
    "image": "images",
    "summary": "summaries",
    "text": "the model's words",
    "call": "calls it wrote",
    "thinking": "thinking",
}
"""The kinds of pieces, for people."""

GROUP_COLUMNS = (
    TableColumn("what", "<", 9, 14),
    TableColumn("pieces", ">", 3),
    TableColumn("tokens", ">", 5),
    TableColumn("paid anew", ">", 2),
    TableColumn("read", ">", 6),
    TableColumn("written", ">", 4),
    TableColumn("fresh", ">", 4),
    TableColumn("price", ">", 9),
    TableColumn("%", ">", 8),
)

SIZE_COLUMNS = (
    TableColumn("what", "<", 9, 14),
    TableColumn("pieces", ">", 6),
    TableColumn("tokens", ">", 8),
    TableColumn("%", ">", 7),
)

BLOCK_COLUMNS = (
    TableColumn("price", ">", 9),
    TableColumn("tokens", ">", 8),
    TableColumn("sent", ">", 6),
    TableColumn("anew", ">", 3),
    TableColumn("rows", ">", 7),
    TableColumn("line", ">", 4),
    TableColumn("what", "<", 9, 14),
)

SESSION_COLUMN = TableColumn("session", "<", 5)

ACCOUNT_COLUMNS = (
    TableColumn("session", "<", 9, 12),
    TableColumn("requests", ">", 6),
    TableColumn("bill", ">", 9),
    TableColumn("output %", ">", 3),
    TableColumn("most spent on", "<", 8, 14),
    TableColumn("%", ">", 8),
)

MOST_NAMES = 6
"""Tools of one kind that are listed; the others are one line."""

MOST_TURNS = 3

_LONGEST_PATH = 34


def write_context(paper: Paper, account: ContextAccount, *, top: int = 10) -> None:
    """Write the account of one session."""
    _head(paper, account)
    if not account.requests:
        _sizes(paper, account)
        return
    paper.line()
    _groups(paper, account)
    if top:
        paper.line()
        paper.line(("The most expensive pieces", Style.STRONG), ", each until it left the context")
        rows = [_block_row(block, account) for block in account.blocks[:top] if block.cost]
        columns = BLOCK_COLUMNS if account.sessions == 1 else (*BLOCK_COLUMNS[:-1], SESSION_COLUMN, BLOCK_COLUMNS[-1])
        write_table(paper, columns, rows)
        _words(paper, account.blocks[:top])
    _alternatives(paper, account)


def write_accounts(paper: Paper, accounts: Sequence[ContextAccount], *, top: int = 10) -> None:
    """Write the account of one session, or of several together and a line for each, the most expensive first."""
    if len(accounts) == 1:
        write_context(paper, accounts[0], top=top)
        return
    from agentsim.context import together

    write_context(paper, together(accounts), top=top)
    paper.line()
    places = figures.places_for([one.bill for one in accounts])
    rows = []
    for one in accounts[:top]:
        most = max(one.groups(by_name=False), key=lambda group: group.cost, default=None)
        rows.append(
            [
                one.id,
                figures.count(one.requests),
                figures.money(one.bill, places),
                figures.per_cent(one.output, one.bill, 1),
                "" if most is None else TITLES[most.kind],
                figures.UNKNOWN if most is None else figures.per_cent(most.cost, one.bill, 1),
            ]
        )
    write_table(paper, ACCOUNT_COLUMNS, rows)
    if len(accounts) > top:
        paper.paragraph((f"{len(accounts) - top:,} more: --top shows them, --session ID one alone.", Style.FAINT))


def _head(paper: Paper, account: ContextAccount) -> None:
    places = figures.places_for([account.bill])
    if account.requests:
        paper.paragraph(
            (account.id, Style.NAME),
            f" · {figures.plural(account.requests, 'priced request')} · ",
            (figures.money(account.bill, places), Style.STRONG),
            f": input {figures.money(account.input, places)}, output {figures.money(account.output, places)}",
        )
    else:
        paper.paragraph((account.id, Style.NAME), " · no request has a price")
    if account.unpriced:
        paper.paragraph(
            (
                (
                    f"Not priced, and in no sum: {figures.plural(account.unpriced, 'request')} "
                    f"({', '.join(account.models)})."
                ),
                Style.WARN,
            )
        )
    if account.unmeasured:
        paper.paragraph(
            (f"Without counters, and in no sum: {figures.plural(account.unmeasured, 'request')}.", Style.WARN)
        )
    if not account.worded:
        paper.paragraph(
            "What the prompts were made of is not read from logs of this format: what the counters tell is the answers "
            "and one rest."
        )


def _sizes(paper: Paper, account: ContextAccount) -> None:
    """What there is where nothing has a price: pieces and their tokens."""
    groups = account.groups(by_name=False)
    if not groups:
        return
    paper.line()
    whole = sum(group.tokens for group in groups)
    rows: list[list[Span]] = [
        [
            TITLES[group.kind],
            figures.count(group.blocks),
            figures.count(group.tokens),
            figures.per_cent(group.tokens, whole, 1),
        ]
        for group in groups
    ]
    write_table(paper, SIZE_COLUMNS, rows)


def _groups(paper: Paper, account: ContextAccount) -> None:
    places = figures.places_for([account.bill])
    rows: list[list[Span]] = []
    whole = account.groups(by_name=False)
    named = account.groups()
    for group in whole:
        rows.append(_group_row(group, (TITLES[group.kind], Style.STRONG), account.bill, places))
        parts = [part for part in named if part.kind == group.kind and part.name is not None]
        if len(parts) < 2 and group.kind != "result":
            continue
        for part in parts[:MOST_NAMES]:
            rows.append(_group_row(part, "  " + (part.name or ""), account.bill, places))
        if len(parts) > MOST_NAMES:
            rows.append(_others(parts[MOST_NAMES:], account.bill, places))
    rows.append(
        [
            ("answers", Style.STRONG),
            figures.count(account.requests),
            figures.count(account.output_tokens),
            "",
            "",
            "",
            "",
            figures.money(account.output, places),
            figures.per_cent(account.output, account.bill, 1),
        ]
    )
    blocks = account.blocks
    rows.append(
        [
            ("the bill", Style.STRONG),
            "",
            "",
            figures.count(sum(block.again for block in blocks)),
            figures.money(sum(block.read for block in blocks), places),
            figures.money(sum(block.written for block in blocks), places),
            figures.money(sum(block.fresh for block in blocks), places),
            (figures.money(account.bill, places), Style.STRONG),
            figures.per_cent(account.bill, account.bill, 1),
        ]
    )
    write_table(paper, GROUP_COLUMNS, rows)


def _group_row(group: ContextGroup, name: Span, bill: int, places: int) -> list[Span]:
    return [
        name,
        figures.count(group.blocks),
        figures.count(group.tokens),
        figures.count(group.again),
        figures.money(group.read, places),
        figures.money(group.written, places),
        figures.money(group.fresh, places),
        figures.money(group.cost, places),
        figures.per_cent(group.cost, bill, 1),
    ]


def _others(parts: Sequence[ContextGroup], bill: int, places: int) -> list[Span]:
    cost = sum(part.cost for part in parts)
    return [
        f"  {len(parts)} others",
        figures.count(sum(part.blocks for part in parts)),
        figures.count(sum(part.tokens for part in parts)),
        figures.count(sum(part.again for part in parts)),
        figures.money(sum(part.read for part in parts), places),
        figures.money(sum(part.written for part in parts), places),
        figures.money(sum(part.fresh for part in parts), places),
        figures.money(cost, places),
        figures.per_cent(cost, bill, 1),
    ]


def _block_row(block: ContextBlock, account: ContextAccount) -> list[Span]:
    until = "" if block.left is None else str(block.left)
    return [
        figures.money(block.cost, figures.places_for([account.bill])),
        figures.count(block.tokens),
        figures.count(block.rows),
        figures.count(block.again),
        f"{block.since}–{until}",
        figures.UNKNOWN if block.line is None else f"{block.line}",
        *([] if account.sessions == 1 else [block.session[:8]]),
        _named(block),
    ]


def _named(block: ContextBlock) -> str:
    title = {"result": "result", "call": "call", "file": "file"}.get(block.kind, TITLES[block.kind])
    path = block.detail
    if path is not None and len(path) > _LONGEST_PATH:
        path = f"…{path[1 - _LONGEST_PATH :]}"
    return " ".join(part for part in (title, path or block.name) if part)


def _words(paper: Paper, blocks: Sequence[ContextBlock]) -> None:
    for block in blocks:
        if block.words:
            first = f"  row {block.since}  "
            text = " ".join(block.words.split())
            paper.paragraph((text, Style.FAINT), first=[first], rest=[" " * len(first)])


def _alternatives(paper: Paper, account: ContextAccount) -> None:
    from agentsim.context.context_alternatives import (
        cut_results,
        deferred_definitions,
        fresh_subagents,
        report_tokens,
    )

    places = figures.places_for([account.bill])
    lines: list[tuple[str, str]] = []
    for cut in cut_results(account):
        if cut.results:
            lines.append(
                (
                    f"results cut at {cut.characters:,} characters",
                    f"{figures.money(cut.saves, places)} of {figures.plural(cut.results, 'result')}"
                    + (
                        f", {figures.money(cut.shell_saves, places)} of it the shell's {cut.shell:,}"
                        if cut.shell
                        else ""
                    ),
                )
            )
    deferred = deferred_definitions(account)
    if deferred is not None:
        lines.append(
            (
                "tools deferred until called",
                (
                    f"at most {figures.money(deferred.never_cost + deferred.later_cost, places)}: "
                    f"{deferred.never:,} never called {figures.money(deferred.never_cost, places)}, "
                    f"{deferred.later:,} called {figures.money(deferred.later_cost, places)} until then"
                ),
            )
        )
    alone = fresh_subagents(account)
    for one in alone[:MOST_TURNS]:
        turn = one.turn
        of = "" if account.sessions == 1 else f" of {turn.session[:8]}"
        lines.append(
            (
                f"rows {turn.first}–{turn.last}{of} in a fresh subagent",
                (
                    f"{figures.money(one.saves, places)}: {turn.before:,} tokens stay out of "
                    f"{figures.plural(turn.requests - 1, 'request')}, {turn.work:,} of work do not come back"
                ),
            )
        )
    if not lines:
        return
    paper.line()
    paper.line(("What would have cost less", Style.STRONG), ", each alone, with the same requests")
    for what, text in lines:
        paper.paragraph((what, Style.NAME), f": {text}", first=["  "], rest=["    "])
    if alone:
        report, measured = report_tokens(account)
        source = "the median of this session's own" if measured else "assumed"
        paper.paragraph(
            (
                (
                    f"A subagent's report has {report:,} tokens ({source}); that it is enough for what comes "
                    "later is the condition."
                ),
                Style.FAINT,
            )
        )
    if account.format == "claude-code":
        paper.paragraph(("Claude Code cuts its shell's output by bashOutputMaxChars.", Style.FAINT))
