"""Installed packages, for an interpreter that was started without looking for them."""

from __future__ import annotations

import sys


def packages() -> None:
    """Let installed packages be found."""
    if "site" not in sys.modules:
        import site

        site.main()
