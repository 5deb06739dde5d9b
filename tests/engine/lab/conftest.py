"""The lab needs torch, which an installation without the engine does not have."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["*.py", "states/*.py"]
