"""The committed baseline: what each session cost when it was last accepted. Sorted, a line a session, without times."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Literal

import msgspec

from agentsim import __version__
from agentsim.budget.budget_gate import JudgedTrace
from agentsim.budget.session_measures import Measures
from agentsim.core.money import dollars, picodollars

VERSION = 1
DEFAULT_NAME = "agentsim-baseline.json"
MICRO = 10**6
MOST_BYTES = 64 * 2**20


class BaselineError(Exception):
    """A baseline that cannot be read; the text says why. ``missing`` where there is none."""

    def __init__(self, reason: str, file: str, *, missing: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.file = file
        self.missing = missing


class TokenCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens by what became of them."""

    fresh: int
    output: int
    read: int
    written: int


class HitRate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hit rate as two whole numbers."""

    read: int
    total_input: int


class BaselineEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A session in a baseline: money and equivalents are exact decimals in strings."""

    cost: str
    hit_rate: HitRate
    input_equivalents: str
    misses: dict[str, int]
    requests: int
    tokens: TokenCounts
    not_priced: int = 0
    without_counters: int = 0


class BaselineFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file: the version of its shape, the program that wrote it, and the sessions by their keys."""

    agentsim: str
    baseline: Literal[1]
    traces: dict[str, BaselineEntry]


class BaselineChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one session's entry. ``before`` or ``after`` is ``None`` where it is new or gone."""

    key: str
    before: BaselineEntry | None
    after: BaselineEntry | None


def entries_of(traces: Iterable[JudgedTrace]) -> dict[str, BaselineEntry]:
    """The entries of judged sessions by key."""
    return {trace.key: _entry(trace.measures) for trace in sorted(traces, key=lambda one: one.key)}


def read_baseline(file: str) -> dict[str, BaselineEntry]:
    """The entries of a baseline. Raises BaselineError."""
    try:
        with open(file, "rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise BaselineError("there is no such file", file, missing=True) from None
    except OSError as error:
        raise BaselineError(error.strerror or str(error), file) from error
    return entries_from(data, file)


def entries_from(data: bytes, file: str) -> dict[str, BaselineEntry]:
    """The entries that the bytes of a baseline hold. Raises BaselineError."""
    try:
        found = msgspec.json.decode(data, type=BaselineFile)
        for entry in found.traces.values():
            _measures(entry)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError, ArithmeticError) as error:
        # The words of msgspec name fields, not values.
        reason = str(error) if isinstance(error, msgspec.ValidationError) else "broken"
        raise BaselineError(f"not a baseline of version {VERSION}: {reason}", file) from None
    return found.traces


def measures_of(entries: Mapping[str, BaselineEntry]) -> dict[str, Measures | None]:
    """The measures that sessions are compared with."""
    return {key: _measures(entry) for key, entry in entries.items()}


def changes(before: Mapping[str, BaselineEntry], after: Mapping[str, BaselineEntry]) -> tuple[BaselineChange, ...]:
    """What is new, gone or different, by key."""
    return tuple(
        BaselineChange(key=key, before=before.get(key), after=after.get(key))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    )


def text_of(entries: Mapping[str, BaselineEntry]) -> str:
    """The file's text: the same bytes for the same entries."""
    lines = [f"{_json(key)}: {_json(_plain(entries[key]))}" for key in sorted(entries)]
    body = "{\n" + ",\n".join(lines) + "\n}" if lines else "{}"
    return f'{{\n"agentsim": {_json(__version__)},\n"baseline": {VERSION},\n"traces": {body}\n}}\n'


def write_baseline(file: str, entries: Mapping[str, BaselineEntry]) -> None:
    """Write the file beside its place and rename it, so that no half of one is ever found. Raises OSError."""
    folder, name = os.path.split(file)
    draft = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        with open(draft, "x", encoding="ascii", newline="\n") as stream:
            stream.write(text_of(entries))
        os.replace(draft, file)
    except BaseException:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise


def _entry(measures: Measures) -> BaselineEntry:
    return BaselineEntry(
        cost=_exact(dollars(measures.cost)),
        hit_rate=HitRate(read=measures.read, total_input=measures.total_input),
        input_equivalents=_exact(Decimal(measures.equivalents).scaleb(-6)),
        misses=dict(measures.misses),
        requests=measures.requests,
        tokens=TokenCounts(fresh=measures.fresh, output=measures.output, read=measures.read, written=measures.written),
        not_priced=measures.unpriced,
        without_counters=measures.unreported,
    )


def _measures(entry: BaselineEntry) -> Measures:
    tokens = entry.tokens
    return Measures(
        requests=entry.requests,
        fresh=tokens.fresh,
        written=tokens.written,
        read=tokens.read,
        output=tokens.output,
        cost=picodollars(_decimal(entry.cost)),
        equivalents=int(_decimal(entry.input_equivalents) * MICRO),
        misses=tuple(sorted(entry.misses.items())),
        unpriced=entry.not_priced,
        unreported=entry.without_counters,
    )


def _decimal(text: str) -> Decimal:
    amount = Decimal(text)
    if len(text) > 60 or not amount.is_finite() or abs(amount.adjusted()) > 40:
        raise ValueError("not an amount")
    return amount


def _exact(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(entry: BaselineEntry) -> Any:
    document = msgspec.to_builtins(entry)
    for name in ("not_priced", "without_counters"):
        if not document[name]:
            del document[name]
    return document


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True).replace("\x7f", "\\u007f")
