"""What every web page of agentsim stands in: its style, its head, its tables. It loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence

from agentsim import __version__
from agentsim.report.web.charts import CHART_COLOURS, CHART_STYLE, safe

_MOST_ROWS = 200
_SHOWN_ROWS = 12

_PAGE_STYLE = """
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:860px;margin:0 auto;padding:36px 24px 60px}
h1{font-size:27px;margin:0}h2{font-size:19px;margin:44px 0 6px}
p{margin:6px 0 12px;max-width:70ch}.faint,caption{color:var(--faint)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(180px,1fr));gap:12px;margin:22px 0}
.tile{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:12px 16px}
.tile b{display:block;font-size:24px;line-height:1.35}.tile span{color:var(--faint);font-size:13px}
figure{margin:10px 0;background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:14px}
figure{overflow-x:auto}
svg{max-width:100%;height:auto;display:block;font:12px system-ui,sans-serif}
.wide{min-width:620px}
.table{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:14px} th,td{padding:5px
10px;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:11em}th{color:var(--faint);font-weight:600}
summary{cursor:pointer;color:var(--accent);padding:6px 0}footer{margin-top:48px;color:var(--faint);font-size:13px}
details p,details ul{margin:6px 0 6px 14px}ol{padding-left:22px}ol li{margin:0 0 14px}
code{font:13px ui-monospace,monospace;background:var(--card);border:1px solid var(--rule);border-radius:5px
;padding:1px 5px;overflow-wrap:anywhere}
pre{font:13px/1.5 ui-monospace,monospace;background:var(--card);border:1px solid var(--rule);border-radius:8px
;padding:8px 12px;margin:8px 0;white-space:pre-wrap;overflow-wrap:anywhere}ins{color:var(--accent);text-decoration:none}
@media print{:root{--ink:#000;--faint:#444;--paper:#fff;--card:#fff;--rule:#bbb}
body{font-size:11pt}main{max-width:none;padding:0}
figure,.tile,tr,li{break-inside:avoid}h2{break-after:avoid}details:not([open])>*:not(summary){display:block}
details::details-content{content-visibility:visible;height:auto}.wide{min-width:0}th,td{white-space:normal}}
"""


def shell(title: str, body: Sequence[str], note: str) -> str:
    """A whole page around its parts; empty ones are left out. ``title`` and ``note`` are made safe, ``body`` is not."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{safe(title)}</title>\n<style>{CHART_COLOURS}{CHART_STYLE}{_PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + f"\n<footer>agentsim {safe(__version__)}. {safe(note)}</footer>\n</main>\n</body>\n</html>\n"
    )


def tiles(cells: Sequence[tuple[str, str]]) -> str:
    """Figures in a row: an amount, and what it is."""
    found = "".join(f'<div class="tile"><b>{safe(amount)}</b><span>{safe(what)}</span></div>' for amount, what in cells)
    return f'<div class="tiles">{found}</div>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; rows beyond the first are folded away, and what does not fit is counted."""
    head = "".join(f'<th scope="col">{safe(name)}</th>' for name in heads)

    def lines(part: Sequence[Sequence[str]]) -> str:
        return "\n".join("<tr>" + "".join(f"<td>{safe(cell)}</td>" for cell in row) + "</tr>" for row in part)

    def whole(part: Sequence[Sequence[str]]) -> str:
        return f'<div class="table"><table><thead><tr>{head}</tr></thead>\n<tbody>{lines(part)}</tbody></table></div>'

    text = whole(rows[:_SHOWN_ROWS])
    rest = rows[_SHOWN_ROWS:_MOST_ROWS]
    if rest:
        text += f"\n<details><summary>{len(rest):,} more</summary>{whole(rest)}</details>"
    if len(rows) > _MOST_ROWS:
        text += f'\n<p class="faint">and {len(rows) - _MOST_ROWS:,} more: --csv and --json list them all</p>'
    return text
