"""What a hook of Claude Code answers: nothing where an act is cheap, else its price and a cheaper way in a sentence.

A hook is asked before a prompt, before a switch of the model, when a session is resumed, before a summary, and with a
budget after each tool. Whatever goes wrong, it answers nothing and the harness goes on.
"""

from __future__ import annotations

import os
import time

from agentsim.guard import cache_words
from agentsim.guard.guard_policy import DEFAULT, count_large, level_of, load_policy
from agentsim.guard.light_json import NotJson, count, dumps, loads, table, text
from agentsim.guard.model_prices import ModelPrices, PriceFile
from agentsim.guard.private_files import note_failure, place, read_table, write_table
from agentsim.guard.status_line import read_input
from agentsim.guard.time_limit import limit, no_limit
from agentsim.guard.transcript_tail import newest_main, read_on, size_of, spent, still_warm, ttl_of
from agentsim.traces.kept_places import safe_name

Table = dict[str, object]

MILLISECONDS = 110
"""After so long a hook that may only warn ends itself; with the start of the interpreter that is less than 150 ms."""

LONGEST = 2_000
"""The same, in milliseconds, for one that may ask, block or stop: on a machine that is busy a limit must still hold."""

AGAIN = 15 * 60
"""Seconds within which a prompt that is entered again answers the question about it."""

_TTL = {"5m": 300, "1h": 3600}


class Finding:
    """One act with its price, and what could be done in its place."""

    __slots__ = ("cheaper", "cost", "tokens", "what")

    def __init__(self, what: str, tokens: int, cost: int | None, cheaper: str = "") -> None:
        self.what = what
        self.tokens = tokens
        self.cost = cost
        self.cheaper = cheaper

    @property
    def sentence(self) -> str:
        """The one sentence."""
        price = "" if self.cost is None else f", {cache_words.dollars(self.cost)}"
        return f"{self.what}{cache_words.tokens(self.tokens)} tokens{price}{self.cheaper}"


def main() -> int:
    """Read a document from standard input, and write an answer where there is one."""
    now = int(time.time())
    limit(LONGEST, lambda: note_failure("hook", TimeoutError(), now))
    try:
        answer = answer_to(read_input(), now)
        if answer:
            os.write(1, dumps(answer).encode() + b"\n")
    except Exception as error:  # a hook never breaks the program that asks it
        no_limit()
        note_failure("hook", error, now)
    no_limit()
    return 0


def answer_to(data: bytes, now: int) -> Table | None:
    """The answer to a document; ``None``: nothing to say."""
    try:
        document = loads(data)
    except NotJson:
        return None
    if not isinstance(document, dict):
        return None
    session = safe_name(text(document, "session_id") or "")
    event = text(document, "hook_event_name")
    ask = _EVENTS.get(event or "")
    if session is None or ask is None:
        return None
    try:
        limits = load_policy(hurried=True)
    except (ValueError, OSError) as error:  # a WrittenFileError: its module is not loaded for a hook
        note_failure("guard.toml", error, now)
        limits = DEFAULT
    if set(limits) <= {"warn"}:
        limit(MILLISECONDS, lambda: note_failure("hook", TimeoutError(), now))
    file = place("claude-code", f"{session}.state")
    state = read_table(file)
    before = dumps(state)
    prices = PriceFile(patient=False)
    tail = table(state, "tail")
    transcript = document.get("transcript_path")
    if isinstance(transcript, str):
        read_on(tail, transcript, prices)
    state["tail"] = tail
    over = _over_budget(state, tail, limits, prices, session, now)
    if over is not None and event in ("UserPromptSubmit", "PostToolUse"):
        answer: Table | None = _stop(event, over)
    else:
        finding = ask(document, state, prices, now)
        answer = None
        if finding is not None:
            level = level_of(limits, finding.cost, finding.tokens)
            if level is not None:
                answer = _answer(event or "", level, finding.sentence, document, state, now)
    if dumps(state) != before:
        write_table(file, state)
    return answer


# --- what is asked ---------------------------------------------------------------------------------------------------


