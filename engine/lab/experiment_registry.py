"""The experiments by name, in the order of a report. Listing them imports none of them."""

from __future__ import annotations

from importlib import import_module

from agentsim.engine.lab.experiment import Experiment

EXPERIMENTS: dict[str, str] = {
    "score-tables": "What tiled attention does not have to keep",
    "kv-size": "How large K/V is, and who shares with whom",
    "int4": "Four bits a number",
    "keys-and-values": "Four bits for K, for V, for both; and smaller is not faster",
    "latent": "One short vector per token, and a transformed query",
    "inverse-rope": "One vector for K and V, turned back after reading",
    "linear-attention": "A matrix instead of records",
    "yoco": "Positions that skip the later half of a model",
    "image": "Records of text and of an image",
    "attention-kinds": "Nine ways to keep history, against their definitions",
    "static-cache": "Static is the room, not the content",
    "ngram-memory": "A learned table of word pairs is no K/V cache",
    "schemes": "Three schemes: stored, read, and sessions that fit",
    "restore": "Continuing at token 3,072 of 4,096",
    "common-prefix": "What a provider can restore: A+B, A+C, A+D",
    "experts": "Experts: assignments and balance",
    "expert-memory": "Experts crowd out K/V",
    "divergence": "Entropy, cross-entropy and KL divergence",
    "indexer": "One step of training an indexer",
    "index-sharing": "Layers that go by another's list",
    "acceptance": "Accept or resample: the target's distribution stays",
    "rollback": "What is committed, what has K/V, and how to go back",
    "bonus-token": "One token more than was accepted",
    "speculation": "Drafts for a real model: acceptance and time",
    "granularity": "Entries against recomputation",
    "radix": "A tree that splits its segments, beside blocks",
    "controls": "Three paths to the same logits, and a splice that is none",
    "numerics": "Seven pairs of computation paths on a real model",
    "steps": "Small differences, small margins, other tokens",
    "contexts": "A valid cache, and K/V from elsewhere",
    "ownership": "Who may write on a page",
    "eviction": "Which page to give up first",
    "fan-out": "Three subagents: a marker, a wait, both, neither",
    "probe": "Four requests that tell how a cache works",
}
"""Name and title."""


def load(name: str) -> Experiment:
    """An experiment by name. Imports its module. Raises KeyError for a name that is not in the list."""
    if name not in EXPERIMENTS:
        raise KeyError(name)
    found = import_module(f"agentsim.engine.lab.{name.replace('-', '_')}").EXPERIMENT
    assert isinstance(found, Experiment)
    return found
