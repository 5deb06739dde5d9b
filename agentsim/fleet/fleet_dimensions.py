"""What the figures of a fleet can be looked at by. Commands offer these names before anything else is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

LOSSES_BY = ("cause", "harness", "version", "model", "project", "team", "week", "tier")
"""What losses can be added up by."""

WATCHED_BY = ("harness", "version", "model", "tier", "project", "team")
"""Of what each value can be watched by itself."""


def with_named_versions(table: pa.Table) -> pa.Table:
    """A table of results with the name of the harness before each version: ``claude-code 2.1.240``. Fleets run several
    harnesses, and their numbers alone do not tell whose they are."""
    import pyarrow.compute as pc

    named = pc.binary_join_element_wise(table["harness"], table["version"], " ")
    place = table.schema.get_field_index("version")
    return table.set_column(place, "version", pc.coalesce(named, table["version"]))
