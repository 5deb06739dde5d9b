"""Writes ``claude-code.jsonl``: an invented session as Claude Code logs it, with a loss of each common kind.

python -m agentsim.traces.samples.make_claude_code
"""

from __future__ import annotations

from pathlib import Path

from agentsim.traces.samples.claude_log import ClaudeLog

BASE = 24_310
"""Tokens of tools and system, which stay readable whatever happens to the conversation."""


def session() -> ClaudeLog:
    """A morning's work: an unlogged call, a lookback loss, an expiry and changed tools."""
    log = ClaudeLog("3f0c7d52-8a41-4b7e-9a55-6d2e1c9b7f10", model="claude-opus-4-8", version="2.1.240")
    log.user("The export drops the last row of every sheet. Find out why and fix it.")
    log.label(None).call(BASE, 9_120, output=412, tools=2, hour=True)
    warm = BASE + 9_120
    for results, size in ((2, 3_870), (1, 1_240), (1, 2_660)):
        log.now += 2
        log.results(results)
        log.label(None).call(warm, size, output=260, hour=True)
        warm += size
    log.now += 1
    log.results()
    log.label(None).call(warm, 640, output=531, tools=0, stop="end_turn", hour=True)
    warm += 640
    # The reply was replayed by a call that is not in the log: the next read goes beyond all that was logged.
    log.now += 95
    log.user("Good. Does the same happen in the CSV writer?")
    log.label(None).call(warm + 531, 120, output=388, tools=11, hour=True)
    warm += 531 + 120
    # Eleven calls and eleven results are more than the lookback reaches.
    log.now += 3
    log.results(11)
    log.label(None).call(BASE, warm - BASE + 14_730, output=610, hour=True)
    warm += 14_730
    log.now += 2
    log.results()
    log.label(None).call(warm, 980, output=204, tools=0, stop="end_turn", hour=True)
    warm += 980
    # An hour and a quarter of lunch.
    log.now += 4_500
    log.user("Back. Write the tests too.")
    log.label("previous_message_not_found").call(BASE, warm - BASE + 350, output=702, hour=True)
    warm += 350
    log.now += 4
    log.results()
    log.add("attachment", attachment={"type": "deferred_tools_delta"})
    log.label("tools_changed", warm - 4_000).call(0, warm + 2_210, output=318, hour=True)
    warm += 2_210
    log.now += 2
    log.results()
    log.label(None).call(warm, 760, output=455, tools=0, stop="end_turn", hour=True)
    return log


def main() -> None:
    """Write the sample beside this script."""
    session().save(Path(__file__).parent / "claude-code.jsonl")


if __name__ == "__main__":
    main()
