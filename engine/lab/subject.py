"""What experiments are made on: a model, a text of ours, and five questions about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.weights.find_model import TINY_NAME, find_model, load_weights
from agentsim.engine.weights.weights import Weights
from agentsim.engine.weights.weights_error import WeightsError

if TYPE_CHECKING:
    from agentsim.engine.tokenizer import Tokenizer

QUESTION_TOKENS = 30
LEAST_CONTEXT = 1_536
QUESTIONS = (
    (
        "\n\nQuestion: A traveller has read all of the text above. According to it, why does the entrance of the "
        "harbour face the east and no other direction?\nAnswer:"
    ),
    (
        "\n\nQuestion: Somebody asks what the keepers of the light wrote down in their books, watch after watch, night "
        "after night, for all those years.\nAnswer:"
    ),
    (
        "\n\nPlease list the kinds of fish that are sold in the market, in the order in which their boxes stand in the "
        "hall, nearest to the door first.\nAnswer:"
    ),
    (
        "\n\nNow write a short letter, in plain words and in a friendly tone, to a friend who would like to visit the "
        "town in May with children.\nDear friend,"
    ),
    (
        "\n\nExplain to a captain who is on the way to the harbour, with a ship of ninety metres, what has to be done "
        "before the ship may enter it.\nCaptain,"
    ),
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A model's name, the document and the questions as its token ids."""

    name: str
    document: tuple[int, ...]
    questions: tuple[tuple[int, ...], ...]


@lru_cache(maxsize=2)
def subject(named: str | None) -> Subject:
    """The texts in the tokens of a model: of the seeded one each byte is a token. Raises WeightsError."""
    text = files("agentsim.engine.lab").joinpath("document.txt").read_text(encoding="utf-8")
    if named == TINY_NAME:
        return Subject(TINY_NAME, tuple(text.encode()), tuple(tuple(q.encode())[-QUESTION_TOKENS:] for q in QUESTIONS))
    tokenizer = _tokenizer(named)
    questions = tuple(tuple(tokenizer.encode(question))[-QUESTION_TOKENS:] for question in QUESTIONS)
    name = "SmolLM2-135M" if named is None else weights(named).config.name
    return Subject(name, tuple(tokenizer.encode(text)), questions)


def words_of(named: str | None, tokens: Sequence[int]) -> str:
    """Tokens as text on one line."""
    text = bytes(tokens).decode("latin-1") if named == TINY_NAME else _tokenizer(named).decode(tokens)
    return " ".join(text.split())


@lru_cache(maxsize=1)
def _tokenizer(named: str | None) -> Tokenizer:
    from agentsim.engine.tokenizer import Tokenizer

    return Tokenizer.from_gguf(find_model(named))


@lru_cache(maxsize=1)
def weights(named: str | None) -> Weights:
    """The weights of a model. Raises WeightsError with a remedy, also where its context is too short."""
    found = load_weights(named)
    if found.config.context < LEAST_CONTEXT:
        raise WeightsError(
            f"{named}: its context of {found.config.context:,} tokens is too short; the lab takes {LEAST_CONTEXT:,}, "
            "so take another model, or 'tiny'"
        )
    return found


@lru_cache(maxsize=2)
def model(named: str | None, dtype: torch.dtype) -> Decoder:
    """A model that computes in a type. The last two are kept: loading one takes seconds."""
    return Decoder(weights(named), dtype)
