"""Bytes and operations of each kernel, and on a GPU the share of the device's measured rates that each reaches.

python -m benchmarks.kernels            the formulas' table; on a GPU each kernel beside PyTorch's own, too
python -m benchmarks.kernels --tune     on a GPU: other tiles of the attention kernels, the fastest first
python -m benchmarks.kernels --compile  no GPU: every kernel of the cases compiled for sm_80, sm_90 and sm_100, with its
                                        registers, spills, shared memory and occupancy (``--tune``: all tiles instead)
python -m benchmarks.kernels --case int4 --case 'over 32'   only the cases whose line has one of these words

Each case is printed when it is done and kept in a file; the next run goes on behind it (``--again`` begins anew). What
is to be timed is compiled before, by all processors at once. The rates are measured in the same run: a large copy for
memory, a large bfloat16 product for arithmetic. Times are medians with the 20th and 80th percentile, the second-level
cache flushed before each run; rivals run in turn, and each pair twice, the other one first the second time. Without a
GPU nothing is timed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.kernel_results import Results
from benchmarks.measure import markdown

if TYPE_CHECKING:
    from agentsim.kernels.tile_sizes import Tile


class Work(NamedTuple):
    """What a kernel must at least move to and from memory, and compute."""

    bytes: int
    flops: int

    def seconds(self, copy: float, product: float) -> float:
        """The least time on a device of these rates (bytes and operations a second): the slower of the two."""
        return max(self.bytes / copy, self.flops / product)


def seen_pairs(queries: int, keys: int, window: int | None = None) -> int:
    """Query-key pairs of a causal sequence: its last ``queries`` positions see the keys up to their own.

    >>> seen_pairs(3, 5)
    12
    """
    reach = keys if window is None else window
    return sum(min(own, reach) for own in range(keys - queries + 1, keys + 1))


def attention(queries: int, keys: int, *, heads: int, kv_heads: int, size: int, width: int = 2) -> Work:
    """Of one sequence: Q and the result once, K and V of all keys once; two products of ``size`` for each seen pair.

    ``width`` is bytes of a number. A multiplication and an addition are two operations.
    """
    rows = 2 * queries * heads * size * width
    cached = 2 * keys * kv_heads * size * width
    return Work(rows + cached, 2 * 2 * seen_pairs(queries, keys) * heads * size)


def attention_int4(
    queries: int, keys: int, *, heads: int, kv_heads: int, size: int, width: int = 2, group: int = 16
) -> Work:
    """As :func:`attention`, K and V at half a byte a number and four bytes a group."""
    rows = 2 * queries * heads * size * width
    cached = 2 * keys * kv_heads * (size // 2 + size // group * 4)
    return Work(rows + cached, 2 * 2 * seen_pairs(queries, keys) * heads * size)


def rms_norm(rows: int, size: int, *, width: int = 2, residual: bool = False) -> Work:
    """Each number read and written once, with a residual twice; a square, a sum and two products for each."""
    numbers = rows * size
    return Work(numbers * width * (4 if residual else 2) + size * width, numbers * (5 if residual else 4))


def rope(tokens: int, heads: int, size: int, *, width: int = 2) -> Work:
    """Each number read and written once, the angles' cosines and sines in float32; six operations for each pair."""
    numbers = tokens * heads * size
    return Work(numbers * width * 2 + tokens * size * 4, numbers // 2 * 6)


def silu_mul(rows: int, size: int, *, width: int = 2) -> Work:
    """Two numbers read, one written; an exponential, a sum, a quotient and two products."""
    return Work(3 * rows * size * width, 5 * rows * size)


def write_pages(tokens: int, kv_heads: int, size: int, *, width: int = 2) -> Work:
    """K and V of each token read and written once, and its slot."""
    return Work(2 * 2 * tokens * kv_heads * size * width + 8 * tokens, 0)


def copy_pages(pages: int, page: int, kv_heads: int, size: int, *, width: int = 2) -> Work:
    """Each number read and written once, and the numbers of two pages."""
    return Work(2 * pages * page * kv_heads * size * width + 16 * pages, 0)


def pack_int4(numbers: int, *, width: int = 2, group: int = 16) -> Work:
    """Each number read once; half a byte for it and four bytes for its group written."""
    return Work(numbers * width + numbers // 2 + numbers // group * 4, 4 * numbers)


def sample(rows: int, vocabulary: int, *, width: int = 2, greedy: bool = True) -> Work:
    """The logits once, or three times at a temperature: maximum, denominator, place."""
    walks = 1 if greedy else 3
    return Work(walks * rows * vocabulary * width + 8 * rows, walks * rows * vocabulary)


@dataclass(frozen=True)
class Case:
    """One line of the table: a kernel, its shape in words, its work, and how it is run beside which rivals."""

    kernel: str
    shape: str
    work: Work
    sequences: int = 1
    queries: int = 1
    keys: int = 0

    @property
    def line(self) -> str:
        """By which it is chosen, and kept."""
        return f"{self.kernel} {self.shape}"

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.work.flops / self.work.bytes


HEADS, KV_HEADS, SIZE, PAGE = 64, 8, 128, 16
"""Groups of eight query heads, as in Llama 3 70B."""

HIDDEN, FFN, VOCABULARY = 8_192, 28_672, 128_256


def times(work: Work, count: int) -> Work:
    """The work of so many sequences."""
    return Work(work.bytes * count, work.flops * count)


def cases() -> Iterator[Case]:
    """What is measured."""
    shape = {"heads": HEADS, "kv_heads": KV_HEADS, "size": SIZE}
    for sequences, keys in product((1, 8, 64), (4_096, 32_768)):
        words = f"{sequences} × 1 token over {keys:,}"
        yield Case("paged_attention", words, times(attention(1, keys, **shape), sequences), sequences, 1, keys)
        yield Case(
            "paged_attention_int4", words, times(attention_int4(1, keys, **shape), sequences), sequences, 1, keys
        )
    for queries, keys in ((4_096, 4_096), (16_384, 16_384), (512, 16_384)):
        words = f"1 × {queries:,} tokens over {keys:,}"
        yield Case("paged_attention", words, attention(queries, keys, **shape), 1, queries, keys)
    for rows in (64, 8_192):
        yield Case("rms_norm", f"{rows:,} × {HIDDEN:,}", rms_norm(rows, HIDDEN, residual=True), queries=rows)
        yield Case("rope", f"{rows:,} × {HEADS} × {SIZE}", rope(rows, HEADS, SIZE), queries=rows)
        yield Case("silu_mul", f"{rows:,} × {FFN:,}", silu_mul(rows, FFN), queries=rows)
        yield Case("write_pages", f"{rows:,} × {KV_HEADS} × {SIZE}", write_pages(rows, KV_HEADS, SIZE), queries=rows)
        yield Case("pack_int4", f"{rows:,} × {KV_HEADS} × {SIZE}", pack_int4(rows * KV_HEADS * SIZE), queries=rows)
    yield Case("copy_pages", f"256 pages of {PAGE}", copy_pages(256, PAGE, KV_HEADS, SIZE), queries=256)
    yield Case("sample", f"64 × {VOCABULARY:,}, greedy", sample(64, VOCABULARY), queries=64)


def formulas(chosen: Iterable[Case]) -> str:
    """The table that needs no device."""
    rows = [
        [case.kernel, case.shape, f"{case.work.bytes:,}", f"{case.work.flops:,}", f"{case.intensity:.1f}"]
        for case in chosen
    ]
    return markdown(rows, ["kernel", "shape", "bytes", "operations", "operations a byte"])


class Time(NamedTuple):
    """Milliseconds: the median and the 20th and 80th percentile of the runs."""

    median: float
    low: float
    high: float


def timed(call: Callable[[], object], rep: int = 300) -> Time:
    """One call's time on the device; ``rep`` milliseconds of runs."""
    from triton.testing import do_bench

    return Time(*do_bench(call, warmup=min(50, rep // 4), rep=rep, quantiles=[0.5, 0.2, 0.8]))


def rates() -> tuple[float, float]:
    """Bytes a second of a large copy, read and written; operations a second of a large bfloat16 product."""
    import torch

    source = torch.empty(2**30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    copy = 2 * source.numel() / (timed(lambda: target.copy_(source)).median * 1e-3)
    side = 8_192
    left = torch.randn(side, side, dtype=torch.bfloat16, device="cuda")
    product = 2 * side**3 / (timed(lambda: left @ left).median * 1e-3)
    return copy, product


def calls(case: Case, device: str = "cuda") -> dict[str, Callable[..., Any]]:
    """Ours, and what PyTorch has for the same: attention on keys that lie together, as it has no pages. On the device
    ``meta`` nothing is allocated, for compiling alone."""
    import torch

    from agentsim.kernels.kernel_dispatch import implementation

    generator = torch.Generator(device).manual_seed(0) if device != "meta" else None

    def random(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        if device == "meta":
            return torch.empty(shape, dtype=dtype, device=device)
        return torch.randn(shape, generator=generator, dtype=dtype, device=device)

    def shuffled(count: int) -> torch.Tensor:
        return torch.arange(count, device=device) if device == "meta" else torch.randperm(count, device=device)

    def ours(*arguments: Any, **named: Any) -> Callable[..., Any]:
        return lambda **more: implementation(case.kernel, "triton")(*arguments, **named, **more)

    def theirs(*arguments: Any, **named: Any) -> Callable[[], Any]:
        return lambda: implementation(case.kernel, "reference")(*arguments, **named)

    rows = case.queries
    if case.kernel.startswith("paged_attention"):
        columns = case.keys // PAGE
        pages = case.sequences * columns
        tables = shuffled(pages).view(case.sequences, columns).int()
        starts = torch.arange(case.sequences + 1, device=device, dtype=torch.int32) * case.queries
        lengths = torch.full((case.sequences,), case.keys, device=device, dtype=torch.int32)
        q = random(case.sequences * case.queries, HEADS, SIZE)
        k, v = random(pages, PAGE, KV_HEADS, SIZE), random(pages, PAGE, KV_HEADS, SIZE)
        scale = SIZE**-0.5
        if case.kernel == "paged_attention_int4":
            pack = implementation("pack_int4", "reference" if device == "meta" else "triton")
            return {"ours": ours(q, *pack(k), *pack(v), tables, starts, lengths, scale=scale)}
        made = {"ours": ours(q, k, v, tables, starts, lengths, scale=scale)}
        if device == "meta":
            return made
        queries = q.view(case.sequences, case.queries, HEADS, SIZE).transpose(1, 2)
        keys = k.view(case.sequences, case.keys, KV_HEADS, SIZE).transpose(1, 2)
        values = v.view(case.sequences, case.keys, KV_HEADS, SIZE).transpose(1, 2)
        return made | dense_attention(case, queries, keys, values, scale)
    if case.kernel == "rms_norm":
        arguments: tuple[Any, ...] = (random(rows, HIDDEN), random(HIDDEN), 1e-5, random(rows, HIDDEN))
    elif case.kernel == "rope":
        angles = random(rows, SIZE // 2, dtype=torch.float32)
        positions = torch.arange(rows, device=device)
        arguments = (random(rows, HEADS, SIZE), positions, angles.cos(), angles.sin())
        return {"ours": ours(*arguments, interleaved=False), "PyTorch": theirs(*arguments, interleaved=False)}
    elif case.kernel == "silu_mul":
        arguments = (random(rows, FFN), random(rows, FFN))
    elif case.kernel == "write_pages":
        room = random(2, rows // PAGE, PAGE, KV_HEADS, SIZE)
        slots = shuffled(rows)
        arguments = (random(rows, KV_HEADS, SIZE), random(rows, KV_HEADS, SIZE), room[0], room[1], slots)
    elif case.kernel == "copy_pages":
        order = shuffled(2 * rows)
        arguments = (random(2 * rows, PAGE, KV_HEADS, SIZE), order[:rows], order[rows:])
    elif case.kernel == "pack_int4":
        arguments = (random(rows, KV_HEADS, SIZE),)
    else:
        arguments = (random(rows, VOCABULARY), torch.zeros(rows, device=device))
    return {"ours": ours(*arguments), "PyTorch": theirs(*arguments)}


def dense_attention(case: Case, q: Any, k: Any, v: Any, scale: float) -> dict[str, Callable[..., Any]]:
    """PyTorch's fused attention and FlexAttention, where they can do the case."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    from torch.nn.functional import scaled_dot_product_attention

    ahead = case.keys - case.queries
    is_prompt = case.queries > 1
    made: dict[str, Callable[..., Any]] = {}
    if not is_prompt or ahead == 0:  # its causal mask knows no cached beginning
        made["SDPA"] = lambda: scaled_dot_product_attention(q, k, v, is_causal=is_prompt, scale=scale, enable_gqa=True)

    def sees(_b: Any, _h: Any, query: Any, key: Any) -> Any:
        return key <= query + ahead

    mask = create_block_mask(sees, None, None, case.queries, case.keys, device="cuda") if is_prompt else None
    flex = torch.compile(flex_attention)
    made["FlexAttention"] = lambda: flex(q, k, v, block_mask=mask, scale=scale, enable_gqa=True)
    return made


def measure(chosen: list[Case], results: Results) -> None:
    """Each case, ours and the others in both orders: printed and kept when it is done."""
    import torch

    copy, rate = rates()
    print(f"{torch.cuda.get_device_name()}: copy {copy / 1e12:.2f} TB/s, bfloat16 {rate / 1e12:.0f} TFLOP/s\n")
    print(markdown([], ["kernel", "shape", "whose", "ms", "p20–p80", "of the device's rates"]))
    for case in chosen:
        lines = results.kept(case.line)
        if lines is None:
            least = case.work.seconds(copy, rate) * 1e3
            made = calls(case)
            found: dict[str, list[Time]] = {name: [] for name in made}
            for names in (list(made), list(reversed(made))):
                for name in names:
                    found[name].append(timed(made[name]))
            lines = []
            for name, both in found.items():
                best = min(both)
                share = f"{100 * least / best.median:.0f} %"
                lines.append([name, f"{best.median:.3f}", f"{best.low:.3f}–{best.high:.3f}", share])
            results.keep(case.line, lines)
        for line in lines:
            print(f"| {' | '.join([case.kernel, case.shape, *line])} |", flush=True)


def tiles_to_try(case: Case) -> list[Tile]:
    """Tiles of an attention case. Of a single token, rows are as few as a product takes."""
    from agentsim.kernels.tile_sizes import Tile

    sides = (16, 32) if case.queries == 1 else (64, 128)
    return [Tile(*each) for each in product(sides, (32, 64, 128), (4, 8), (2, 3, 4, 5))]


def tune(chosen: list[Case], results: Results) -> None:
    """Each attention case with many tiles, the fastest first; tiles that don't fit the device are left out."""
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources, PTXASError

    print(markdown([], ["kernel", "shape", "rows, keys, warps, stages", "ms"]))
    for case in chosen:
        lines = results.kept(f"tune {case.line}")
        if lines is None:
            call = calls(case)["ours"]
            found = []
            for tile in tiles_to_try(case):
                try:
                    found.append((timed(partial(call, configuration=tile), rep=60).median, tile))
                except (OutOfResources, CompilationError, PTXASError):
                    continue
            lines = [[str(tuple(tile)), f"{ms:.3f}"] for ms, tile in sorted(found)[:5]]
            results.keep(f"tune {case.line}", lines)
        for line in lines:
            print(f"| {' | '.join([case.kernel, case.shape, *line])} |", flush=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--tune", action="store_true", help="time other tiles of the attention kernels")
    parser.add_argument("--compile", action="store_true", help="compile for GPUs that need not be here, and say how")
    parser.add_argument(
        "--case", action="append", default=[], metavar="WORD", help="only cases with this in their line"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that compile")
    parser.add_argument("--again", action="store_true", help="measure again what is kept from an earlier run")
    arguments = parser.parse_args()
    chosen = [case for case in cases() if not arguments.case or any(word in case.line for word in arguments.case)]
    if not chosen:
        parser.error(f"no case has {' or '.join(arguments.case)!r} in its line")
    if arguments.tune:
        chosen = [case for case in chosen if case.kernel.startswith("paged_attention")]
    if arguments.compile:
        from benchmarks.kernel_compiling import compile_table

        print(compile_table(chosen, arguments.jobs, tuning=arguments.tune), flush=True)
        return
    print(formulas(chosen))
    try:
        import torch

        has_gpu = torch.cuda.is_available()
    except ImportError:
        has_gpu = False
    if not has_gpu:
        print("\nNo GPU here: nothing was timed.")
        sys.exit(1 if arguments.tune else 0)
    from benchmarks.kernel_compiling import compile_ahead

    print(f"\n{compile_ahead(chosen, arguments.jobs, tuning=arguments.tune)}\n", flush=True)
    results = Results(Path(".benchmarks") / f"kernels-{torch.cuda.get_device_name().replace(' ', '-')}.jsonl")
    if arguments.again:
        results.forget()
    (tune if arguments.tune else measure)(chosen, results)


if __name__ == "__main__":
    main()
