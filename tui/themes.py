"""Three themes of our own: dark, light, and one whose colours every eye can tell apart."""

from __future__ import annotations

import dataclasses

from textual.theme import Theme

DARK = Theme(
    name="dark",
    primary="#7aa2f7",
    secondary="#565f89",
    accent="#e0af68",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    foreground="#c8d0f0",
    background="#15161e",
    surface="#1a1b26",
    panel="#24283b",
    dark=True,
    variables={
        "faint": "#7f88b0",
        "good": "#9ece6a",
        "warn": "#e0af68",
        "bad": "#ff7a93",
        "name": "#7dcfff",
        "read": "#57c7a5",
        "written": "#e0af68",
        "fresh": "#9aa5ce",
        "cursor-row": "#2f3a5f",
    },
)

LIGHT = Theme(
    name="light",
    primary="#2e59a8",
    secondary="#8990b3",
    accent="#8f5e15",
    warning="#8f5e15",
    error="#b3204d",
    success="#3d6b1f",
    foreground="#1c2233",
    background="#f4f5f8",
    surface="#fbfbfd",
    panel="#e4e7ef",
    dark=False,
    variables={
        "faint": "#666d82",
        "good": "#3d6b1f",
        "warn": "#8f5e15",
        "bad": "#b3204d",
        "name": "#005f87",
        "read": "#0f7a5b",
        "written": "#a05a00",
        "fresh": "#5b6378",
        "cursor-row": "#cdd9f2",
    },
)

SAFE = Theme(
    name="colour-blind safe",
    primary="#56b4e9",
    secondary="#6f7a86",
    accent="#f0e442",
    warning="#e69f00",
    error="#e8743b",
    success="#56b4e9",
    foreground="#e8e8e8",
    background="#101214",
    surface="#16191c",
    panel="#23282d",
    dark=True,
    variables={
        "faint": "#9aa3ab",
        "good": "#56b4e9",
        "warn": "#f0e442",
        "bad": "#ff8a4d",
        "name": "#cc9fc0",
        "read": "#56b4e9",
        "written": "#e69f00",
        "fresh": "#c8c8c8",
        "cursor-row": "#2c3f52",
    },
)
"""Blue against orange: told apart with any of the common kinds of colour blindness."""

THEMES = (DARK, LIGHT, SAFE)

FALLBACK = {
    "faint": "ansi_bright_black",
    "good": "ansi_green",
    "warn": "ansi_yellow",
    "bad": "ansi_red",
    "name": "ansi_cyan",
    "read": "ansi_green",
    "written": "ansi_yellow",
    "fresh": "ansi_blue",
    "cursor-row": "ansi_blue",
}
"""Our colours in a theme that is not ours: the terminal's own."""

_GROUNDS = frozenset({"faint", "cursor-row"})
"""Variables that stay as they are without colours: a ground, and text that is meant to step back."""


def colourless(theme: Theme) -> Theme:
    """A theme for ``NO_COLOR``: every ink has the text's own colour, so that none turns into a dark grey. What is bold,
    a miss above all, stands out by that alone."""
    text = theme.foreground or ""
    variables = {name: value if name in _GROUNDS else text for name, value in theme.variables.items()}
    return dataclasses.replace(theme, accent=text, warning=text, error=text, success=text, variables=variables)


def colourless_fallback() -> dict[str, str]:
    """The same for a theme that is not ours: the terminal's own text colour."""
    return {name: value if name in _GROUNDS else "ansi_default" for name, value in FALLBACK.items()}
