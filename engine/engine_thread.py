"""One thread that steps an engine for many who ask at once: their sequences run in one batch.

An engine is for one thread. So whatever is asked of it is put into a queue, and done between two steps, in the order in
which it was asked. While nothing is to be done the thread sleeps.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

from agentsim.engine.inference_engine import Engine
from agentsim.engine.sequence import Sequence
from agentsim.engine.token_chain import TokenChain


class Follower(Protocol):
    """Who wants to know how a sequence goes on. Called by the stepping thread, which waits: be quick."""

    def moved(self, sequence: Sequence) -> None:
        """It has more tokens than before, or is over."""
        ...

    def failed(self, error: Exception) -> None:
        """It is dropped, and nothing more will be told of it."""
        ...


class Ticket:
    """A sequence that was asked for. ``sequence`` is None until it was submitted. The stepping thread's alone."""

    __slots__ = ("follower", "sequence", "told")

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.sequence: Sequence | None = None
        self.told = 0


class Stepper:
    """Steps an engine, which nobody else may use while it does. Its methods may be called from any thread."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._asked: deque[Callable[[], None]] = deque()
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._followed: dict[Ticket, Sequence] = {}

    def submit(self, chain: TokenChain, new_tokens: int, follower: Follower, arrived: int) -> Ticket:
        """Ask for a sequence: see :meth:`agentsim.engine.inference_engine.Engine.submit`. What it refuses is told as a
        failure.

        ``arrived`` is when the request came, by the engine's clock.
        """
        ticket = Ticket(follower)
        self._ask(lambda: self._submit(ticket, chain, new_tokens, arrived))
        return ticket

    def drop(self, ticket: Ticket) -> None:
        """The sequence is not wanted any more: its pages are free before the next step. Safe to call twice."""
        self._ask(lambda: self._drop(ticket))

    def close(self) -> None:
        """End the thread, and drop all sequences. What is asked afterwards begins a new one."""
        with self._wake:
            thread, self._thread, self._closed = self._thread, None, True
            self._wake.notify()
        if thread is not None:
            thread.join()
        with self._wake:
            self._closed = False

    def _ask(self, action: Callable[[], None]) -> None:
        with self._wake:
            self._asked.append(action)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="engine-steps", daemon=True)
                self._thread.start()
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._asked and self.engine.is_idle and not self._closed:
                    self._wake.wait()
                closed, asked = self._closed, list(self._asked)
                self._asked.clear()
            for action in asked:
                action()
            if closed:
                break
            if not self.engine.is_idle:
                self._step()
        self._fail_all(RuntimeError("the engine was stopped"))

    def _submit(self, ticket: Ticket, chain: TokenChain, new_tokens: int, arrived: int) -> None:
        try:
            sequence = self.engine.submit(chain, new_tokens)
        except ValueError as error:
            ticket.follower.failed(error)
            return
        sequence.arrived = arrived
        ticket.sequence = self._followed[ticket] = sequence

    def _drop(self, ticket: Ticket) -> None:
        sequence = self._followed.pop(ticket, None)
        if sequence is not None:
            self.engine.abort(sequence)

    def _step(self) -> None:
        try:
            self.engine.step()
        except Exception:  # whatever it is, the thread must go on: others are waiting
            try:
                dropped = self.engine.step_apart()
            except Exception as error:  # no sequence is to blame, so none can be kept
                self._fail_all(error)
                return
            for sequence, reason in dropped:
                self._fail(sequence, reason)
        for ticket, sequence in list(self._followed.items()):
            length = len(sequence.chain) - sequence.prompt_length
            if length > ticket.told or sequence.is_over:
                ticket.told = length
                try:
                    ticket.follower.moved(sequence)
                except Exception as error:  # the others' tokens are there all the same
                    self._fail(sequence, error)
                if sequence.is_over:
                    self._followed.pop(ticket, None)

    def _fail(self, sequence: Sequence, error: Exception) -> None:
        for ticket, followed in list(self._followed.items()):
            if followed is sequence:
                self._drop(ticket)
                ticket.follower.failed(error)

    def _fail_all(self, error: Exception) -> None:
        for sequence in list(self._followed.values()):
            self._fail(sequence, error)
