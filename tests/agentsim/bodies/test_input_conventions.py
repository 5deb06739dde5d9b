"""Which counters hold the cached tokens: each threshold at its value and one beside it."""

from __future__ import annotations

import pytest

from agentsim.bodies.input_conventions import (
    Conventions,
    check_excludes_cached,
    convention_told,
    input_includes_cached,
    is_empty,
    reports_writes,
    usage_by,
)
from agentsim.core.session import Usage
from agentsim.core.strict_decoding import BadRow

CACHED, OUTPUT = 900, 5


@pytest.mark.parametrize(
    ("sent", "total", "convention"),
    [
        (CACHED - 1, None, "excludes"),  # less than was read and written cannot hold it
        (CACHED, None, None),  # a prompt read whole from the cache: both are possible
        (CACHED + 1, None, None),
        (CACHED, CACHED + OUTPUT, "includes"),
        (CACHED, CACHED + OUTPUT + 1, None),
        (CACHED, CACHED + CACHED + OUTPUT, "excludes"),
        (CACHED, CACHED + CACHED + OUTPUT + 1, None),
        (CACHED - 1, CACHED - 1 + OUTPUT, "excludes"),  # whatever the total says
        (None, None, None),
        (0, None, "excludes"),
    ],
)
@pytest.mark.parametrize(("read", "write"), [(CACHED, None), (None, CACHED), (CACHED - 1, 1)])
def test_what_a_row_proves(
    sent: int | None, total: int | None, convention: str | None, read: int | None, write: int | None
) -> None:
    assert convention_told(sent, read, write, OUTPUT, total) == convention


def test_a_row_without_cached_tokens_proves_nothing() -> None:
    assert convention_told(0, 0, 0, OUTPUT, OUTPUT) is None
    assert convention_told(7, None, None, OUTPUT, 7 + OUTPUT) is None


def test_input_that_holds_the_cached_part_is_at_least_as_large() -> None:
    assert input_includes_cached(CACHED, CACHED - 1, 1, OUTPUT).fresh == 0
    assert input_includes_cached(CACHED + 1, CACHED - 1, 1, OUTPUT).fresh == 1
    with pytest.raises(BadRow):
        input_includes_cached(CACHED - 1, CACHED - 1, 1, OUTPUT)
    assert input_includes_cached(CACHED, CACHED, None, OUTPUT).fresh == 0
    assert input_includes_cached(CACHED, None, CACHED, OUTPUT).fresh == 0
    assert input_includes_cached(CACHED, None, None, OUTPUT).fresh == CACHED
    assert usage_by("includes", CACHED, CACHED, None, OUTPUT).fresh == 0
    assert usage_by("excludes", CACHED, CACHED, None, OUTPUT).fresh == CACHED


def test_a_total_without_the_cached_part_contradicts_input_without_it() -> None:
    check_excludes_cached(10, CACHED, OUTPUT, 10 + OUTPUT + 1)
    check_excludes_cached(10, 0, OUTPUT, 10 + OUTPUT)
    check_excludes_cached(None, CACHED, OUTPUT, OUTPUT)
    check_excludes_cached(10, CACHED, OUTPUT, None)
    with pytest.raises(BadRow):
        check_excludes_cached(10, CACHED, OUTPUT, 10 + OUTPUT)
    with pytest.raises(BadRow):
        check_excludes_cached(10, 1, None, 10)


def test_a_source_has_the_one_convention_that_its_rows_prove() -> None:
    known = Conventions()
    known.learn("a", None)
    assert known.of("a") is None
    known.learn("a", "includes")
    known.learn("a", "includes")
    assert (known.of("a"), known.of("b")) == ("includes", None)
    known.learn("a", "excludes")
    assert known.of("a") is None


@pytest.mark.parametrize("name", ["fresh", "read", "write_short", "write_long", "write_other", "output"])
def test_one_token_of_any_kind_is_not_nothing(name: str) -> None:
    assert is_empty(Usage(**{name: 0}))
    assert not is_empty(Usage(**{name: 1}))


@pytest.mark.parametrize(
    ("total", "convention"),
    [(CACHED, "includes"), (CACHED + 1, None), (CACHED - 1, None), (2 * CACHED, "excludes"), (2 * CACHED + 1, None)],
)
def test_a_total_decides_where_no_output_was_counted(total: int, convention: str | None) -> None:
    assert convention_told(CACHED, CACHED, None, None, total) == convention


def test_only_caches_with_breakpoints_of_the_callers_own_report_writes() -> None:
    told = [reports_writes(*one) for one in (("anthropic", "x"), ("bedrock", "us.Claude-4"), ("openai", "gpt-5.1"))]
    assert told == [True, True, False]
