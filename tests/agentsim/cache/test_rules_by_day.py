"""Rules are looked up once for a model on a day, and anew on the next."""

from __future__ import annotations

from agentsim.cache.rules_in_force import ByDay
from agentsim.core.dates import DAY, SECOND
from agentsim.core.session import Request


def test_once_a_day() -> None:
    asked: list[tuple[str, int, bool]] = []

    def look_up(request: Request, now: int, marked: bool) -> str:
        asked.append((request.model, now, marked))
        return f"{request.model} on {now // DAY}"

    found = ByDay(look_up)
    request = Request(id="r", lane="main", model="m", provider="p", start=0)
    noon = 20_000 * DAY + 43_200 * SECOND
    midnight = 20_001 * DAY
    times = (20_000 * DAY, noon, midnight - 1, midnight, midnight + SECOND)
    assert [found.of(request, time) for time in times] == ["m on 20000"] * 3 + ["m on 20001"] * 2
    assert asked == [("m", 20_000 * DAY, False), ("m", midnight, False)]