def _before_prompt(document: Table, state: Table, prices: PriceFile, now: int) -> Finding | None:
    """A prompt into a cache that is cold, or whose key has changed since the last request."""
    tail = table(state, "tail")
    row = newest_main(tail)
    if not row:
        return None
    here, model = str(row.get("model")), str(state.get("model") or row.get("model"))
    last = text(row, "effort", 20)
    effort = text(state, "effort", 20) or last
    tokens = size_of(row) + (count(row, "output") or 0)
    ttl = _ttl(state, row)
    gone = now - _ends(state, row, ttl)
    switched = _bare(model) != _bare(here)
    changed = effort is not None and last is not None and effort != last
    if gone <= 0 and not switched and not changed:
        return None
    kept = still_warm(tail, model, effort, now) if switched or changed else 0
    cost, card = _cost(model, tokens, kept, ttl, prices, _speed(row))
    if switched:
        return Finding(
            f"the model changed to {model}: this prompt writes ", tokens - kept, cost, _stay(here, tokens, prices)
        )
    if changed:
        said = f"effort changed from {last} to {effort}: this prompt may write "
        return Finding(said, tokens - kept, cost, _stay(here, tokens, prices, last))
    said = f"cold since {cache_words.span(gone)}: this prompt writes "
    return Finding(said, tokens, cost, _afresh(state, card, ttl))


def _before_switch(document: Table, state: Table, prices: PriceFile, now: int) -> Finding | None:
    """Another model: what it writes there, and what staying would read."""
    tokens = count(document, "context_tokens") or 0
    there, here = text(document, "to_model"), text(document, "from_model")
    if not tokens or there is None or (here is not None and _bare(here) == _bare(there)):
        return None
    tail = table(state, "tail")
    effort = text(state, "effort", 20) or text(newest_main(tail), "effort", 20)
    ttl = _TTL.get(text(document, "cache_ttl") or "", 300)
    kept = min(still_warm(tail, there, effort, now), tokens)
    cost, _card = _cost(there, tokens, kept, ttl, prices, None)
    cheaper = ""
    mine = None if here is None else prices.of(here, tokens)
    if mine is not None:
        warm = document.get("prompt_cache_warm") is not False
        stay = cache_words.dollars(tokens * (mine.read if warm else mine.write(ttl)))
        cheaper = f"; staying {'reads' if warm else 'writes'} all of it for {stay}"
        if warm:
            back = cache_words.dollars(tokens * mine.write(ttl))
            cheaper += f", so does coming back within {cache_words.span(ttl)}, later {back}"
    has = f"still reads {cache_words.tokens(kept)} and" if kept else "has nothing of this conversation: the next prompt"
    return Finding(f"{there} {has} writes ", tokens - kept, cost, cheaper)


def _at_start(document: Table, state: Table, prices: PriceFile, now: int) -> Finding | None:
    """A session that is resumed, or forked, after its cache has gone."""
    if text(document, "source") not in ("resume", "fork"):
        return None
    tokens = count(document, "context_tokens")
    row = newest_main(table(state, "tail"))
    ttl = _ttl(state, row)
    if tokens is None:
        tokens = size_of(row) + (count(row, "output") or 0) if row else 0
    expired = document.get("prompt_cache_likely_expired")
    idle = count(document, "seconds_since_last_response")
    if expired is None:
        expired = bool(row) and now > _ends(state, row, ttl)
    if not tokens or expired is not True:
        return None
    card = prices.of(text(document, "model") or str(row.get("model")), tokens)
    since = f" {cache_words.span(idle)} ago" if idle is not None else ""
    cost = None if card is None else tokens * card.write(ttl)
    said = f"the last answer was{since}, longer than its cache lives: the first prompt writes "
    return Finding(said, tokens, cost, _afresh(state, card, ttl))


def _before_summary(document: Table, state: Table, prices: PriceFile, now: int) -> Finding | None:
    """A summary asked for when the cache is cold: it sends everything anew."""
    row = newest_main(table(state, "tail"))
    if not row:
        return None
    tokens = size_of(row) + (count(row, "output") or 0)
    ttl = _ttl(state, row)
    gone = now - _ends(state, row, ttl)
    card = prices.of(str(row.get("model")), tokens, _speed(row))
    if gone <= 0 or card is None:
        return None
    while_warm = cache_words.dollars(tokens * card.read)
    said = f"cold since {cache_words.span(gone)}: the summary writes "
    cheaper = f" (warm it would have read them for {while_warm}){_afresh(state, card, ttl, ';')}"
    return Finding(said, tokens, tokens * card.write(ttl), cheaper)


