"""A conformance run as a page of documentation."""

from __future__ import annotations

from collections.abc import Iterator

from agentsim.conform.act_files import act
from agentsim.conform.act_results import ActResult
from agentsim.conform.conformance import Conformance
from agentsim.report.screen.conform_page import habits_of

PICO = 10**12


def conform_markdown(found: Conformance) -> str:
    """The page: the table, what was lost and why, the habits, and the acts."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Conformance) -> Iterator[str]:
    yield "# What harnesses do to their prefix"
    yield ""
    yield f"Made on {found.day} by `agentsim conform --markdown docs/conformance.md`. Each harness is the published"
    yield "package, run without a person against an emulated provider; each cell is how many tokens were sent anew"
    yield "although they need not have been, by the provider's rules. An ideal harness has 0 everywhere. Two runs"
    yield "differ by some tokens: prompts hold paths and times. A dot: the harness has no way to do it here, or none"
    yield "that is known; `!`: it did not run to its end; a dash: it was not run."
    yield ""
    yield "| act | " + " | ".join(f"{one.title} {one.version}".rstrip() for one in found.harnesses) + " |"
    yield "|--|" + "--:|" * len(found.harnesses)
    for name, _ in found.acts:
        cells = (_cell(found.result(one.name, name)) for one in found.harnesses)
        yield f"| [{name}](#{name}) | " + " | ".join(cells) + " |"
    totals = ([result for result in found.results if result.harness == one.name] for one in found.harnesses)
    yield "| at list price | " + " | ".join(_price(results) for results in totals) + " |"
    yield ""
    yield "## What was lost, and why"
    yield ""
    for one in found.harnesses:
        results = [result for result in found.results if result.harness == one.name]
        yield f"### {one.title} {one.version}".rstrip()
        yield ""
        yield f"{one.package}. It " + "; ".join(habits_of(results) or ["sent nothing that could be judged"]) + "."
        yield ""
        for result in results:
            for loss in result.losses:
                place = f", first in {loss.where}" if loss.where else ""
                yield f"- {result.act}: {loss.tokens:,} tokens, [{loss.cause}](causes/{loss.cause}.md){place}"
            if result.note and result.status != "unsupported":
                yield f"- {result.act}: {result.note.replace('<', '&lt;')}"
        yield ""
    yield "## The acts"
    yield ""
    for name, title in found.acts:
        yield f"### {name}"
        yield ""
        yield f"{title}. {' '.join(act(name).friendly.split())}"
        yield ""


def _cell(result: ActResult | None) -> str:
    if result is None:
        return "–"
    if result.status == "unsupported":
        return "·"
    if result.status == "failed":
        return "!"
    return f"{result.lost:,}" + ("!" if result.note else "")


def _price(results: list[ActResult]) -> str:
    costs = [result.cost for result in results if result.status == "ran"]
    known = [cost for cost in costs if cost is not None]
    return "–" if len(known) < len(costs) or not costs else f"${sum(known) / PICO:.4f}"
