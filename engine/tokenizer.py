"""Text to token ids and back, with the vocabulary a model file carries: byte-level BPE.

Text means text: a user's ``<|im_end|>`` is spelled out in ordinary tokens and never becomes the control token, unless
``special`` is asked for. What the vocabulary has no byte for (SmolLM2 lacks six control characters and
the first bytes of planes without characters) is left out, as the model's own tokenizer does.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from agentsim.engine.weights.gguf_file import open_gguf
from agentsim.engine.weights.weights import WeightsError

_CONTROL, _USER_DEFINED, _NORMAL = 3, 4, 1
_DIGITS = "digits"
_PRE = {
    "smollm": _DIGITS,
    "starcoder": _DIGITS,
    "refact": _DIGITS,
    "command-r": _DIGITS,
    "gpt-2": None,
    "gpt2": None,
    "default": None,
    "llama-bpe": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
"""How text is cut before merging, by the file's own word for it: GPT-2's rule (None), the same after every digit was
taken out alone, or a rule of its own."""


def _byte_letters() -> dict[str, int]:
    """GPT-2's spelling of bytes: printable Latin-1 stands for itself, the other bytes for letters from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + index): byte for index, byte in enumerate(others)}


_BYTE_OF = _byte_letters()


@dataclass(frozen=True)
class Tokenizer:
    """The vocabulary of one model."""

    pieces: tuple[bytes, ...]
    """What each token stands for."""
    special: Mapping[str, int]
    """Tokens that steer the model, by their text."""
    eos: tuple[int, ...]
    bos: int | None
    template: str | None
    """The model's chat template (Jinja), or None where it has none."""
    _bpe: Any = field(repr=False)
    _special_pattern: re.Pattern[str] = field(repr=False)

    @classmethod
    def from_gguf(cls, path: Path | str) -> Tokenizer:
        """The tokenizer of a GGUF file. :class:`WeightsError` for a kind that is not byte-level BPE."""
        from tokenizers import Tokenizer as Fast
        from tokenizers import models

        file = open_gguf(Path(path))
        fields = file.fields
        kind = fields.get("tokenizer.ggml.model")
        if kind != "gpt2":
            raise WeightsError(
                f"{file.path}: a tokenizer of kind {str(kind)[:40]!r}; only byte-level BPE ('gpt2') is read, so take "
                "a model of the SmolLM2 or Llama 3 families"
            )
        pre = fields.get("tokenizer.ggml.pre", "default")
        if pre not in _PRE:
            raise WeightsError(f"{file.path}: text is cut in a way not known here ({str(pre)[:40]!r}); {_KNOWN_PRE}")
        tokens, merges = fields.get("tokenizer.ggml.tokens"), fields.get("tokenizer.ggml.merges")
        kinds = fields.get("tokenizer.ggml.token_type")
        if not _all_text(tokens) or not _all_text(merges):
            raise WeightsError(f"{file.path}: the vocabulary is missing or damaged; get the file again")
        if not isinstance(kinds, list) or len(kinds) != len(tokens):
            kinds = [_NORMAL] * len(tokens)
        special = {t: i for i, (t, k) in enumerate(zip(tokens, kinds, strict=True)) if k in (_CONTROL, _USER_DEFINED)}
        vocabulary = {token: number for number, token in enumerate(tokens)}
        pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
        try:
            fast = Fast(models.BPE(vocab=vocabulary, merges=pairs, ignore_merges=pre == "llama-bpe"))
        except Exception as error:  # the library raises bare exceptions
            raise WeightsError(f"{file.path}: the merges do not fit the vocabulary: {error}") from None
        fast.pre_tokenizer = _cutter(_PRE[pre])
        ends = [fields.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot", "eom")]
        bos = fields.get("tokenizer.ggml.bos_token_id")
        template = fields.get("tokenizer.chat_template")
        return cls.of(
            tokens,
            special,
            eos=[end for end in ends if isinstance(end, int)],
            bos=bos if isinstance(bos, int) and fields.get("tokenizer.ggml.add_bos_token", False) else None,
            template=template if isinstance(template, str) else None,
            bpe=fast,
        )

    @classmethod
    def of(
        cls,
        tokens: Sequence[str],
        special: Mapping[str, int],
        *,
        eos: Iterable[int],
        bos: int | None,
        template: str | None,
        bpe: Any,
    ) -> Tokenizer:
        """A tokenizer of these tokens, in GPT-2's spelling. ``bpe`` cuts and merges a text and knows nothing of the
        special ones."""
        return cls(
            pieces=tuple(_bytes_of(token, token in special) for token in tokens),
            special=special,
            eos=tuple(dict.fromkeys(eos)),
            bos=bos,
            template=template,
            _bpe=bpe,
            _special_pattern=_any_of(special),
        )

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of a text. ``special`` reads control tokens in it as such: for text from a trusted template only.

        Lone surrogates, which JSON can bring in, become U+FFFD.
        """
        text = _without_surrogates(text)
        if not special:
            return list(self._bpe.encode(text, add_special_tokens=False).ids)
        found: list[int] = []
        for part in self._special_pattern.split(text):
            if part in self.special:
                found.append(self.special[part])
            elif part:
                found.extend(self._bpe.encode(part, add_special_tokens=False).ids)
        return found

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token ids; bytes that form no character become U+FFFD."""
        return b"".join(self.pieces[number] for number in ids).decode("utf-8", "replace")

    def streamed(self) -> TextStream:
        """A decoder for tokens that come one by one."""
        return TextStream(self.pieces)

    def render(self, messages: Sequence[Mapping[str, Any]], *, answer: bool = True) -> str:
        """A conversation as the model's own chat template writes it; ``answer`` opens the assistant's turn."""
        from agentsim.engine.chat import render

        return render(self.template, messages, answer=answer, bos=self._text(self.bos), eos=self._text(self._end))

    def chat(self, messages: Sequence[Mapping[str, Any]], *, answer: bool = True) -> list[int]:
        """Token ids of a conversation of ``role`` and ``content``; control tokens come from the template alone."""
        from agentsim.engine.chat import guarded, unguarded

        safe, guard = guarded(messages, self.special)
        text = self.render(safe, answer=answer)
        found: list[int] = []
        for part in self._special_pattern.split(_without_surrogates(text)):
            if part in self.special:
                found.append(self.special[part])
            elif part:
                found.extend(self.encode(unguarded(part, guard)))
        return found

    @property
    def _end(self) -> int | None:
        return self.eos[0] if self.eos else None

    def _text(self, token: int | None) -> str:
        return "" if token is None else self.pieces[token].decode("utf-8", "replace")


class TextStream:
    """Text from tokens as they come: a character is given out once all of its bytes are there."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token: int) -> str:
        """What can be read now that ``token`` is there."""
        return self._decoder.decode(self._pieces[token])

    def end(self) -> str:
        """What is left when no more tokens come: U+FFFD for an unfinished character, else nothing."""
        return self._decoder.decode(b"", final=True)


_KNOWN_PRE = f"known are {', '.join(sorted(_PRE))}"


def _cutter(rule: str | None) -> Any:
    from tokenizers import Regex, pre_tokenizers

    if rule is None:
        return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if rule == _DIGITS:
        digits = pre_tokenizers.Digits(individual_digits=True)
        return pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    split = pre_tokenizers.Split(Regex(rule), behavior="isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def _bytes_of(token: str, special: bool) -> bytes:
    if special or any(letter not in _BYTE_OF for letter in token):
        return token.encode()
    return bytes(_BYTE_OF[letter] for letter in token)


def _any_of(special: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted((text for text in special if text), key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})" if longest_first else r"(?!)")


def _all_text(values: Any) -> TypeGuard[list[str]]:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _without_surrogates(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
