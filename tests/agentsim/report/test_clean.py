"""Outside text on its way to a terminal."""

import sys
import timeit
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.report.clean import clean, display_width

HOSTILE = {
    "OSC 52 writes the clipboard": ("\x1b]52;c;ZXZpbA==\x07", "␛]52;c;ZXZpbA==␇"),
    "CSI 2J clears the screen": ("\x1b[2J", "␛[2J"),
    "OSC 0 renames the window": ("\x1b]0;owned\x07", "␛]0;owned␇"),
    "a C1 control starts a sequence in one character": ("\x9b2J", "⟨009B⟩2J"),
    "a carriage return overwrites the line": ("good\rbad", "good␍bad"),
    "a newline forges a row": ("id\n  1  forged", "id␊  1  forged"),
    "U+202E turns text around": ("abc\u202edcba", "abc⟨202E⟩dcba"),
    "isolates turn text around": ("\u2066x\u2069", "⟨2066⟩x⟨2069⟩"),
    "a zero-width space hides": ("a\u200bb", "a⟨200B⟩b"),
    "a byte-order mark hides": ("\ufeffa", "⟨FEFF⟩a"),
    "line and paragraph separators break lines": ("a\u2028b\u2029c", "a⟨2028⟩b⟨2029⟩c"),
    "half of a surrogate pair cannot be encoded": ("a\udc80b", "a⟨DC80⟩b"),
    "DEL": ("a\x7fb", "a␡b"),
    "NUL": ("a\0b", "a␀b"),
    "a tag character hides": ("a\U000e0041", "a⟨E0041⟩"),
    "a variation selector changes the width": ("☃\ufe0f", "☃⟨FE0F⟩"),
    "a filler is a letter and empty": ("a\u3164b", "a⟨3164⟩b"),
    "a tab is a space": ("a\tb", "a b"),
    "other spaces are a space": ("a\u00a0b\u3000c", "a b c"),
    "markup is text": ("[/x] [@click=app.quit]x[/] [bold]", "[/x] [@click=app.quit]x[/] [bold]"),
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize("text", ["", "claude-opus-4-5", "Grüße", "東京", "привет", "naïve café", "🙂"])
def test_good_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


def test_a_flood_of_combining_marks_is_dammed() -> None:
    # Two marks stay on the letter, the third and fourth are named.
    assert clean("a" + "\u0301" * 4) == "a\u0301\u0301⟨0301⟩⟨0301⟩"


@given(st.text())
def test_nothing_that_comes_out_can_control_a_terminal(text: str) -> None:
    for character in clean(text):
        assert character.isprintable()
        assert unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


@given(st.text(st.characters(min_codepoint=0x7F, max_codepoint=sys.maxunicode) | st.sampled_from("a\x1b")))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    # Not so for runs of combining marks, whose names separate what follows; cut them out of the question.
    text = "".join(c for c in text if unicodedata.category(c) not in ("Mn", "Me"))
    assert clean(clean(text)) == clean(text)


@given(st.text(), st.integers(0, 30))
def test_cut_text_fits(text: str, width: int) -> None:
    shown = clean(text, width)
    assert display_width(shown) <= width
    if display_width(clean(text)) <= width:
        assert shown == clean(text)
    elif width:
        assert shown.endswith("…")


def test_text_is_cut_by_cells_and_not_by_characters() -> None:
    # Each of the two takes two cells; with the ellipsis, one of them fits into four.
    assert clean("東京都", 4) == "東…"
    assert clean("tokyo", 4) == "tok…"


def test_cutting_a_huge_text_does_not_read_all_of_it() -> None:
    huge = "é" * 10_000_000
    assert timeit.timeit(lambda: clean(huge, 10), number=1) < 0.1


@pytest.mark.slow
def test_the_common_case_costs_next_to_nothing() -> None:
    # 0.2 µs a call is the promise; best of several, for a machine that is busy with other tests.
    best = min(
        timeit.repeat("clean(text)", globals={"clean": clean, "text": "claude-opus-4-5"}, number=10_000, repeat=20)
    )
    assert best / 10_000 < 0.4e-6
