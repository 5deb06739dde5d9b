"""Tests of the engine need torch, which an installation without the extra ``engine`` does not have."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["*.py", "*/*.py"]
