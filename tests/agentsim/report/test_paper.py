"""The sink: what a line of styled text becomes."""

import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.report.clean import display_width
from agentsim.report.paper import Paper, Span, Style, span_width, wants_colour, wrap
from agentsim.report.table import TableColumn, TableLayout, write_table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(*spans: Span, colour: bool = False, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace")
    Paper(stream, colour=colour).line(*spans)
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_styles_wrap_clean_text() -> None:
    assert written(("\x1b[2J", Style.BAD), colour=True) == "\x1b[1;31m␛[2J\x1b[0m\n"


def test_without_colour_there_is_no_code_at_all() -> None:
    assert written(("MISS", Style.BAD), " AS101") == "MISS AS101\n"


def test_one_line_is_one_line() -> None:
    assert written("a\nb\r\nc").count("\n") == 1


def test_glyphs_have_a_spelling_in_ascii() -> None:
    assert written("─│·– …", encoding="ascii") == "-|-- ~\n"


def test_what_an_encoding_lacks_is_escaped() -> None:
    assert written("東", encoding="latin-1") == "\\u6771\n"


@pytest.mark.parametrize(
    ("settings", "terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),  # set and empty counts as not set
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_who_wants_colour(
    settings: dict[str, str], terminal: bool, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(Terminal() if terminal else io.StringIO()) is wanted


def test_wrapping_breaks_between_words_and_keeps_styles() -> None:
    lines = list(wrap([("lost tokens", Style.STRONG), ": tools[7] moved"], 13))
    # "lost tokens:" takes 12 cells of 13; the colon has no space before it and is not bold.
    assert lines == [
        [("lost", Style.STRONG), (" tokens", Style.STRONG), (":", Style.PLAIN)],
        [("tools[7]", Style.PLAIN)],
        [("moved", Style.PLAIN)],
    ]


@given(st.lists(st.text(max_size=40), max_size=6), st.integers(5, 60))
def test_wrapped_lines_fit_and_lose_no_word(texts: list[str], width: int) -> None:
    lines = list(wrap(texts, width))
    assert all(span_width(line) <= width for line in lines)
    everything = "".join(Paper(io.StringIO())._ink(span) for line in lines for span in line)
    from agentsim.report.clean import clean

    assert everything.replace(" ", "") == "".join(clean(text) for text in texts).replace(" ", "")


COLUMNS = [
    TableColumn("#"),
    TableColumn("long name", "<", 9, 6),
    TableColumn("minor", ">", 1),
    TableColumn("major", ">", 5),
]
ROWS: list[list[Span]] = [["1", "a name that goes on", "12,345", "678"], ["2", "東京", "1", "2"]]


def test_minor_columns_give_way_first_and_then_the_long_one_shrinks() -> None:
    def shown(width: int) -> list[str]:
        return [COLUMNS[i].title for i in TableLayout(COLUMNS, ROWS, width).shown]

    # Natural widths: 1 + 19 + 6 + 5, and three gaps of 2, make 37; the long column shrinks to its title, 9: 27.
    assert shown(37) == ["#", "long name", "minor", "major"]
    assert shown(27) == ["#", "long name", "minor", "major"]
    assert shown(26) == ["#", "long name", "major"]
    assert shown(18) == ["#", "long name"]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_rows_line_up_whatever_is_in_them(width: int) -> None:
    stream = io.StringIO()
    rows: list[list[Span]] = [*ROWS, ["3", "\x1b[2J\n[/x] and much more of it", "9", "東"]]
    write_table(Paper(stream, width=width), COLUMNS, rows)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2 + len(rows)
    widths = {display_width(line) for line in lines}
    assert len(widths) == 1, list(itertools.chain(lines))
    assert widths.pop() <= width
