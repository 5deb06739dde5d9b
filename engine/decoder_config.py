"""What a decoder of the Llama family is made of: the numbers that its weights and its keys and values depend on."""

from __future__ import annotations

from dataclasses import dataclass

_MOST = 1 << 24
"""No size of a known model comes near; a damaged one must not make the engine allocate all memory."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Shapes and constants of one model; everything that is not a weight.

    ``rope_interleaved`` says how a head's numbers pair up when they are rotated: neighbours (the layout of GGUF
    files, whose converter reorders the rows of the query and key projections) or first half with second half (the
    layout of Hugging Face files). ``rope_factors`` divide the rotation frequencies, one factor for each pair, as the
    long-context variants of Llama 3 ask for. ``eos`` are the tokens that end a text.
    """

    name: str
    layers: int
    dim: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    rope_base: float = 10_000.0
    rope_interleaved: bool = False
    norm_eps: float = 1e-5
    tied: bool = True
    context: int = 2_048
    eos: tuple[int, ...] = ()
    rope_factors: tuple[float, ...] | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that no decoder can have, so that a damaged file is told before any tensor is made."""
        sizes = ("layers", "dim", "heads", "kv_heads", "head_dim", "ffn", "vocab", "context")
        for name in sizes:
            if not 1 <= getattr(self, name) <= _MOST:
                raise ValueError(f"{name} must be from 1 to {_MOST}, not {getattr(self, name)}")
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} query heads cannot share {self.kv_heads} key heads evenly")
        if self.head_dim % 2:
            raise ValueError(f"head_dim must be even to be rotated in pairs, not {self.head_dim}")
        if not self.rope_base > 0 or not self.norm_eps > 0:
            raise ValueError("rope_base and norm_eps must be above 0")
        if self.rope_factors is not None and len(self.rope_factors) != self.head_dim // 2:
            raise ValueError(f"{self.head_dim // 2} rotation factors expected, not {len(self.rope_factors)}")
        if self.window is not None and self.window < 1:
            raise ValueError(f"window must be at least 1, not {self.window}")

    @property
    def group(self) -> int:
        """How many query heads read one key head."""
        return self.heads // self.kv_heads

    def kv_numbers_per_token(self) -> int:
        """How many numbers one token leaves behind: a key and a value in each layer."""
        return 2 * self.layers * self.kv_heads * self.head_dim
