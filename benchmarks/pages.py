"""Admitting a long prompt whose prefix is cached: milliseconds, and what a tenfold pool does to them.

A prompt of 43,000 tokens with pages of 16 has 2,687 full pages to be found and 1 to be had. Each pool is filled with
idle pages, which is the worst that an admission can meet; the pools are measured in turn, and each sample is one
admission: finding the prefix, taking its pages, releasing them again (not timed). Times are those of the processor,
which a busy machine does not lengthen as it does the time on the clock (told as well). ``known`` begins with tokens
whose digests are kept with the conversation, ``hashed`` with bare tokens.

    python -m benchmarks.pages [--tokens 43000] [--rounds 200] [--json]
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import time
from statistics import median

from agentsim.engine.page_pool import PagePool
from agentsim.engine.prefix_cache import PrefixCache
from agentsim.engine.token_chain import TokenChain, root_digest

PAGE = 16
VOCABULARY = 49_152


def filled(pages: int, prompt: TokenChain) -> PrefixCache:
    """A cache of so many pages, all of them idle, the prompt's somewhere among them."""
    dice = random.Random(pages)
    cache = PrefixCache(PagePool(pages, PAGE))
    others = [TokenChain(prompt.root, PAGE, [dice.randrange(VOCABULARY) for _ in range(PAGE * 500)]) for _ in range(4)]
    wanted = len(prompt.digests)
    for chain in (*others[:2], prompt, *others[2:]):
        keep(cache, chain, min(len(chain.digests), wanted))
    number = 0
    while len(cache.pool.free) > 1:
        number += 1
        tokens = [number, *[dice.randrange(VOCABULARY) for _ in range(PAGE * 100 - 1)]]
        chain = TokenChain(prompt.root, PAGE, tokens)
        keep(cache, chain, min(100, len(cache.pool.free) - 1))
    return cache


def keep(cache: PrefixCache, chain: TokenChain, blocks: int) -> None:
    """Compute and release so many blocks of a chain."""
    table = cache.allocate(blocks)
    table = [cache.register(chain, index, page) for index, page in enumerate(table)]
    cache.release(table)


def admit(cache: PrefixCache, prompt: TokenChain) -> list[int]:
    """What the scheduler does to admit a prompt: ask what is there and whether there is room, then take it."""
    match = cache.match(prompt, len(prompt) - 1)
    fresh = cache.pool.pages_for(len(prompt)) - len(match.places)
    assert cache.has_room(match, fresh)
    return cache.take(match, fresh)


def sample(cache: PrefixCache, prompt: TokenChain, *, hashed: bool) -> tuple[float, float]:
    """Milliseconds of one admission, by the processor and by the clock."""
    chain = prompt
    began, began_clock = time.process_time_ns(), time.perf_counter_ns()
    if hashed:
        chain = TokenChain(prompt.root, PAGE, prompt.tokens)
    table = admit(cache, chain)
    spent, spent_clock = time.process_time_ns() - began, time.perf_counter_ns() - began_clock
    assert len(table) == cache.pool.pages_for(len(prompt))
    cache.release(table)
    return spent / 1e6, spent_clock / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=43_000)
    parser.add_argument("--pages", type=int, nargs="+", default=[5_000, 50_000, 500_000])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    dice = random.Random(0)
    prompt = TokenChain(root_digest(b"weights"), PAGE, [dice.randrange(VOCABULARY) for _ in range(options.tokens)])
    caches = {pages: filled(pages, prompt) for pages in options.pages}
    samples: dict[tuple[int, bool], list[tuple[float, float]]] = {
        (pages, hashed): [] for pages in caches for hashed in (False, True)
    }
    gc.collect()
    gc.freeze()
    for number in range(options.rounds + 5):
        for (pages, hashed), found in samples.items():
            milliseconds = sample(caches[pages], prompt, hashed=hashed)
            if number >= 5:
                found.append(milliseconds)
    busy = {key: median(spent for spent, _ in found) for key, found in samples.items()}
    results = [
        {
            "pages": pages,
            "known_ms": round(busy[pages, False], 3),
            "hashed_ms": round(busy[pages, True], 3),
            "hashed_clock_ms": round(median(clock for _, clock in samples[pages, True]), 3),
            "ratio_to_before": round(busy[pages, True] / busy[before, True], 3),
        }
        for before, pages in zip((options.pages[0], *options.pages), options.pages, strict=False)
    ]
    if options.json:
        print(json.dumps({"tokens": options.tokens, "page": PAGE, "rounds": options.rounds, "pools": results}))
        return
    print(f"admitting {options.tokens:,} tokens, all cached, pages of {PAGE}; medians of {options.rounds}")
    for row in results:
        print(
            f"{row['pages']:>9,} pages: {row['known_ms']:.2f} ms, with hashing {row['hashed_ms']:.2f} ms "
            f"({row['hashed_clock_ms']:.2f} by the clock), {row['ratio_to_before']:.2f} of the pool before"
        )


if __name__ == "__main__":
    main()
