"""The rows that a line of the totals sums up."""

from __future__ import annotations

from typing import Literal, NamedTuple

from agentsim.diagnose import Diagnosis

GroupField = Literal["cause", "model", "lane", "purpose", "kind"]


class RowGroup(NamedTuple):
    """The rows that a line of the totals sums up: those whose ``field`` is ``value``. ``name`` is for people."""

    field: GroupField
    value: str
    name: str

    def rows(self, diagnosis: Diagnosis) -> list[int]:
        """The numbers (from 0) of its rows: those that the sums count."""
        verdicts, value = diagnosis.verdicts, self.value
        requests = diagnosis.session.requests
        if self.field == "cause":
            found = (i for i, verdict in enumerate(verdicts) if verdict.kind == "miss" and verdict.cause == value)
        elif self.field == "kind":
            found = (i for i, verdict in enumerate(verdicts) if verdict.kind == value)
        else:
            field = self.field
            found = (i for i, request in enumerate(requests) if getattr(request, field) == value)
        return [index for index in found if requests[index].counted]
