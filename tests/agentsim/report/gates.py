"""Gates to write in every format: one of a real check, one whose every word is hostile, one with many results."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from agentsim.budget.budget_gate import Gate, GateMiss, JudgedTrace, Result, dearest_first, worst_first
from agentsim.budget.budget_limits import Limit
from agentsim.budget.session_measures import Measures, measure
from agentsim.core.session import Problem
from agentsim.core.verdict import Divergence, Verdict
from agentsim.diagnose import diagnose
from tests.agentsim.budget.recorded import COST, after, before, budget, gate, limit
from tests.agentsim.hostile import ATTACK

HOSTILE = (
    ATTACK
    + "\r\n::error::forged\x00\ufffe\ud800 ]]> </failure><x a='\"'> & <!-- --> | a | b |\n| - | - |\n"
    + "<script>alert(1)</script> [link](http://evil) ![i](http://evil/x.png) @someone #12 GH-3 www.evil.com `code`"
    + " %0A::warning:: %25 a:b,c;d ${{ secrets.X }} --- ``` http://evil.com **bold** ~~gone~~ :tada: $x$ &lt;b&gt;"
)


def real() -> Gate:
    """The bundled pair, held to limits of each outcome."""
    limits = (
        limit("max-cost", COST - 1, line=7),
        limit("forbid", cause="AS103", line=8),
        limit("max-growth", Fraction(5, 100), metric="cost", relative=True, line=9),
        limit("max-misses", 1, line=10),
    )
    known: dict[str, Measures | None] = {"rec/gate-after.jsonl#gate-after": measure(diagnose(after()))}
    one = budget(*limits, name="shop", file="agentsim.toml", line=3)
    warns = budget(limit("max-misses", 0, line=20), name="softly", level="warn", file="agentsim.toml", line=18)
    return gate(after(), before(), budgets=[one, warns], baseline=known, config="agentsim.toml")


def all_held() -> Gate:
    return gate(before(), budgets=[budget(limit("max-misses", 0), name="shop")])


def hostile() -> Gate:
    """All that comes from outside attacks: names of budgets, files, sessions and blocks, and words of verdicts."""
    verdict = Verdict(
        request=HOSTILE,
        kind="miss",
        cause="AS103",
        evidence="proved",
        place=Divergence(section="tools", address=HOSTILE, name=HOSTILE, change="reordered"),
        lost=1,
        lost_cost=1,
        fix=HOSTILE,
    )
    trace = JudgedTrace(path=HOSTILE, session=HOSTILE, measures=Measures(requests=1, misses=(("AS103", 1),)))
    results = [
        Result(
            budget=HOSTILE,
            level="error",
            limit=Limit(kind="forbid", value=Fraction(0), cause="AS103", line=1),
            subject=HOSTILE,
            traces=(trace.key,),
            status=status,
            actual=Fraction(1),
            reason=HOSTILE if status == "unjudged" else None,
            path=HOSTILE,
            file=HOSTILE,
            line=1,
        )
        for status in ("broken", "unjudged", "held")
    ]
    finding = GateMiss(
        trace=trace.key,
        path=HOSTILE,
        session=HOSTILE,
        number=1,
        verdict=verdict,
        file=HOSTILE,
        line=1,
        blame="error",
    )
    unknown = msgspec.structs.replace(finding, verdict=msgspec.structs.replace(verdict, cause=HOSTILE))
    return Gate(
        results=tuple(results),
        findings=(finding, unknown),
        traces=(trace,),
        problems=(Problem(file=HOSTILE, line=3, reason=HOSTILE, remedy=HOSTILE),),
        config=HOSTILE,
    )


def many(count: int = 1_000) -> Gate:
    """So many sessions with long names, each of which breaks a limit by a little more than the one before it."""
    results, findings, traces = [], [], []
    for number in range(count):
        path = f"recordings/{'long/' * 20}run-{number:04}.jsonl"
        trace = JudgedTrace(path=path, session="s", measures=Measures(requests=1, cost=number), alone=True)
        traces.append(trace)
        verdict = Verdict(request="r", kind="miss", cause="AS103", lost=number, lost_cost=number * 10**9)
        results.append(
            Result(
                budget="b",
                level="error",
                limit=Limit(kind="max-cost", value=Fraction(10**12)),
                subject=path,
                traces=(trace.key,),
                status="broken",
                actual=Fraction(10**12 + (number + 1) * 10**9),
                path=path,
            )
        )
        findings.append(
            GateMiss(
                trace=trace.key, path=path, session="s", number=2, verdict=verdict, file=path, line=2, blame="warning"
            )
        )
    return Gate(results=worst_first(results), findings=dearest_first(findings), traces=tuple(traces))
