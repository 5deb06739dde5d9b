"""Candidates, their verification, and that neither changes what a model says."""

from __future__ import annotations

import pytest
import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.lab.drafts import ModelDraft, NGramDraft, ngram_proposal, truncated
from agentsim.engine.lab.rollback import VerifiedDraft, round_on_pages, undone, verify, ways_back, where_things_stand
from agentsim.engine.lab.speculation import CANDIDATES, generate
from agentsim.engine.lab.writer import PageWriter, room
from agentsim.engine.weights.tiny import tiny_weights

torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("tokens", "proposal"),
    [
        ([1, 2, 3, 9, 1, 2, 3], [9, 1, 2]),  # three tokens occurred before
        ([5, 2, 3, 8, 7, 2, 3], [8, 7, 2]),  # two did
        ([2, 3, 7, 2, 3, 8, 2, 3], [8, 2, 3]),  # the latest occurrence counts
        ([1, 2, 3], []),
        ([1], []),
        ([4, 4], [4]),
    ],
)
def test_ngrams(tokens: list[int], proposal: list[int]) -> None:
    assert ngram_proposal(tokens, 3) == proposal


@pytest.mark.parametrize(
    ("accepted", "places", "committed", "kept", "unused"),
    [
        (0, "10 11 12 13", "X - - -", "not yet - - -", "A B C D"),
        (2, "10 11 12 13", "A B X -", "A B not yet -", "- - C D"),
        (4, "10 11 12 13 14", "A B C D X", "A B C D not yet", "- - - - -"),
    ],
)
def test_where_things_stand_follows_from_what_was_accepted(
    accepted: int, places: str, committed: str, kept: str, unused: str
) -> None:
    done = VerifiedDraft(accepted, added=1, predictions=5, committed=10 + accepted, computed=13, kept=9 + accepted)
    table = where_things_stand(done, "ABCD", "X")
    assert table.columns == ("position", "1–9", *places.split())
    rows = [" ".join("-" if cell is None else str(cell) for cell in row[2:]) for row in table.rows]
    assert rows == [committed, kept, unused]


def test_a_round_commits_one_more_than_has_keys_and_values() -> None:
    done, pages, own_choice, same_next = round_on_pages(11)
    # 9 known, A and B accepted: 11 have K/V; X makes 12. C and D had K/V at 12 and 13.
    assert (done.accepted, done.committed, done.kept, done.computed) == (2, 12, 11, 13)
    assert done.predictions == 4 + 1
    # pages of four tokens: 13 need four, 11 need three
    assert (pages.before, pages.after, pages.returned) == (4, 3, 1)
    assert own_choice
    assert same_next


def test_everything_or_nothing_accepted() -> None:
    model = Decoder(tiny_weights(), torch.float64)
    kv, tables = room(model, 2, 40)
    plain = PageWriter(model, kv, tables[0])
    plain.feed([5, 6, 7], logits=0)
    a, b, c = plain.generate(8, 3)
    for candidates, accepted, added in (([a, b], 2, c), ([a + 1], 0, a), ([], 0, a)):
        writer = PageWriter(model, kv, tables[1])
        writer.feed([5, 6, 7], logits=0)
        done = verify(writer, 8, candidates)
        assert (done.accepted, done.added) == (accepted, added)
        assert done.kept == writer.length == done.committed - 1 == 4 + accepted


def test_matrices_go_back_by_copies_only() -> None:
    ways = ways_back(4)
    assert ways["snapshot after B"] < 1e-12
    assert ways["snapshot before A, A and B again"] < 1e-12
    assert ways["without going back"] > 1e-3
    error, all_bits = undone(4, torch.float32)
    assert 0 < error < 1e-4
    assert not all_bits


@pytest.mark.parametrize("draft", ["none", "ngram", "one layer", "two layers", "the model itself"])
def test_drafts_leave_the_tokens_of_ordinary_generation(draft: str) -> None:
    weights = tiny_weights()
    model = Decoder(weights, torch.float64)
    prompt = [7, 8, 9, 7, 8, 9, 7]
    plain, kv = [], room(model, 1, 60)
    writer = PageWriter(model, kv[0], kv[1][0])
    writer.feed(prompt[:-1], logits=0)
    plain = writer.generate(prompt[-1], 24)
    made: NGramDraft | ModelDraft | None = None
    if draft == "ngram":
        made = NGramDraft()
    elif draft != "none":
        layers = {"one layer": 1, "two layers": 2, "the model itself": 3}[draft]
        made = ModelDraft(truncated(weights, layers, torch.float64), 60)
    tokens, its = generate(model, prompt, 24, made)
    assert tokens == plain
    assert its.tokens == 24
    if draft == "none":
        assert its.passes == 24
    if draft == "the model itself":
        # each pass commits all candidates and one more
        assert its.passes == -(-24 // (CANDIDATES + 1))


def test_scores_only_where_they_are_needed() -> None:
    model = Decoder(tiny_weights(), torch.float64)
    kv, tables = room(model, 1, 40)
    writer = PageWriter(model, kv, tables[0])
    # five known tokens: only what follows the last of them is asked for
    assert writer.feed([1, 2, 3, 4, 5]).shape == (1, model.config.vocab)
    # a token to go on from and four candidates: what follows each of the five
    assert writer.feed([6, 7, 8, 9, 10], logits=4 + 1).shape == (5, model.config.vocab)
    # the middle of a long input: nothing
    assert writer.feed([11, 12], logits=0).shape == (0, model.config.vocab)


def test_the_small_decoder_is_the_one_of_the_controls() -> None:
    config = tiny_weights().config
    assert (config.layers, config.heads, config.kv_heads, config.head_dim) == (3, 4, 2, 8)
