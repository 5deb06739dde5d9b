"""A table for programs and notebooks: flat records, as a frame of pandas, as CSV, as HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any

from agentsim.core.counts import plural
from agentsim.core.extras import how_to_install, not_installed
from agentsim.report.clean import clean

if TYPE_CHECKING:
    import pandas

    from agentsim.report.python.table_chart import TableChart

Record = dict[str, Any]

MOST_SHOWN = 50
"""Rows that a notebook shows of a table."""


class RecordTable:
    """Records with the same keys. Money is in dollars, a :class:`~decimal.Decimal`; what is not known is None."""

    def __init__(self, columns: Sequence[str], records: Sequence[Record]) -> None:
        self.columns = tuple(columns)
        self._records = list(records)

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __getitem__(self, index: int) -> Record:
        return self._records[index]

    def __repr__(self) -> str:
        return f"<{plural(len(self), 'record')}: {', '.join(self.columns)}>"

    def records(self) -> list[Record]:
        """The records, each a dictionary of its own."""
        return [dict(record) for record in self._records]

    def to_csv(self) -> str:
        """All of it as CSV with a header; what is not known is empty."""
        stream = io.StringIO()
        writer = csv.DictWriter(stream, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: "" if value is None else value for key, value in one.items()} for one in self._records)
        return stream.getvalue()

    def to_pandas(self) -> pandas.DataFrame:
        """A frame; decimals become floats. Raises ImportError, with what to install, where pandas is missing."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(f"{not_installed(error.name)}: {how_to_install('sweep')}") from None
        rows = [
            {key: float(value) if isinstance(value, Decimal) else value for key, value in record.items()}
            for record in self._records
        ]
        return pandas.DataFrame(rows, columns=list(self.columns))

    def chart(self, name: str, value: str, *, title: str = "", upright: bool = False, most: int = 20) -> TableChart:
        """Bars: for each of the first ``most`` records the number in one column under the name in another.

        ``upright`` is for times. Records without that number are left out. Raises KeyError for a column that is not
        there and TypeError for one without numbers.
        """
        from agentsim.report.python.table_chart import chart_of

        pairs = [(record[name], record[value]) for record in self._records[:most]]
        return chart_of(pairs, title or f"{value} by {name}", upright=upright)

    def _repr_html_(self) -> str:
        """The first rows, for a notebook. Text of a log is shown inert."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_shown(record.get(name))}</td>" for name in self.columns) + "</tr>"
            for record in self._records[:MOST_SHOWN]
        )
        more = len(self) - MOST_SHOWN
        note = f"<p>and {more:,} more</p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Decimal):
        return f"${value:,.4f}"
    return escape(clean(str(value)))
