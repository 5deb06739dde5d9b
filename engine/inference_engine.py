"""The engine: a model, its pages, their cache and a scheduler, stepped until the work is done.

What is generated depends on the prompt, the seed and the model alone: not on the cache, on what runs beside it, on
preemptions or on any clock. The random number of a token is drawn from the seed and the token's position.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

import torch

from agentsim.engine.forward_batch import Batch, TokenRun
from agentsim.engine.kv_pages import PageRoom, room_for
from agentsim.engine.page_moves import Clock, KVMover
from agentsim.engine.page_pool import PagePool
from agentsim.engine.prefix_cache import PrefixCache
from agentsim.engine.scheduler import Scheduler, Share
from agentsim.engine.sequence import Sequence
from agentsim.engine.token_chain import TOKEN, TokenChain, root_digest
from agentsim.kernels.kernel_dispatch import operation

if TYPE_CHECKING:
    from agentsim.engine.decoder_config import ModelConfig


class EngineModel(Protocol):
    """What an engine needs of a model; :class:`agentsim.engine.decoder.Decoder` is one."""

    config: ModelConfig
    dtype: torch.dtype
    device: torch.device
    identity: bytes
    kv_bits: int | None

    def forward(self, batch: Batch, kv: PageRoom) -> torch.Tensor:
        """Write keys and values of the batch into its pages, and score what follows where that is asked for."""
        ...


class Engine:
    """Runs sequences. Mutable; for one thread.

    ``pages`` of ``page_size`` tokens are all the K/V memory there is, ``host_pages`` what the host lends. ``lifetime``
    imposes the lifetime of a provider on cached blocks, in the units of the starts that requests are submitted with.
    ``settings`` is part of the identity of all blocks, for whatever else changes keys and values. ``await_prefixes``
    lets a sequence wait for blocks that another one is computing; ``join_at_once`` lets it look its prompt up whatever
    the others leave of a step. ``paranoid`` checks all books after every step.
    """

    def __init__(
        self,
        model: EngineModel,
        *,
        pages: int,
        page_size: int = 16,
        prefix_cache: bool = True,
        host_pages: int = 0,
        lifetime: int | None = None,
        step_tokens: int = 512,
        step_sequences: int = 16,
        keep_generated: bool = True,
        await_prefixes: bool = False,
        join_at_once: bool = False,
        settings: bytes = b"",
        clock: Clock = time.perf_counter_ns,
        paranoid: bool = False,
    ) -> None:
        self.model = model
        self.page_size = page_size
        self.settings = settings
        self.paranoid = paranoid
        self.steps = 0
        self.kv = room_for(model, pages, page_size)
        host = room_for(model, host_pages, page_size, on_host=True) if host_pages else None
        self.mover = KVMover(self.kv, host, clock)
        self.pool = PagePool(pages, page_size, self.mover)
        self.cache = PrefixCache(self.pool, host_slots=host_pages, lifetime=lifetime, enabled=prefix_cache)
        self.scheduler = Scheduler(
            self.cache,
            step_tokens=step_tokens,
            step_sequences=step_sequences,
            keep_generated=keep_generated,
            await_prefixes=await_prefixes,
            join_at_once=join_at_once,
        )
        self._clock = clock
        self._serial = 0

    @property
    def peak_bytes(self) -> int:
        """The most K/V memory that sequences held at once, in bytes."""
        return self.pool.peak * self.kv.bytes_per_page

    @property
    def stored_bytes(self) -> int:
        """How much of the K/V memory holds something now, be it read or kept, in bytes."""
        return (self.pool.size - len(self.pool.free)) * self.kv.bytes_per_page

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do."""
        return not self.scheduler.running and not self.scheduler.waiting

    def chain(self, tokens: Iterable[int] = (), namespace: bytes = b"") -> TokenChain:
        """Tokens with their identity here. To continue a conversation, fork the chain of what it had before: nothing is
        hashed twice then. Requests in different namespaces never share anything."""
        return TokenChain(root_digest(self.model.identity, namespace, self.settings), self.page_size, tokens)

    def refusal(self, chain: TokenChain, new_tokens: int) -> str | None:
        """Why the model or the pages cannot hold a prompt and what is to follow it; ``None`` when they can."""
        context = self.model.config.context
        if len(chain) + new_tokens > context:
            return f"{len(chain)} tokens and {new_tokens} new ones are more than the model's context of {context}"
        return self.scheduler.refusal(chain, new_tokens)

    def cached(self, chain: TokenChain, now: int = 0, most: int | None = None) -> int:
        """Tokens of a prompt that would be reused if it came now: all but the last may be, and at most ``most``.
        Changes nothing."""
        most = len(chain) - 1 if most is None else min(most, len(chain) - 1)
        return len(self.cache.match(chain, most, now).places) * self.page_size

    def submit(
        self,
        tokens: TokenChain | Iterable[int],
        new_tokens: int,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        namespace: bytes = b"",
        stop: Iterable[int] | None = None,
        start: int = 0,
        reuse_limit: int | None = None,
    ) -> Sequence:
        """A request for at most ``new_tokens`` tokens after these, waiting to be run.

        A chain is copied. ``reuse_limit`` is how many tokens of it may be found in the cache. ``stop`` are the tokens
        that end it, the model's own by default. Raises ValueError for what the model or the pages cannot hold, and for
        tokens that the model does not know.
        """
        config = self.model.config
        if isinstance(tokens, TokenChain):
            chain = tokens.fork(len(tokens))
        else:
            given = array(TOKEN, tokens)
            if given and max(given) >= config.vocab:
                raise ValueError(f"token {max(given)} is not one of the model's {config.vocab}")
            chain = self.chain(given, namespace)
        refusal = self.refusal(chain, new_tokens)
        if refusal is not None:
            raise ValueError(refusal)
        ends = frozenset(config.eos if stop is None else stop)
        sequence = Sequence(
            self._serial,
            chain,
            new_tokens,
            temperature=temperature,
            seed=seed,
            stop=ends,
            start=start,
            reuse_limit=reuse_limit,
        )
        self.scheduler.add(sequence)
        self._serial += 1
        sequence.arrived = self._clock()
        return sequence

    def fork(self, sequence: Sequence, seed: int) -> Sequence:
        """A second continuation of a sequence that is generating: see
        :meth:`agentsim.engine.scheduler.Scheduler.fork`."""
        twin = self.scheduler.fork(sequence, self._serial, seed)
        self._serial += 1
        return twin

    def abort(self, sequence: Sequence) -> None:
        """Drop a sequence. Safe to call twice."""
        self.scheduler.abort(sequence)

    def step(self) -> list[Sequence]:
        """One forward pass over what the scheduler plans. Returns the sequences that it finished.

        When the pass raises, nothing has happened but that pages were given out, and the step can be tried again.
        """
        shares = self._plan()
        if shares:
            self._compute(shares)
        return [share.sequence for share in shares if share.sequence.is_over]

    def step_apart(self) -> list[tuple[Sequence, Exception]]:
        """A step in which every sequence has a pass of its own: for when a pass over all of them raised.

        A sequence whose own pass raises is dropped, the others go on. Returns those dropped, with what was raised.
        """
        dropped: list[tuple[Sequence, Exception]] = []
        for share in self._plan():
            try:
                self._compute([share])
            except Exception as error:  # whatever is wrong with this one is nothing to the others
                self.abort(share.sequence)
                dropped.append((share.sequence, error))
        return dropped

    def _plan(self) -> list[Share]:
        shares = self.scheduler.plan()
        if not shares and not self.is_idle:
            raise AssertionError("nothing can run: the pages do not suffice")
        return shares

    def _compute(self, shares: list[Share]) -> None:
        batch = Batch.of([_piece(share) for share in shares], self.page_size, self.model.device)
        logits = self.model.forward(batch, self.kv)
        tokens = self._choose([share.sequence for share in shares if share.samples], logits)
        self._settle(shares, tokens)
        self.steps += 1
        if self.paranoid:
            self.scheduler.check_integrity()

    def run(self) -> list[Sequence]:
        """Step until nothing is left to do. Returns the sequences finished, in the order in which they were."""
        finished: list[Sequence] = []
        while not self.is_idle:
            finished += self.step()
        return finished

    def generate(self, prompts: Iterable[Iterable[int]], new_tokens: int) -> list[list[int]]:
        """What follows each of the prompts, greedily, all of them run together."""
        sequences = [self.submit(prompt, new_tokens) for prompt in prompts]
        self.run()
        return [sequence.generated for sequence in sequences]

    def _choose(self, sequences: list[Sequence], logits: torch.Tensor) -> list[int]:
        if not sequences:
            return []
        temperatures = [sequence.temperature for sequence in sequences]
        noise = None
        if any(temperatures):
            drawn = [uniform(sequence.seed, len(sequence.chain)) for sequence in sequences]
            noise = torch.tensor(drawn, dtype=torch.float64, device=logits.device)
        heat = torch.tensor(temperatures, dtype=torch.float32, device=logits.device)
        chosen: list[int] = operation("sample")(logits, heat, noise).tolist()
        return chosen

    def _settle(self, shares: list[Share], tokens: list[int]) -> None:
        now = self._clock()
        chosen = iter(tokens)
        for share in shares:
            sequence = share.sequence
            token = next(chosen) if share.samples else None
            if token is not None:
                if sequence.first_token is None:
                    sequence.first_token = now
                sequence.last_token = now
                sequence.token_times.append(now)
            self.scheduler.settle(share, token, stops=token in sequence.stop)


def _piece(share: Share) -> TokenRun:
    sequence = share.sequence
    tokens = sequence.chain.tokens[share.start : share.start + share.length]
    return TokenRun(tokens, share.start, sequence.pages, int(share.samples))


def uniform(seed: int, position: int) -> float:
    """The random number in [0, 1) for the token at a position: the same for everyone with this seed."""
    digest = blake2b(f"{seed}/{position}".encode(), digest_size=8, person=b"token").digest()
    return (int.from_bytes(digest, "little") >> 11) / 2**53
