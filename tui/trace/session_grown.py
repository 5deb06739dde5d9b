"""The message that a session being followed has grown."""

from __future__ import annotations

from textual.message import Message

from agentsim.diagnose import Diagnosis


class Grown(Message):
    """A newer state of the session."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__()
        self.diagnosis = diagnosis
