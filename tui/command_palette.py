"""The command palette, safe against keys that are faster than its first drawing."""

from __future__ import annotations

from textual.command import CommandList, CommandPalette


class SafePalette(CommandPalette):
    """Textual's palette. Its list fails on a page key that comes after its options and before their lines are known;
    such a key has nothing to move yet, and is dropped."""

    def _action_command_list(self, action: str) -> None:
        found = self.query_one(CommandList)
        if action.startswith("page") and not found._index_to_line:
            return
        super()._action_command_list(action)
