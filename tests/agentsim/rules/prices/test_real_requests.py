"""Every request of real logs costs what the price library says, to the last digit."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from agentsim.core.money import dollars
from agentsim.rules.prices import PriceBook, billable_usage
from agentsim.traces.readers.claude_code import read_sessions


def test_real_requests_cost_what_the_library_says(shared_data):
    import genai_prices

    book = PriceBook()
    seen: Counter[str] = Counter()
    for session in read_sessions([str(shared_data / "claude-code")]):
        for request in session.requests:
            usage = billable_usage(request)
            paid, equivalents = book.price(request)
            if usage is None or usage.total_input is None or request.start is None:
                continue
            try:
                theirs = genai_prices.calc_price(
                    genai_prices.Usage(
                        input_tokens=usage.total_input,
                        cache_read_tokens=usage.read or 0,
                        cache_write_tokens=usage.write or 0,
                        cache_write_1h_tokens=usage.write_long or 0,
                        output_tokens=usage.output or 0,
                    ),
                    request.model,
                    provider_id="anthropic",
                    genai_request_timestamp=datetime.fromtimestamp(request.start // 10**9, UTC),
                    price_context={"speed": request.speed} if request.speed else None,
                )
            except LookupError:
                assert paid is None
                seen["not priced"] += 1
                continue
            assert paid is not None
            assert dollars(paid) == theirs.total_price, request.id
            assert equivalents is not None
            seen["fast" if request.speed == "fast" else "standard"] += 1
    # Enough of them, a fork's copies included; and the 51 requests of the one session that ran in fast mode.
    assert seen["standard"] >= 1_900
    assert seen["fast"] == 51
