"""One dimension of a fleet as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from agentsim.report.clean import clean

if TYPE_CHECKING:
    from agentsim.fleet.fleet_figures import FleetGroup

_LIVE = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def csv_of(groups: Sequence[FleetGroup], dimension: str) -> str:
    """The groups of a dimension with a header. Sums of money are exact dollars; names are made safe
    to show, and cannot be formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    fields = [name for name in groups[0].__struct_fields__ if name != "name"] if groups else []
    writer.writerow([dimension, *fields])
    for group in groups:
        name = clean(group.name)
        if name.startswith(_LIVE) or group.name.startswith(_LIVE):
            name = f"'{name}"
        writer.writerow([name, *(_cell(getattr(group, field)) for field in fields)])
    return text.getvalue()


def _cell(value: int | Decimal | None) -> str:
    return "" if value is None else f"{value:f}" if isinstance(value, Decimal) else str(value)
