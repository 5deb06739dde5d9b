"""What a session is called on a screen: its title, else its project and branch, else its id."""

from __future__ import annotations

from agentsim.core.session import Session
from agentsim.traces.session_names import names_of
from agentsim.tui.ink import Ink, Piece


def called(session: Session) -> str:
    """Its title, where it has one; else its project and branch; else its id."""
    names = names_of(session)
    return session.title or names.title or names.place or session.id


def heading_of(session: Session) -> list[Piece]:
    """What it is called, and what else tells it from others: project and branch, and the beginning of its id."""
    name = called(session)
    place = names_of(session).place
    more = [part for part in (place, session.id[:8]) if part and part != name and not name.startswith(part)]
    return [(name, Ink.STRONG), *((f" · {part}", Ink.FAINT) for part in more)]
