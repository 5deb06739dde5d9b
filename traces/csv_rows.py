"""Rows of CSV files with a header line: the fields wanted, by name."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from agentsim.core.strict_decoding import MAX_COUNT, BadRow
from agentsim.traces.hostile_records import RawRow, TraceError
from agentsim.traces.log_lines import BOM, read_chunks


def header_of(head: bytes) -> tuple[str, ...]:
    """The names in the first line of a file, in small letters; nothing for a line that is no text."""
    line = head.removeprefix(BOM).split(b"\n", 1)[0][:4096]
    try:
        return tuple(name.strip().strip('"').lower() for name in line.decode().split(","))
    except UnicodeDecodeError:
        return ()


def csv_rows(path: str, wanted: Sequence[str], optional: Sequence[str] = ()) -> Iterator[RawRow[list[str]]]:
    """The rows behind the first line: the wanted fields in this order and then the optional ones (an empty text
    where there is none), or what is wrong with the row. Their bytes are not kept.

    Raises OSError when the file cannot be read, and TraceError without the wanted names in its first line.
    """
    places: list[int] = []
    least = 0
    for chunk in read_chunks(path):
        for number, line in enumerate(chunk.lines, chunk.first):
            if not places:
                names = header_of(line)
                if not set(wanted) <= set(names):
                    raise TraceError(path, f"no columns {', '.join(wanted)}", "check that the first line is there", 1)
                places = [names.index(name) if name in names else len(names) for name in (*wanted, *optional)]
                least = max(places[: len(wanted)])
                continue
            if not line or line.isspace():
                if number in chunk.overlong:
                    yield RawRow(number, b"", None, BadRow("too long"))
                continue
            try:
                text = line.decode()
                fields = text.rstrip("\r").split(",") if '"' not in text else next(csv.reader([text]))
            except UnicodeDecodeError:
                yield RawRow(number, b"", None, BadRow("not UTF-8"))
                continue
            except (csv.Error, StopIteration):
                yield RawRow(number, b"", None, BadRow("bad field", "not a row of CSV"))
                continue
            if len(fields) <= least:
                yield RawRow(
                    number,
                    b"",
                    None,
                    BadRow("incomplete" if chunk.open_end and line is chunk.lines[-1] else "bad field", ""),
                )
                continue
            fields.append("")
            yield RawRow(number, b"", [fields[place] if place < len(fields) else "" for place in places], None)


def count_in(text: str, name: str) -> int:
    """A token count of a field. Raises BadRow for what is none."""
    text = text.strip()
    if not (text.isascii() and text.isdecimal()) or len(text) > 16 or int(text) > MAX_COUNT:
        raise BadRow("bad counter", name)
    return int(text)
