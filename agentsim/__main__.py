"""``python -m agentsim``, and the command ``agentsim``."""

from __future__ import annotations

import gc
import sys

# What is made while a program starts lives on: looking for garbage in it costs a twentieth of the start.
gc.set_threshold(5_000)

from agentsim.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
