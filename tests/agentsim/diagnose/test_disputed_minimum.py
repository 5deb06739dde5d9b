"""Sources disagree on the shortest prefix that is kept: the other reading is told, and left open."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.core.session import Session, Usage
from agentsim.diagnose import diagnose
from agentsim.rules.providers import rules_for
from tests.agentsim.prompts import block, prompt, request, session

GPT = "gpt-5.4"
"""By the rules it keeps 1,024 tokens and more; another reading says 2,048."""


def twice(size: int, *, bodies: bool, model: str = GPT, provider: str = "openai") -> Session:
    """The same prompt twice, of which nothing is read."""
    body = prompt([block("s", size, "system", role=None)]) if bodies else None
    usage = Usage(fresh=size, read=0, output=3)
    asked = [request(f"r{at}", 20 * at, body, model=model, usage=usage) for at in (0, 1)]
    asked[1] = msgspec.structs.replace(asked[1], parent="r0")
    made = session(msgspec.structs.replace(one, provider=provider) for one in asked)
    return made if bodies else msgspec.structs.replace(made, completeness="usage")


def test_the_readings_of_the_rules() -> None:
    figure = rules_for("openai", GPT, None).figure("minimum")
    assert figure is not None
    assert (figure.value, [value for value, _ in figure.alternatives]) == ("1024", ["2048"])


@pytest.mark.parametrize("bodies", [False, True])
@pytest.mark.parametrize(("size", "doubted"), [(1_024, True), (2_047, True), (2_048, False), (20_000, False)])
def test_long_enough_by_one_source_alone(bodies: bool, size: int, doubted: bool) -> None:
    verdict = diagnose(twice(size, bodies=bodies)).verdicts[1]
    assert (verdict.kind, verdict.cause) == ("miss", "AS902")
    assert ("AS303" in verdict.alternatives) is doubted
    assert ("nothing shorter than 2,048 tokens is kept" in " ".join(verdict.established)) is doubted


@pytest.mark.parametrize("bodies", [False, True])
@pytest.mark.parametrize(("size", "doubted"), [(1_023, False), (1_024, True), (2_047, True)])
def test_too_short_by_one_source_alone(bodies: bool, size: int, doubted: bool) -> None:
    # Since 2026-09-03 Gemini 2.5 Flash keeps 2,048 tokens and more; another reading says 1,024.
    verdict = diagnose(twice(size, bodies=bodies, model="gemini-2.5-flash", provider="google")).verdicts[1]
    assert (verdict.kind, verdict.cause) == ("uncached", "AS303")
    assert ("Another source says 1,024" in " ".join(verdict.established)) is doubted
    assert verdict.evidence == ("likely" if doubted else "proved" if bodies else "implied")