def _after_tool(_document: Table, _state: Table, _prices: PriceFile, _now: int) -> Finding | None:
    """Only a budget is looked at."""
    return None


_EVENTS = {
    "UserPromptSubmit": _before_prompt,
    "PreModelSwitch": _before_switch,
    "SessionStart": _at_start,
    "PreCompact": _before_summary,
    "PostToolUse": _after_tool,
}


# --- what is known ---------------------------------------------------------------------------------------------------


def _ttl(state: Table, row: Table) -> int:
    return count(table(state, "said"), "ttl") or ttl_of(row) or 300


def _ends(state: Table, row: Table, ttl: int) -> int:
    """When the cache ends: as the harness said after that very row, else its time and its lifetime."""
    at = count(row, "at") or 0
    said = count(table(state, "said"), "expires")
    return said if said is not None and said >= at else at + ttl


def _afresh(state: Table, card: ModelPrices | None, ttl: int, mark: str = ";") -> str:
    opening = count(table(state, "tail"), "opening")
    if card is None or not opening:
        return ""
    return f"{mark} /clear first: {cache_words.dollars(opening * card.write(ttl))}, without the history"


def _stay(model: str, tokens: int, prices: PriceFile, effort: str | None = None) -> str:
    card = prices.of(model, tokens)
    return (
        ""
        if card is None
        else f"; back at {effort or model} it reads them for {cache_words.dollars(tokens * card.read)}"
    )


def _cost(
    model: str, tokens: int, kept: int, ttl: int, prices: PriceFile, speed: str | None
) -> tuple[int | None, ModelPrices | None]:
    """Picodollars of a prompt of which so much is kept."""
    card = prices.of(model, tokens, speed)
    return None if card is None else kept * card.read + (tokens - kept) * card.write(ttl), card


def _speed(row: Table) -> str | None:
    speed = text(row, "speed", 20)
    return speed if speed != "standard" else None


def _bare(model: str) -> str:
    return model.split("[", 1)[0]


# --- what is answered ------------------------------------------------------------------------------------------------


def _answer(event: str, level: str, sentence: str, document: Table, state: Table, now: int) -> Table | None:
    said = f"agentsim: {sentence}"
    if level == "warn" or event == "SessionStart" or (event == "PreCompact" and document.get("trigger") != "manual"):
        return {"systemMessage": said}
    if event == "PreModelSwitch":
        decision = "ask" if level == "ask" else "deny"
        return {
            "hookSpecificOutput": {
                "hookEventName": event,
                "permissionDecision": decision,
                "permissionDecisionReason": said,
            }
        }
    if level == "ask":
        # There is no question before a prompt or a summary: it is stopped once, and asking again is the answer.
        key = f"asked_{event}"
        asked = count(state, key)
        if asked is not None and now - asked <= AGAIN:
            state.pop(key, None)
            return None
        state[key] = now
        return {"decision": "block", "reason": f"{said}. Enter it again to go on."}
    return {"decision": "block", "reason": f"{said}. Blocked by the policy."}


def _over_budget(state: Table, tail: Table, limits: Table, prices: PriceFile, session: str, now: int) -> str | None:
    """What was spent of which budget, where that is all of it."""
    budget = table(limits, "budget")
    most, most_today = count_large(budget, "session"), count_large(budget, "day")
    if most is None and most_today is None:
        return None
    whole, today, day = spent(tail, prices)
    told = count_large(state, "harness_cost")
    whole = max(whole, told or 0)
    if most is not None and whole >= most:
        return f"this session has cost {cache_words.dollars(whole)} of {cache_words.dollars(most)}"
    if most_today is not None:
        file = place("claude-code", "days.json")
        days = read_table(file)
        this_day = now // 86_400
        sessions = table(days, str(this_day))
        mine = today if day == this_day else 0
        if sessions.get(session) != mine:
            sessions[session] = mine
            write_table(file, {str(this_day): sessions})
        total = sum(paid for paid in sessions.values() if type(paid) is int)
        if total >= most_today:
            return f"today has cost {cache_words.dollars(total)} of {cache_words.dollars(most_today)}"
    return None


def _stop(event: str | None, over: str) -> Table:
    said = f"agentsim: {over}: stopped by the budget"
    if event == "PostToolUse":
        return {"continue": False, "stopReason": said}
    return {"decision": "block", "reason": said}
