"""What the engine's pages and bookkeeping cost beside a plain loop, and what eight sequences together gain.

One round is one token each of a plain dense loop (dense_loop.py), of the engine with one sequence, and of the engine
with eight, in turn, so that whatever else the machine does falls on all three. The tokens are compared before
time is.

    python -m benchmarks.engine_overhead [--weights PATH] [--prompt 128] [--rounds 40] [--threads N] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter

from agentsim.engine.decoder import Decoder
from agentsim.engine.inference_engine import Engine
from agentsim.engine.single_passes import drawn_tokens
from agentsim.engine.torch_threads import use_threads
from agentsim.engine.weights.find_model import load_weights
from agentsim.engine.weights.weights import Weights
from benchmarks.dense_loop import Dense

TOGETHER = 8


@dataclass(frozen=True)
class Overhead:
    """Milliseconds for one step, median of the rounds, and the medians of the rounds' ratios."""

    dense_ms: float
    one_ms: float
    eight_ms: float
    overhead: float
    """Engine over dense loop at batch 1, less 1."""
    gain: float
    """Tokens a second of eight together over those of one."""


def measure(weights: Weights, prompt: int, rounds: int) -> Overhead:
    """Time steps in turn. AssertionError where the engine's tokens are not those of the dense loop."""
    model, dense = Decoder(weights), Dense(weights, room=prompt + rounds + 2)
    text = drawn_tokens(prompt, weights.config.vocab, 0)
    expected = dense.generate(text, 1)
    pages = -(-(prompt + rounds + 2) // 16)
    one = Engine(model, pages=pages, keep_generated=False)
    eight = Engine(model, pages=TOGETHER * pages, step_tokens=TOGETHER * prompt, keep_generated=False)
    first = one.submit(text, rounds + 1, stop=())
    for number in range(TOGETHER):
        eight.submit(drawn_tokens(prompt, weights.config.vocab, number), rounds + 1, stop=())
    while not first.generated:
        one.step()
    eight.step()
    taken: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        steps: tuple[Callable[[], object], ...] = (
            lambda: expected.append(int(dense.forward(expected[-1:]).argmax())),
            one.step,
            eight.step,
        )
        taken.append((_seconds(steps[0]), _seconds(steps[1]), _seconds(steps[2])))
    assert first.generated == expected[: len(first.generated)], "the engine and the dense loop disagree"
    return Overhead(
        dense_ms=1e3 * median(plain for plain, _, _ in taken),
        one_ms=1e3 * median(single for _, single, _ in taken),
        eight_ms=1e3 * median(together for _, _, together in taken),
        overhead=median(single / plain for plain, single, _ in taken) - 1,
        gain=median(TOGETHER * single / together for _, single, together in taken),
    )


def _seconds(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default=None)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    threads = use_threads(options.threads)
    found = measure(load_weights(options.weights), options.prompt, options.rounds)
    if options.json:
        print(json.dumps({**asdict(found), "threads": threads.count}))
        return
    print(f"{threads.count} threads: {threads.reason}")
    print(f"one token: dense loop {found.dense_ms:.1f} ms, engine {found.one_ms:.1f} ms ({found.overhead:+.1%})")
    print(
        f"eight tokens of eight sequences: {found.eight_ms:.1f} ms, {found.gain:.2f} times the tokens a second of one"
    )


if __name__ == "__main__":
    main()
