"""A conversation that was answered by another host, where the log names hosts: what is known, and why it may be."""

from __future__ import annotations

from agentsim.core.dates import SECOND
from agentsim.core.session import Request
from agentsim.diagnose.row_facts import RowFacts
from agentsim.rules.providers import rules_for


def host_changed(
    provider: str, model: str, before: tuple[str | None, int | None], after: tuple[str | None, int | None]
) -> tuple[str, ...]:
    """Sentences on two requests of one provider, each given as its host and its start; none where no change is known.

    A gateway that keeps a conversation with its host for some idle time only, shorter than an entry lives, loses the
    entry all the same: that is said where its rules tell the time.
    """
    (old, then), (new, now) = before, after
    if old is None or new is None or old == new:
        return ()
    sentences = [f"{new} answered after {old}: each host of {provider} has a cache of its own."]
    if then is not None and now is not None:
        idle = (now - then) // SECOND
        sticky = _sticky(provider, model, now)
        if sticky and idle > sticky:
            sentences.append(
                f"{provider} keeps a conversation with its host for {sticky:,} idle seconds; {idle:,} had passed."
            )
    return tuple(sentences)


ACCOUNT = "It was sent under another account: no account reads what another has written."


def went_elsewhere(before: Request, then: int | None, after: Request, now: int | None) -> tuple[str, ...]:
    """Sentences on a request that another account sent, or another host answered, than the one before; none where no
    change is known. ``then`` and ``now`` are their times."""
    if before.account is not None and after.account is not None and before.account != after.account:
        return (ACCOUNT,)
    return host_changed(after.provider, after.model, (before.host, then), (after.host, now))


def moved_hosts(row: RowFacts, parent: RowFacts) -> tuple[str, ...]:
    """:func:`host_changed` of two rows of usage. The idle time counts from the end of the first, where it is known."""
    last = parent.start if parent.end is None else parent.end
    return host_changed(row.provider, row.model, (parent.host, last), (row.host, row.start))


def _sticky(provider: str, model: str, now: int) -> int:
    try:
        return rules_for(provider, model, now).route_sticky
    except ValueError:
        return 0
