"""A setting of a harness as the change to make: the file, and the line to add to it, as a diff shows it."""

from __future__ import annotations

import json
import re

from agentsim.diagnose.harness_settings import HarnessSetting

_FILE = re.compile(r"[~\w./-]+\.(?:json|toml)")
_VALUE = "…"
"""What stands for a value that is yours to choose."""


def diff_of(setting: HarnessSetting) -> tuple[str, ...]:
    """The place, and the lines to add there: ``("~/.claude/settings.json", '+ "promptCacheTtl": "1h"')``. Empty where
    there is nothing to set. A value that is yours to choose is ``…``."""
    if not setting.set:
        return ()
    file = _FILE.search(setting.where)
    if setting.where.endswith("command line"):
        return "command line", f"+ {setting.set}"
    if file is None:
        name, value = _parts(setting.set)
        return "environment", f"+ export {name}={value}"
    if file[0].endswith(".toml"):
        name, value = _parts(setting.set)
        return file[0], f"+ {name} = {value}"
    return file[0], f"+ {_json(setting)}"


def _json(setting: HarnessSetting) -> str:
    if setting.set.startswith('"'):
        return setting.set
    name, value = _parts(setting.set)
    if '"env"' in setting.where:
        return f'"env": {{{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}}}'
    keys = name.split(".")
    return ": {".join(json.dumps(key) for key in keys) + f": {value}" + "}" * (len(keys) - 1)


def _parts(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    return name.strip(), value.strip() if sign else _VALUE
