"""The engine on this machine: the first token behind a cached prefix, and what eight sequences together gain.

Each sample asks twice for the same length in turn: once with everything computed, once with the prefix cached, with 30
new tokens after it. Generation is timed at batch 1 and batch 8 in turn.

    python -m benchmarks.engine [--weights tiny] [--prefix 1000] [--rounds 3] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
from statistics import median

from agentsim.engine.inference_engine import Engine
from agentsim.engine.model_loading import LoadedModel, load
from agentsim.engine.single_passes import drawn_tokens

NEW = 30


def first_tokens(loaded: LoadedModel, prefix: int, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds to the first token, computed and cached, round by round."""
    vocabulary = loaded.model.config.vocab
    pages = 2 * (prefix + NEW) // 16 + 8
    engine = Engine(loaded.model, pages=pages, keep_generated=False)
    document = drawn_tokens(prefix, vocabulary, 0)
    computed: list[float] = []
    cached: list[float] = []
    for number in range(rounds):
        engine.cache.clear()
        for found in (computed, cached):
            question = drawn_tokens(NEW, vocabulary, 1 + 2 * number + (found is cached))
            sequence = engine.submit([*document, *question], 1)
            engine.run()
            assert sequence.reused == (prefix // 16 * 16 if found is cached else 0)
            assert sequence.time_to_first_token is not None
            found.append(sequence.time_to_first_token / 1e6)
    return computed, cached


def rate(loaded: LoadedModel, batch: int, tokens: int = 24) -> float:
    """Tokens a second of so many sequences that generate together, once all prompts are computed."""
    vocabulary = loaded.model.config.vocab
    engine = Engine(loaded.model, pages=batch * 8, step_tokens=2_048)
    sequences = [engine.submit(drawn_tokens(32, vocabulary, number), tokens, stop=()) for number in range(batch)]
    engine.run()
    began = max(sequence.first_token or 0 for sequence in sequences)
    ended = max(sequence.last_token or 0 for sequence in sequences)
    return batch * (tokens - 1) * 1e9 / (ended - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default=None)
    parser.add_argument("--prefix", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=None, help="default: what fits the machine now")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    loaded = load(options.weights, threads=options.threads)
    Engine(loaded.model, pages=8).generate([drawn_tokens(40, loaded.model.config.vocab, 0)], 4)
    computed, cached = first_tokens(loaded, options.prefix, options.rounds)
    rates = [(rate(loaded, 1), rate(loaded, 8)) for _ in range(options.rounds)]
    gains = [together / alone for alone, together in rates]
    ratios = [one / other for one, other in zip(computed, cached, strict=True)]
    result = {
        "model": loaded.name,
        "threads": loaded.threads,
        "load": round(os.getloadavg()[0], 2),
        "prefix": options.prefix,
        "new": NEW,
        "computed_ms": round(median(computed), 2),
        "cached_ms": round(median(cached), 2),
        "first_token_ratio": round(median(ratios), 2),
        "first_token_ratios": [round(ratio, 2) for ratio in ratios],
        "alone_tokens_per_second": round(median(alone for alone, _ in rates), 1),
        "eight_tokens_per_second": round(median(together for _, together in rates), 1),
        "eight_ratio": round(median(gains), 2),
    }
    if options.json:
        print(json.dumps(result))
        return
    print(f"{loaded.name}, {loaded.precision}, {loaded.threads} thread(s), load {result['load']}")
    print(
        f"first token: {result['computed_ms']} ms computed, {result['cached_ms']} ms with {options.prefix:,} tokens "
        f"cached and {NEW} new ones: {result['first_token_ratio']} times faster {result['first_token_ratios']}"
    )
    print(
        f"generation: {result['alone_tokens_per_second']} tokens/s alone, "
        f"{result['eight_tokens_per_second']} with eight: {result['eight_ratio']} times"
    )


if __name__ == "__main__":
    main()
