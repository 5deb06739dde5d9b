"""Why pages count their readers, told on a real model: what happens to a sequence when its pages do not.

Each story lets one sequence (A) write on while another one (B) comes and needs pages, and compares A with itself when
it is alone: how many of its next tokens would be others, and how far its scores are off. A is fed the tokens that it
chose alone, so that each step is compared on equal terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from agentsim.engine.inference_engine import Engine, EngineModel
from agentsim.engine.page_pool import OutOfPages, PagePool
from agentsim.engine.prefix_cache import Order
from agentsim.engine.single_passes import Passes, WatchedModel, difference, drawn_tokens

PAGE = 16
Protection = Literal["none", "flag", "counts"]
"""What keeps a page from being given out: nothing but how recently it was given out; a mark "in use" that whoever
finishes takes away; or the number of those who read it."""


@dataclass(frozen=True)
class Damage:
    """What became of A. ``waited`` tells that B got no pages until A had finished; ``changed`` of ``compared`` tokens
    would have been others: ``said`` instead of ``alone``; ``difference`` is the largest one between its scores and
    those that it has alone."""

    protection: str
    waited: bool
    compared: int
    changed: int
    difference: float
    alone: tuple[int, ...]
    said: tuple[int, ...]


@dataclass(frozen=True)
class PrefixReturn:
    """A prompt that comes back after one page was given up: how much of it was still of use, and what came out."""

    order: Order
    prompt: int
    hit: int
    reachable: int
    """Pages that a prompt can still find."""
    kept: int
    """Pages that still take room."""
    difference: float
    """Between its scores and those without any cache, the largest absolute one."""
    same_tokens: bool


class _Pages:
    """Gives out pages under a kind of protection."""

    def __init__(self, size: int, protection: Protection) -> None:
        self.pool = PagePool(size, PAGE)
        self.protection = protection
        self._used = [0] * size
        self._busy = [False] * size
        self._time = 0

    def take(self, number: int) -> list[int]:
        """So many pages. Raises OutOfPages."""
        if self.protection == "counts":
            return self.pool.allocate(number)
        may = [page for page in range(self.pool.size) if self.protection == "none" or not self._busy[page]]
        may.sort(key=lambda page: self._used[page])
        if len(may) < number:
            raise OutOfPages(f"{number} pages wanted, {len(may)} not in use")
        taken = may[:number]
        for page in taken:
            self._time += 1
            self._used[page] = self._time
            self._busy[page] = True
        return taken

    def share(self, pages: Sequence[int]) -> None:
        """Another one reads these pages too."""
        if self.protection == "counts":
            self.pool.retain(pages)

    def leave(self, pages: Sequence[int]) -> None:
        """A reader of these pages has finished."""
        if self.protection == "counts":
            self.pool.release(pages)
        for page in pages:
            self._busy[page] = False


def taken_while_writing(
    model: EngineModel, protection: Protection, tokens: int = 16, seed: int = 0, text: Sequence[int] | None = None
) -> Damage:
    """B arrives while A is writing, and there are not enough free pages for it.

    The prompts follow each other in ``text``, or are drawn.
    """
    prompt = _part(model, text, 0, 9 * PAGE + 5, seed)
    other = _part(model, text, len(prompt), 5 * PAGE, seed + 1)
    half = 8
    chosen, alone = _alone(model, prompt, half + tokens)
    pages = _Pages(14, protection)
    passes = Passes(model, pages.pool.size, PAGE)
    table = pages.take(-(-(len(prompt) + half + tokens) // PAGE))
    passes.run(prompt, 0, table)
    _continue(passes, table, prompt, chosen, 0, half)
    waited = not _arrives(passes, pages, other)
    found = _continue(passes, table, prompt, chosen, half, tokens)
    pages.leave(table)
    if waited:
        assert _arrives(passes, pages, other)
    return _damage(protection, waited, found, alone[half:])


def shared_and_left(
    model: EngineModel, protection: Protection, tokens: int = 20, seed: int = 0, text: Sequence[int] | None = None
) -> Damage:
    """Two sequences read the same 11 pages. The first one finishes, then B arrives; the second one (A) goes on.

    The prompts follow each other in ``text``, or are drawn.
    """
    shared = _part(model, text, 0, 11 * PAGE, seed)
    prompt = [*shared, *_part(model, text, len(shared), 5, seed + 1)]
    other = _part(model, text, len(prompt), 4 * PAGE, seed + 2)
    chosen, alone = _alone(model, prompt, tokens, len(shared))
    pages = _Pages(15, protection)
    passes = Passes(model, pages.pool.size, PAGE)
    prefix = pages.take(11)
    passes.run(shared, 0, prefix, logits=0)
    first = [*prefix, *pages.take(1)]
    pages.share(prefix)
    second = [*prefix, *pages.take(2)]
    passes.run(drawn_tokens(5, model.config.vocab, seed + 3), len(shared), first)
    passes.run(prompt[len(shared) :], len(shared), second, logits=0)
    pages.leave(first)
    waited = not _arrives(passes, pages, other)
    found = _continue(passes, second, prompt, chosen, 0, tokens)
    pages.leave(second)
    if waited:
        assert _arrives(passes, pages, other)
    return _damage(protection, waited, found, alone)


def protected_until(
    model: EngineModel, design: Literal["copy", "shared"], until: Literal["copied", "last read"], seed: int = 0
) -> Damage:
    """A cached prefix is read by A, and its pages are given to B: when may that be?

    With ``copy`` A takes the prefix into pages of its own, and needs the old ones no longer than that. With ``shared``
    it reads them at every step, and needs them until its last.
    """
    prefix = drawn_tokens(6 * PAGE, model.config.vocab, seed)
    prompt = [*prefix, *drawn_tokens(3, model.config.vocab, seed + 1)]
    other = drawn_tokens(6 * PAGE, model.config.vocab, seed + 2)
    tokens = 12
    chosen, alone = _alone(model, prompt, tokens, len(prefix))
    passes = Passes(model, 16, PAGE)
    cached, own = list(range(6)), list(range(6, 13))
    passes.run(prefix, 0, cached, logits=0)
    table = [*cached, own[6]]
    if design == "copy":
        for source, target in zip(cached, own, strict=False):
            passes.kv.copy(source, target)
        table = own
    if until == "copied":
        passes.run(other, 0, cached, logits=0)
    passes.run(prompt[len(prefix) :], len(prefix), table, logits=0)
    found = _continue(passes, table, prompt, chosen, 0, tokens)
    if until == "last read":
        passes.run(other, 0, cached, logits=0)
    return _damage(f"{design}, until {until}", until == "last read", found, alone)


def return_after_eviction(model: EngineModel, order: Order, seed: int = 0) -> PrefixReturn:
    """A prompt of 195 tokens leaves 12 full pages behind; one of them is given up, and the prompt comes back.

    ``tail_first`` gives up the last page: the first 11 are of use. ``head_first`` gives up the first one: the other 11
    take room, and nothing leads to them.
    """
    prompt = drawn_tokens(195, model.config.vocab, seed)
    tokens = 12
    watched = WatchedModel(model)
    engine = Engine(watched, pages=32, page_size=PAGE, keep_generated=False)
    engine.cache.order = order
    engine.submit(prompt, 1, stop=())
    engine.run()
    engine.cache.evict(1)
    kept = len(engine.cache)
    reachable = len(engine.cache.match(engine.chain(prompt)).places)
    again = engine.submit(prompt, tokens, stop=())
    scores = _scores(engine, watched)
    bare = WatchedModel(model)
    uncached = Engine(bare, pages=32, page_size=PAGE, prefix_cache=False)
    expected = uncached.submit(prompt, tokens, stop=())
    right = _scores(uncached, bare)
    return PrefixReturn(
        order=order,
        prompt=len(prompt),
        hit=again.reused,
        reachable=reachable,
        kept=kept,
        difference=difference(scores, right),
        same_tokens=again.generated == expected.generated,
    )


def _alone(model: EngineModel, prompt: Sequence[int], tokens: int, prefix: int = 0) -> tuple[list[int], torch.Tensor]:
    """What a prompt is continued with, and the scores after each of these tokens, when nothing else runs.

    The first ``prefix`` tokens are computed by themselves, as in the story, so that rounding is the same.
    """
    pages = -(-(len(prompt) + tokens) // PAGE)
    passes = Passes(model, pages, PAGE)
    if prefix:
        passes.run(prompt[:prefix], 0, range(pages), logits=0)
    scores = [passes.run(prompt[prefix:], prefix, range(pages))]
    chosen: list[int] = []
    for at in range(tokens):
        chosen.append(int(scores[-1].argmax()))
        scores.append(passes.run(chosen[-1:], len(prompt) + at, range(pages)))
    return chosen, torch.cat(scores[1:])


def _continue(
    passes: Passes, table: Sequence[int], prompt: Sequence[int], chosen: Sequence[int], done: int, tokens: int
) -> torch.Tensor:
    """The scores after each of the next tokens, of which ``done`` are in the pages."""
    found = []
    for at in range(done, done + tokens):
        found.append(passes.run(chosen[at : at + 1], len(prompt) + at, table))
    return torch.cat(found)


def _arrives(passes: Passes, pages: _Pages, prompt: Sequence[int]) -> bool:
    """B takes pages for its prompt and computes it; False when it gets none."""
    try:
        table = pages.take(-(-len(prompt) // PAGE))
    except OutOfPages:
        return False
    passes.run(prompt, 0, table)
    return True


def _part(model: EngineModel, text: Sequence[int] | None, start: int, count: int, seed: int) -> list[int]:
    """Tokens of a text, or drawn ones. Raises ValueError for a text that is too short."""
    if text is None:
        return drawn_tokens(count, model.config.vocab, seed)
    if len(text) < start + count:
        raise ValueError(f"a text of {len(text)} tokens has no {count} behind {start}")
    return list(text[start : start + count])


def _damage(protection: str, waited: bool, found: torch.Tensor, alone: torch.Tensor) -> Damage:
    expected, said = (tuple(scores.argmax(-1).tolist()) for scores in (alone, found))
    changed = sum(a != b for a, b in zip(expected, said, strict=True))
    return Damage(protection, waited, len(found), changed, difference(found, alone), expected, said)


def _scores(engine: Engine, watched: WatchedModel) -> torch.Tensor:
    """The scores of each token of the only sequence that runs."""
    found = []
    while not engine.is_idle:
        engine.step()
        assert watched.scores is not None
        found.append(watched.scores)
    return torch.cat(found)
