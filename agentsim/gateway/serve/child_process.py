"""Running a harness as a child of this program."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence

_NO_PROXY = "127.0.0.1,localhost,::1"
_KEYS = re.compile(
    r".*_(API_KEY|API_TOKEN|AUTH_TOKEN|OAUTH_TOKEN|ACCESS_KEY|ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|BEARER_TOKEN\w*)"
    r"|CLAUDE_CODE_USE_\w+|GOOGLE_APPLICATION_CREDENTIALS|GOOGLE_GENAI_USE_\w+|AWS_PROFILE|HF_TOKEN|GITHUB_COPILOT_TOKEN"
    r"|OPENAI_(ORGANIZATION|ORG_ID|PROJECT|PROJECT_ID)|AZURE_OPENAI_ENDPOINT|COPILOT_\w*TOKEN"
)
"""Names of variables that hand real credentials to a harness, or lead it elsewhere."""

GRACE = 3.0
"""Seconds that what a harness left behind has to end by itself."""


def emulated_environment(url: str, passed: Collection[str] = ()) -> dict[str, str]:
    """The environment of a child that shall talk to an emulated endpoint, and to nobody else: no key of any provider is
    in it but dummies, and those of the variables that are named to be ``passed``."""
    found = {name: value for name, value in os.environ.items() if name in passed or not _KEYS.fullmatch(name)}
    dummies = {
        "ANTHROPIC_API_KEY": "sk-ant-agentsim-dummy",
        "OPENAI_API_KEY": "sk-agentsim-dummy",
        "GEMINI_API_KEY": "agentsim-dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "PI_OFFLINE": "1",
    }
    dummies = {name: value for name, value in dummies.items() if name not in passed}
    return found | recorded_environment(url) | dummies


def recorded_environment(url: str) -> dict[str, str]:
    """What points a harness to an endpoint of this machine, around any proxy."""
    return {
        "AGENTSIM_URL": url,
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_BASE_URL": f"{url}/v1",
        "GOOGLE_GEMINI_BASE_URL": url,
        "NO_PROXY": _NO_PROXY,
        "no_proxy": _NO_PROXY,
    }


def run_child(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command to its end and return its exit code (128 + the signal that ended it). Raises OSError.

    It has a process group of its own and the terminal, as if a shell had started it: Ctrl-C reaches it and nobody else.
    SIGINT and SIGTERM that reach this program are passed on. What it leaves behind in its group ends with it.
    """
    child = subprocess.Popen(list(words), env=dict(environment), process_group=0)

    def pass_on(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with _terminal_for(child.pid):
            status = _ended(child)
    finally:
        _end_group(child.pid)
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


@contextlib.contextmanager
def _terminal_for(group: int) -> Iterator[None]:
    """Give the terminal to a process group while the block runs, if there is one and it is ours to give."""
    try:
        is_ours = os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        is_ours = False
    if not is_ours:
        yield
        return
    _hand_over(group)
    try:
        yield
    finally:
        _hand_over(os.getpgrp())


def _hand_over(group: int) -> None:
    ignored = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with contextlib.suppress(OSError):
            os.tcsetpgrp(0, group)
        if group != os.getpgrp():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGCONT)  # it may have asked for the terminal before it had it
    finally:
        signal.signal(signal.SIGTTOU, ignored)


def _ended(child: subprocess.Popen[bytes]) -> int:
    """Wait for the end. A child that is stopped (Ctrl-Z) stops this program too, until somebody lets both go on."""
    while True:
        _, status = os.waitpid(child.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode
        _hand_over(os.getpgrp())
        os.kill(os.getpid(), signal.SIGSTOP)
        _hand_over(child.pid)


def _end_group(group: int) -> None:
    """End what is left of a process group: first by asking."""
    import time

    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGTERM)
        until = time.monotonic() + GRACE
        while time.monotonic() < until:
            os.killpg(group, 0)
            time.sleep(0.02)
        os.killpg(group, signal.SIGKILL)
