"""The line for a search or a filter at the bottom of a screen."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

LONGEST = 200


class SearchBar(Input):
    """Hidden until it is asked for. Tells each change, and the end."""

    DEFAULT_CSS = """
    SearchBar { height: 1; border: none; padding: 0 1; background: $panel; }
    SearchBar:focus { border: none; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Done", key_display="Enter"),
        Binding("escape", "cancel", "Cancel", key_display="Esc"),
    ]

    class Typed(Message):
        """The text has changed. ``purpose`` is what the bar was opened for."""

        def __init__(self, purpose: str, text: str) -> None:
            super().__init__()
            self.purpose = purpose
            self.text = text

    class Done(Typed):
        """The text was confirmed."""

    class Cancelled(Typed):
        """The bar was closed without a text."""

    def __init__(self) -> None:
        super().__init__(compact=True, max_length=LONGEST)
        self.purpose = ""
        self.display = False

    def ask(self, purpose: str, placeholder: str, text: str = "") -> None:
        """Open the bar."""
        self.purpose = ""
        self.placeholder = placeholder
        self.value = text
        self.purpose = purpose
        self.display = True
        # At once, and not when the app is idle: the next key is already part of the text.
        self.screen.set_focus(self)

    def close(self) -> None:
        """Hide the bar."""
        self.display = False

    def action_cancel(self) -> None:
        """Close without a text."""
        self.close()
        self.post_message(self.Cancelled(self.purpose, self.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell the text so far."""
        event.stop()
        if self.purpose and self.display:
            self.post_message(self.Typed(self.purpose, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Tell the text."""
        event.stop()
        self.close()
        self.post_message(self.Done(self.purpose, event.value))
