"""Micro-compaction and pruning: old tool results are replaced by stubs while the rest of the history stays."""

from __future__ import annotations

from agentsim.harness.conversation_thread import ConversationThread
from agentsim.harness.plan import Clearing


def clear(thread: ConversationThread, rule: Clearing) -> int:
    """Clear what the rule says may go. Returns how many tokens came free; 0 when nothing was cleared."""
    if thread.tokens < rule.trigger:
        return 0
    thread.flush()
    prompt = thread.prompt
    end = prompt.tokens
    old = thread.results[: -rule.keep] if rule.keep else thread.results
    chosen = [
        at for at in old if end - prompt.tokens_until(at + 1) >= rule.protect and (prompt[at].tokens or 0) > rule.stub
    ]
    freed = sum((prompt[at].tokens or 0) - rule.stub for at in chosen)
    if not chosen or freed < max(rule.at_least, 1):
        return 0
    thread.clear(chosen, rule.stub)
    return freed
