"""Sessions on the engine: what is reused is what the rule predicts, page by page."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from agentsim.cache.engine_cache import EngineCache
from agentsim.cache.simulate import replay
from agentsim.core.prompt import Prompt
from agentsim.core.session import Lane, Request, Session
from agentsim.engine.engine_backend import EngineBackend
from agentsim.engine.engine_replay import NoKnownPrompts, replay_on_engine
from agentsim.engine.inference_engine import Engine
from agentsim.engine.model_loading import LoadedModel, load
from agentsim.engine.restore_costs import measure_restore
from agentsim.engine.trace_tokens import ByteTokens, DrawnTokens, SpokenTokens
from agentsim.rules.providers import rules_for
from agentsim.traces.format_registry import read
from tests.engine.stub import StubModel
from tests.engine.test_trace_tokens import block

SAMPLES = Path(__file__).resolve().parents[2] / "traces" / "samples"
VLLM = rules_for("vllm", "", None)


@pytest.fixture(scope="module")
def tiny() -> LoadedModel:
    return load("tiny", threads=1)


def sample(name: str) -> Session:
    (session,) = read([str(SAMPLES / name)])
    return session


@pytest.mark.parametrize(
    "name",
    ["atlas-14.jsonl", "atlas-14.usage.jsonl", "claude-code.jsonl", "claude-trace.jsonl", "pairs.jsonl",
     "gate-before.jsonl", "gate-after.jsonl"],
)  # fmt: skip
def test_every_sample_reuses_what_the_rule_predicts(tiny: LoadedModel, name: str) -> None:
    session = sample(name)
    done = replay_on_engine(session, tiny, new_tokens=2, cold=False)
    assert len(done.rows) + done.without_prompt == len(session.requests)
    assert [row.predicted for row in done.rows] == [row.measured.reused for row in done.rows]
    assert sum(row.measured.reused for row in done.rows) > 0


def test_the_atlas_trace_in_full() -> None:
    """All 82,370 tokens of its longest prompts, on a model that costs nothing: reused is what the prompts share, once
    it is computed."""
    session = sample("atlas-14.jsonl")
    model = StubModel()
    model.config = torch_free(context=100_000)
    engine = Engine(Uncounted(model), pages=12_000, keep_generated=False, step_tokens=100_000)
    ledger = replay(session, EngineBackend(engine, DrawnTokens(101)), price=False)
    predicted = replay(session, EngineCache(VLLM), price=False)
    by_blocks = [row.usage.read for row in predicted.rows]
    assert [row.usage.read for row in ledger.rows] == by_blocks
    # Row 2 repeats all 8,500 tokens of row 1: 531 pages of 16. Rows 12 to 14 share 82,170 tokens and come together:
    # none of them reads more than the 51,870 that were there before.
    assert by_blocks[1] == 8_500 // 16 * 16
    assert by_blocks[11:] == [51_870 // 16 * 16] * 3


def torch_free(context: int):
    import dataclasses

    return dataclasses.replace(StubModel().config, context=context)


class Uncounted:
    """A model that computes nothing: its next token is always the same."""

    def __init__(self, model: StubModel) -> None:
        self.config, self.dtype, self.device, self.identity = model.config, model.dtype, model.device, b"nothing"
        self.kv_bits = model.kv_bits

    def forward(self, batch, kv) -> torch.Tensor:
        return torch.zeros(len(batch.logits_at), self.config.vocab)


@pytest.mark.parametrize("capacity", [0, 64, 400, 800, 1_000])
def test_a_cache_that_is_too_small_gives_up_what_the_rule_gives_up(tiny: LoadedModel, capacity: int) -> None:
    done = replay_on_engine(sample("atlas-14.jsonl"), tiny, new_tokens=1, cold=False, capacity=capacity, scale=0.02)
    assert done.agreeing == len(done.rows) == 14
    full = replay_on_engine(sample("atlas-14.jsonl"), tiny, new_tokens=1, cold=False, scale=0.02)
    reused, all_reused = (sum(row.measured.reused for row in one.rows) for one in (done, full))
    assert reused < all_reused
    assert done.stored_bytes <= capacity * done.bytes_per_token


def test_what_a_request_is_told() -> None:
    engine = Engine(StubModel(), pages=100, page_size=4, keep_generated=False)
    backend = EngineBackend(engine, DrawnTokens(101), new_tokens=3)
    a, b, c = block("a", 10), block("b", 10), block("c", 10)

    def ask(id: str, *blocks, model: str = "m", now: int = 10**15):
        return backend.serve(Request(id=id, lane="main", model=model, start=0, prompt=Prompt.of(blocks)), now)

    first = ask("1", a, b, now=1_000)
    at_once = backend.look_up(Request(id="2", lane="main", model="m", start=0, prompt=Prompt.of([a, b, c])), 1_000)
    assert at_once.read == 0  # it is not computed yet
    assert (first.usage.fresh, first.usage.read, first.usage.output) == (20, 0, 3)
    assert (first.hit, first.hit_owner, first.written) == (0, None, (2,))
    second = ask("2", a, b, c)
    # 20 tokens are 5 pages of 4, and both blocks lie in them.
    assert (second.usage.fresh, second.usage.read) == (10, 20)
    assert (second.hit, second.hit_owner, second.written) == (2, "1", (3,))
    assert second.first_token is not None
    assert second.end is not None
    assert 10**15 < second.first_token <= second.end
    assert ask("3", a, b, model="other").usage.read == 0
    with pytest.raises(ValueError, match="order"):
        backend.serve(Request(id="4", lane="main", model="m", start=0, prompt=Prompt.of([a])), 999)


def test_a_prompt_that_is_too_long_is_rejected_and_changes_nothing() -> None:
    engine = Engine(StubModel(), pages=4, page_size=4)
    backend = EngineBackend(engine, DrawnTokens(101))
    served = backend.serve(Request(id="1", lane="main", model="m", start=0, prompt=Prompt.of([block("x", 30)])), 0)
    assert served.rejected is not None
    assert "too long" in served.rejected
    assert served.usage.total_input == 0
    assert engine.is_idle


def test_text_goes_through_as_text(tiny: LoadedModel) -> None:
    requests = []
    blocks = [block("s", 20, "You are a helpful assistant.")]
    for turn in range(3):
        blocks.append(block(f"u{turn}", 20, f"Question {turn}: what is on page {turn}?", message=2 * turn))
        requests.append(Request(id=f"r{turn}", lane="main", model="m", start=turn, prompt=Prompt.of(blocks)))
        blocks.append(block(f"a{turn}", 20, f"It is {turn}.", role="assistant", message=2 * turn + 1))
    lane = Lane(id="main", title="main")
    session = Session(id="s", format="x", completeness="full", lanes=(lane,), requests=tuple(requests))
    done = replay_on_engine(session, tiny, new_tokens=4)
    assert done.how == "text"
    assert done.agreeing == 3
    assert done.rows[2].measured.reused > 0
    assert done.rows[2].cold is not None
    spoken = SpokenTokens(ByteTokens(), 256, marks=False).prompt(requests[0].prompt)  # type: ignore[arg-type]
    assert done.rows[0].measured.prompt == len(spoken)


def test_a_session_without_anything_known(tiny: LoadedModel) -> None:
    request = Request(id="r", lane="main", model="m", start=0)
    session = Session(id="s", format="x", completeness="usage", lanes=(), requests=(request,))
    with pytest.raises(NoKnownPrompts):
        replay_on_engine(session, tiny)


def test_a_restored_prefix_is_all_but_the_last_page(tiny: LoadedModel) -> None:
    tokens = [number % 251 for number in range(200)]
    # The quickest of five: another process may have had the processor in the middle of one.
    restored = min((measure_restore(tiny.model, tokens) for _ in range(5)), key=lambda one: one.time_to_first_token)
    assert restored.tokens == 12 * 16
    assert restored.bytes == 12 * 16 * tiny.bytes_per_token
    assert 0 < restored.moving < restored.time_to_first_token < restored.cold
