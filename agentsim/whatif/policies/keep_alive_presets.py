"""Keep-alive as existing harnesses and tools do it, named by what they do."""

from __future__ import annotations

from typing import ClassVar

from agentsim.whatif.policies.keep_alive import KeepAlive


class KeepAlivePriced(KeepAlive, frozen=True, kw_only=True):
    """Refresh when the expected saving is worth five cents. What Pi does in its mode "idle"."""

    name: ClassVar[str] = "keep-alive-priced"
    summary: ClassVar[str] = "Refresh only where at least $0.05 is expected to be saved, 30 min idle, 60 min running."
    origin: ClassVar[str] = (
        "The cache warming of Pi (0.86 to 1.6): at 270 s of 300, or 3,240 of 3,600; dropped when the timer is more "
        "than half of the rest late; chance of a next request 1 while running and 0.15 idle."
    )
    most: int = 1000
    max_running: float = 3600
    max_idle: float = 1800
    p_idle: float = 0.15
    min_saving: float = 0.05


class KeepAliveThree(KeepAlive, frozen=True, kw_only=True):
    """At most three refreshes, each 15 seconds before the end, without output. What oh-my-pi does."""

    name: ClassVar[str] = "keep-alive-three"
    summary: ClassVar[str] = "At most three refreshes, each 15 s before the lifetime ends: some 19 min of pause."
    origin: ClassVar[str] = "oh-my-pi."
    how: ClassVar[dict[str, str]] = {
        "claude-code": "Nothing built in: have a timer send a one-word message before the lifetime ends.",
        "pi": "What oh-my-pi does.",
        "own-code": "Send the last request again with max_tokens 0 15 s before the end, at most three times.",
    }
    fraction: float = 1
    margin: float = 15
    most: int = 3
    output: int = 0


class KeepAliveSteady(KeepAlive, frozen=True, kw_only=True):
    """Up to thirty refreshes at 90 % of the lifetime, whatever they cost. What claude-cache-warm does."""

    name: ClassVar[str] = "keep-alive-steady"
    summary: ClassVar[str] = "Up to 30 refreshes at 90 % of the lifetime, whatever they cost."
    origin: ClassVar[str] = "claude-cache-warm: every 4.5 min, or every 54 min for one-hour entries."
    most: int = 30


class KeepAliveHour(KeepAlive, frozen=True, kw_only=True):
    """Refresh one-hour entries once in each hour, never five-minute ones. What CLIProxyAPI does."""

    name: ClassVar[str] = "keep-alive-hour"
    summary: ClassVar[str] = "Refresh one-hour entries once in each hour; leave five-minute ones alone."
    origin: ClassVar[str] = "CLIProxyAPI."
    most: int = 24
    hour_only: bool = True
