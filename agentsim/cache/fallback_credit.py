"""A request that one model refused, sent again to another: what was warm there is billed as read here.

Such a request carries a token of the refusal (setting ``fallback_credit``). Only the bill changes: the second model has
read nothing, and keeps the prompt as it would have without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentsim.cache.entry_store import Address, CacheEntry, PrefixStore, Spaces
from agentsim.core.session import Request

CLAIM = ("fallback_credit", "true")
"""The setting of a request that carries such a token. The token itself is never kept."""


def credited(
    request: Request, address: Address, store: PrefixStore, spaces_of: Callable[[str], Spaces | None],
    positions: Sequence[int], now: int, lookback: int,
) -> CacheEntry | None:  # fmt: skip
    """The longest entry that another model would have read of this prompt at ``now``. Changes nothing.

    ``spaces_of`` tells where the entries of a model are, as far as the request may use them.
    """
    own = address.spaces[2].identity
    models = dict.fromkeys(space.identity[1] for space in store.spaces_like(lambda other: other[0] == own[0]))
    best: CacheEntry | None = None
    for model in models:
        spaces = spaces_of(model) if model != own[1] else None
        if spaces is None:
            continue
        found = store.find(Address(address.prompt, spaces, address.chain), positions, now, lookback)
        if found is not None and (best is None or found.length > best.length):
            best = found
    return best
