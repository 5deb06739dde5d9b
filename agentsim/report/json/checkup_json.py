"""What ``agentsim doctor`` found, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsim.core.extras import how_to_install
from agentsim.report.json.canonical_json import Document, envelope, problem_documents

if TYPE_CHECKING:
    from agentsim.fleet.checkup import Checkup


def checkup_document(found: Checkup) -> Document:
    """Places with their logs, extras, rules, prices and kept files."""
    return {
        **envelope("doctor"),
        "python": found.python,
        "system": found.system,
        "places": [
            {
                "harness": place.harness,
                "path": place.path,
                "formats": {one.format: one.files for one in place.formats},
                "other_files": place.other_files,
                "problems": problem_documents(place.problems),
            }
            for place in found.places
        ],
        "unread": [{"harness": one.harness, "path": one.path, "reason": one.reason} for one in found.unread],
        "not_there": list(found.not_there),
        "extras": [
            {"name": one.name, "missing": list(one.missing), "install": how_to_install(one.name)}
            for one in found.extras
        ],
        "rules": {
            "providers": found.providers,
            "own_files": list(found.own_rules),
            "read_from": found.rules_until[0],
            "read_until": found.rules_until[1],
        },
        "prices": {"library": found.price_library, "read_until": found.prices_until},
        "kept_files": [{"purpose": one.purpose, "path": one.path, "size": one.size} for one in found.kept],
    }
