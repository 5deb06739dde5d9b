"""What a request costs: dated list prices, compiled to exact integers.

The prices are those of the ``genai-prices`` library, at the request's own time, model and prompt size; what it lacks is
in ``prices.toml``, each entry with its source and date. A model without a known price has no rate card: callers count
such requests as "not priced", never as free.
"""

from agentsim.rules.prices.billing import billable_usage, billed_parts
from agentsim.rules.prices.price_book import PriceBook, default_book, rate_card
from agentsim.rules.prices.rate_card import RateCard, cost, equivalents, input_cost, storage_cost

__all__ = [
    "PriceBook",
    "RateCard",
    "billable_usage",
    "billed_parts",
    "cost",
    "default_book",
    "equivalents",
    "input_cost",
    "rate_card",
    "storage_cost",
]
