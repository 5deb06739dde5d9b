"""The messages of a session being followed: that it has grown, and that its files are gone."""

from __future__ import annotations

from textual.message import Message

from agentsim.diagnose import Diagnosis


class Grown(Message):
    """A newer state of the session."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__()
        self.diagnosis = diagnosis


class Vanished(Message):
    """Its files are not there any more; what was read of them stays."""
