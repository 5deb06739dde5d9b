"""Conformance runs for programs."""

from __future__ import annotations

from typing import Any

import msgspec

from agentsim import __version__
from agentsim.conform.conformance import Conformance

PICO = 10**12


def conform_document(found: Conformance) -> dict[str, Any]:
    """The document: harnesses with their versions, acts, and a result for each pair of them."""
    plain = msgspec.to_builtins(found)
    plain["acts"] = [{"name": name, "title": title} for name, title in found.acts]
    for result in plain["results"]:
        cost = result.pop("cost")
        result["lost_cost_usd"] = None if cost is None else cost / PICO
    return {"agentsim": __version__, "report": "conform", "version": 1, **plain}


def conform_of(document: bytes) -> Conformance:
    """A conformance run from its document. Raises ValueError."""
    plain = msgspec.json.decode(document)
    if not isinstance(plain, dict) or plain.get("report") != "conform":
        raise ValueError("no report of 'agentsim conform --json'")
    plain["acts"] = [(one["name"], one["title"]) for one in plain["acts"]]
    for result in plain["results"]:
        dollars = result.pop("lost_cost_usd", None)
        result["cost"] = None if dollars is None else round(dollars * PICO)
    return msgspec.convert({key: plain[key] for key in Conformance.__struct_fields__}, Conformance)
