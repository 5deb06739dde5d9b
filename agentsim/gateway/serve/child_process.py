"""Running a harness as a child of this program."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

_NO_PROXY = "127.0.0.1,localhost,::1"
_OTHER_PROVIDERS = (
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_ORGANIZATION",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT",
    "OPENAI_PROJECT_ID",
    "AZURE_OPENAI_ENDPOINT",
)
"""What would lead a harness elsewhere, or hand real credentials to it."""


def emulated_environment(url: str) -> dict[str, str]:
    """The environment of a child that shall talk to an emulated endpoint, and to nobody else."""
    found = {name: value for name, value in os.environ.items() if name not in _OTHER_PROVIDERS}
    return (
        found
        | recorded_environment(url)
        | {
            "ANTHROPIC_API_KEY": "sk-ant-agentsim-dummy",
            "OPENAI_API_KEY": "sk-agentsim-dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "PI_OFFLINE": "1",
        }
    )


def recorded_environment(url: str) -> dict[str, str]:
    """What points a harness to an endpoint of this machine, around any proxy."""
    return {
        "AGENTSIM_URL": url,
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_BASE_URL": f"{url}/v1",
        "NO_PROXY": _NO_PROXY,
        "no_proxy": _NO_PROXY,
    }


def run_child(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command to its end and return its exit code (128 + the signal that ended it). Raises OSError.

    Ctrl-C reaches the child, which decides what to do about it; SIGTERM is passed on.
    """
    # Not SIG_IGN, which the child would inherit: a handler of Python's own is gone once the child runs.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        child = subprocess.Popen(list(words), env=dict(environment))
        ended = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        try:
            status = child.wait()
        finally:
            signal.signal(signal.SIGTERM, ended)
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status
