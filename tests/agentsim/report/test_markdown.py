"""The comment on a pull request, rendered by a parser of the Markdown that GitHub writes."""

import re
from typing import Any

import pytest
from markdown_it import MarkdownIt

from agentsim.report.ci.pull_request_comment import MARKER, escape, markdown_text
from tests.agentsim.report import gates

PARSER = MarkdownIt("gfm-like", {"linkify": False})


def tables(text: str) -> list[list[list[str]]]:
    """The cells of each table, as text."""
    found: list[list[list[str]]] = []
    tokens = PARSER.parse(text)
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("th_open", "td_open"):
            inline = tokens[place + 1]
            found[-1][-1].append("".join(c.content for c in inline.children or () if c.type != "html_inline"))
    return found


def test_the_comment_is_found_by_its_first_line() -> None:
    assert markdown_text(gates.real()).splitlines()[0] == MARKER == "<!-- agentsim -->"


def test_tables_hold_what_does_not_hold_the_misses_and_the_sessions() -> None:
    failed, misses, sessions = tables(markdown_text(gates.real()))
    assert [row[0] for row in failed[1:]] == ["BROKEN", "BROKEN", "NOT JUDGED", "BROKEN (warns)"] or [
        row[0] for row in failed[1:]
    ] == ["BROKEN", "BROKEN", "BROKEN (warns)", "NOT JUDGED"]
    forbidden = next(row for row in failed if "forbid" in row[3])
    assert forbidden == ["BROKEN", "shop", "rec/gate-after.jsonl", "forbid AS103", "1", "1 over"]
    assert misses[1:] == [
        [
            "AS103 The tools came in another order",
            "rec/gate-after.jsonl",
            "9,400",
            "$0.0324",
            "tools[0] fetch_page moved",
        ]
    ]
    assert [row[:2] for row in sessions[1:]] == [["rec/gate-after.jsonl", "12"], ["rec/gate-before.jsonl", "12"]]


def test_a_comment_without_trouble_is_short() -> None:
    text = markdown_text(gates.all_held())
    assert "All budgets held" in text
    assert len(tables(text)) == 1, "the sessions alone"


def test_it_fits_a_comment_whatever_it_has_to_say() -> None:
    text = markdown_text(gates.many(5_000))
    assert len(text.encode()) <= 64 * 1024
    failed, misses, _sessions = tables(text)
    shown = len(failed) - 1
    assert 0 < shown < 5_000
    assert f"and {5_000 - shown:,} more" in text
    assert failed[1][2].startswith("recordings/long/")
    assert len(misses) == len(failed)


def test_every_row_has_the_cells_of_its_head_whatever_the_words() -> None:
    for table in tables(markdown_text(gates.hostile())):
        assert {len(row) for row in table} == {len(table[0])}


def test_hostile_words_make_no_markup() -> None:
    text = markdown_text(gates.hostile())
    kinds = {child.type for token in PARSER.parse(text) for child in token.children or ()}
    assert kinds <= {"text", "html_inline", "code_inline", "strong_open", "strong_close", "text_special"}
    html = PARSER.render(text)
    tags = set(re.findall(r"<(/?\w+)", html))
    assert tags <= {
        f"{end}{name}"
        for end in ("", "/")
        for name in ("h3 p code table thead tbody tr th td strong ul li details summary".split())
    }
    inline = [child for token in PARSER.parse(text) for child in token.children or () if child.type == "html_inline"]
    assert {child.content for child in inline} == {"<!-- -->"}
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


@pytest.mark.parametrize("name", ["@someone", "#12", "GH-3", "www.evil.com", "a@b.com", "http://evil.com", ":tada:"])
def test_what_the_page_would_link_after_rendering_is_broken_up(name: str) -> None:
    parser = MarkdownIt("gfm-like")
    assert parser.linkify is not None
    # Without "www." this parser links more than GitHub does: any name that ends like a host's.
    parser.linkify.set({"fuzzy_link": name.startswith("www")})
    parser.linkify.add("//", None)
    html = parser.render(f"x {escape(name)} y")
    assert "<a " not in html
    assert name not in html, "the text is interrupted by a comment that shows nothing"
    shown = re.sub(r"<!-- -->|</?p>", "", html).strip()
    assert shown == f"x {name} y"


def test_a_row_of_many_kinds_of_text() -> None:
    words: Any = "a|b \\| `c` *d* _e_ <f> &amp; [g](h) ~~i~~ $j$"
    ((_, (cell,)),) = tables(f"| x |\n| - |\n| {escape(words)} |\n")
    assert cell == words
