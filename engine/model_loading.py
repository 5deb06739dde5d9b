"""A model made ready to run, with what reads and writes its text."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from agentsim.engine.decoder import Decoder
from agentsim.engine.kv_pages import bytes_per_token
from agentsim.engine.torch_threads import use_threads
from agentsim.engine.trace_tokens import ByteTokens, Encoder
from agentsim.engine.weights.find_model import TINY_NAME, find_model, load_weights

DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}
MARK = "<|im_start|>"


@dataclass(frozen=True)
class LoadedModel:
    """A model, its tokenizer (``None`` where its files hold none), and whether it knows the marks of a conversation."""

    model: Decoder
    encoder: Encoder | None
    marks: bool
    threads: int

    @property
    def name(self) -> str:
        """What the model's files call it."""
        return self.model.config.name

    @property
    def precision(self) -> str:
        """The type of its numbers."""
        return str(self.model.dtype).removeprefix("torch.")

    def pages_in(self, memory: int, page_size: int = 16) -> int:
        """How many pages so many bytes hold, and no more than four times the model's context; at least one."""
        most = 4 * self.model.config.context // page_size
        return max(1, min(most, memory // (self.bytes_per_token * page_size)))

    @property
    def bytes_per_token(self) -> int:
        """What one token's keys and values take."""
        return bytes_per_token(self.model.config, self.model.dtype, self.model.kv_bits)


def usual_precision(device: str) -> str:
    """What a model computes in unless it is said: bfloat16 where that is what the device is fast in."""
    return "bfloat16" if device.startswith("cuda") else "float32"


def load(
    named: str | None = None,
    precision: str | None = None,
    threads: int | None = None,
    device: str | None = None,
    kv_bits: int | None = None,
    few_bits: bool = False,
) -> LoadedModel:
    """The model that is meant: ``None`` for the installed one, ``tiny`` for the seeded one, or a file or folder.

    ``threads`` is how many torch computes with; ``None`` takes what fits the machine now (see
    agentsim.engine.torch_threads). Without ``device`` a CUDA device is used where there is one; without ``precision``
    that is bfloat16 there, and float32 on a CPU. ``kv_bits`` of 4 keeps keys and values in four bits; ``few_bits``
    generates with weights in few bits (see agentsim.engine.few_bit_weights). Raises
    agentsim.engine.weights.weights.WeightsError.
    """
    chosen = use_threads(threads).count
    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = DTYPES[precision or usual_precision(place)]
    model = Decoder(load_weights(named), dtype, place, kv_bits=kv_bits, few_bits=few_bits)
    if named == TINY_NAME:
        return LoadedModel(model, ByteTokens(), marks=False, threads=chosen)
    path = find_model(named)
    from agentsim.engine.tokenizer import Tokenizer
    from agentsim.engine.tokenizer_folder import read_tokenizer

    tokenizer = read_tokenizer(path) if path.is_dir() else Tokenizer.from_gguf(path)
    return LoadedModel(model, tokenizer, marks=tokenizer is not None and MARK in tokenizer.special, threads=chosen)
