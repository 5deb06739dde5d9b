"""The tokenizer of a model in Hugging Face form: ``tokenizer.json`` and the small files beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentsim.engine.tokenizer import Tokenizer
from agentsim.engine.weights.weights import WeightsError

FILE = "tokenizer.json"
SETTINGS = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"

MOST_TOKENS = 2**20
"""No vocabulary is larger; a file that says so is damaged."""


def read_tokenizer(folder: Path) -> Tokenizer | None:
    """The tokenizer of a folder, ``None`` where it holds none.

    WeightsError for a damaged one, and for a kind that is not byte-level BPE.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    from tokenizers import Tokenizer as Fast

    told = _object(path)
    model = told.get("model")
    if not isinstance(model, dict) or model.get("type", "BPE") != "BPE" or model.get("byte_fallback"):
        raise WeightsError(
            f"{path}: not byte-level BPE, which is all that is read; take a model of the SmolLM2 or Llama 3 families"
        )
    special = dict(_added(path, told.get("added_tokens")))
    tokens = _tokens(path, model.get("vocab"), special)
    try:
        whole = Fast.from_file(str(path))
        # Without the added tokens: a user's text must not become one of them.
        fast = Fast(whole.model)
        if whole.normalizer is not None:
            fast.normalizer = whole.normalizer
        if whole.pre_tokenizer is not None:
            fast.pre_tokenizer = whole.pre_tokenizer
        begins = whole.encode("").ids
    except Exception as error:  # the library raises bare exceptions
        raise WeightsError(f"{path}: {str(error)[:200]}; get the file again") from None
    settings = _object(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}
    bos = special.get(_text(settings.get("bos_token")))
    return Tokenizer.of(
        tokens,
        special,
        eos=_ends(folder, settings, special),
        bos=bos if bos is not None and (settings.get("add_bos_token") is True or begins[:1] == [bos]) else None,
        template=_template(folder, settings),
        bpe=fast,
    )


def _added(path: Path, added: object) -> Iterator[tuple[str, int]]:
    for token in added if isinstance(added, list) else ():
        content, number = (token.get("content"), token.get("id")) if isinstance(token, dict) else (None, None)
        if not isinstance(content, str) or not isinstance(number, int) or not 0 <= number < MOST_TOKENS:
            raise WeightsError(f"{path}: its added tokens are damaged; get the file again")
        yield content, number


def _tokens(path: Path, vocabulary: object, special: Mapping[str, int]) -> list[str]:
    """All tokens by their numbers; a number that nothing has stands for nothing."""
    numbered = {**vocabulary, **special} if isinstance(vocabulary, dict) else {}
    if not numbered or not all(type(number) is int and 0 <= number < MOST_TOKENS for number in numbered.values()):
        raise WeightsError(f"{path}: the vocabulary is missing or damaged; get the file again")
    tokens = [""] * (max(numbered.values()) + 1)
    for token, number in numbered.items():
        tokens[number] = token
    return tokens


def _ends(folder: Path, settings: Mapping[str, Any], special: Mapping[str, int]) -> Iterator[int]:
    """What ends an answer, the text that the tokenizer itself names first."""
    named = special.get(_text(settings.get("eos_token")))
    if named is not None:
        yield named
    for name in ("generation_config.json", "config.json"):
        path = folder / name
        found = _object(path).get("eos_token_id") if path.is_file() else None
        for number in found if isinstance(found, list) else (found,):
            if type(number) is int:
                yield number


def _template(folder: Path, settings: Mapping[str, Any]) -> str | None:
    path = folder / TEMPLATE
    if path.is_file():
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeError):
            raise WeightsError(f"{path}: cannot be read as text; get the file again") from None
    template = settings.get("chat_template")
    for named in template if isinstance(template, list) else ():
        if isinstance(named, dict) and named.get("name") == "default":
            template = named.get("template")
    return template if isinstance(template, str) else None


def _text(token: object) -> str:
    """The text of a token, which may stand in an object of its own."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else ""


def _object(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise WeightsError(f"{path}: not valid JSON; get the file again") from None
    if not isinstance(found, dict):
        raise WeightsError(f"{path}: not a JSON object; get the file again")
    return found
