"""What every test gets: no network, and no trace of the person who runs it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

SHARED_DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
"""Real logs, kept outside the repository. Tests that need them are skipped where they are missing."""

# The same examples on every run: a failure is a change, not luck. HYPOTHESIS_PROFILE=random hunts for more.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

SLOW = frozenset(
    {
        "agentsim/cache/test_backend_contract.py",
        "agentsim/cache/test_spill.py",
        "agentsim/commands/test_lab.py",
        "agentsim/commands/test_tune.py",
        "agentsim/context/test_context_account.py",
        "agentsim/core/test_written_files.py",
        "agentsim/diagnose/test_row_invariants.py",
        "agentsim/fleet/test_cluster.py",
        "agentsim/fleet/test_sweep.py",
        "agentsim/fleet/test_watch.py",
        "agentsim/gateway/test_canary.py",
        "agentsim/gateway/test_commands.py",
        "agentsim/gateway/test_demands.py",
        "agentsim/gateway/test_limits.py",
        "agentsim/gateway/test_openai_background.py",
        "agentsim/gateway/test_voice_together.py",
        "agentsim/guard/test_installation.py",
        "agentsim/harness/test_determinism.py",
        "agentsim/harness/test_speed.py",
        "agentsim/rules/prices/test_book.py",
        "agentsim/test_same_bytes.py",
        "agentsim/whatif/test_combination_regret.py",
        "agentsim/whatif/test_compare_every_provider.py",
        "agentsim/whatif/test_hostile.py",
        "agentsim/whatif/test_named_differences.py",
        "agentsim/whatif/test_properties.py",
        "docs/test_longer_commands_run.py",
        "engine/lab/states/test_interleavings.py",
        "engine/lab/test_experiments.py",
        "engine/layouts/test_layouts_independent.py",
        "engine/test_tokenizer.py",
        "engine/test_tokenizer_folder.py",
        "engine/weights/test_gguf.py",
        "engine/weights/test_safetensors.py",
        "kernels/test_activation.py",
        "kernels/test_ahead_of_time.py",
        "kernels/test_attention.py",
        "kernels/test_dispatch.py",
        "kernels/test_int4.py",
        "scenarios/test_hostile.py",
        "test_unique_names.py",
        "traces/agentsim1/test_round_trip.py",
        "traces/claude_code/test_growing.py",
        "traces/claude_code/test_one_order.py",
        "traces/claude_code/test_shortcuts.py",
        "traces/codex/test_codex.py",
        "traces/test_fuzz.py",
        "traces/test_growing.py",
        "traces/test_har.py",
        "traces/test_litellm.py",
        "traces/test_observability.py",
        "traces/test_openhands.py",
        "traces/test_pi.py",
        "tui/test_answers.py",
        "tui/test_documentation.py",
        "tui/test_findings.py",
        "tui/test_gather.py",
        "tui/test_hostile.py",
        "tui/test_not_priced.py",
        "tui/test_pictures.py",
        "tui/test_random_keys.py",
        "tui/test_rest.py",
        "tui/test_terminal.py",
        "tui/test_timeline.py",
        "tui/test_trace.py",
        "tui/test_whatif.py",
        "test_docstrings.py",
    }
)
"""Files of tests that take ten seconds or more together, marked slow as a whole: the README's command leaves them out
and .ci/run runs them. From ``pytest --durations=400``."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow files."""
    here = Path(__file__).resolve().parent
    for item in items:
        if item.path.resolve().relative_to(here).as_posix() in SLOW:
            item.add_marker(pytest.mark.slow)


SECONDS_OF_PROCESSOR = 120
"""What one test may use of the processor, unless a ``timeout`` mark says otherwise. Wall time says how busy the machine
is; the limit on it in pyproject.toml is there for tests that hang."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail a test that used too much processor time."""
    began = time.process_time()
    yield
    mark = item.get_closest_marker("timeout")
    allowed = mark.args[0] if mark is not None and mark.args else SECONDS_OF_PROCESSOR
    used = time.process_time() - began
    if used > allowed:
        pytest.fail(f"{used:.0f} s of processor time, {allowed} s are allowed")


LOOPBACK = ("127.0.0.1", "::1")


class NetworkUsed(AssertionError):
    """A test tried to open a connection."""


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real logs; skips the test with "no shared data" where there is none."""
    if not SHARED_DATA.is_dir():
        pytest.skip("no shared data")
    return SHARED_DATA


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection and every name look-up, but Unix sockets; tests marked ``loopback`` may talk to this
    machine, those marked ``harness`` run programs of others."""
    if request.node.get_closest_marker("harness"):
        return

    def refuse(*args: object, **_kwargs: object) -> object:
        raise NetworkUsed(f"a test may not use the network: {args!r:.200}")

    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    getaddrinfo, create_connection = socket.getaddrinfo, socket.create_connection
    may_talk_to_itself = request.node.get_closest_marker("loopback") is not None

    def guarded(original, self, address):
        is_own = may_talk_to_itself and isinstance(address, tuple) and address[0] in LOOPBACK
        if self.family != getattr(socket, "AF_UNIX", None) and not is_own:
            refuse(address)
        return original(self, address)

    def guarded_look_up(host, *args, **more):
        return getaddrinfo(host, *args, **more) if host in LOOPBACK else refuse(host)

    monkeypatch.setattr(socket.socket, "connect", lambda self, address: guarded(connect, self, address))
    monkeypatch.setattr(socket.socket, "connect_ex", lambda self, address: guarded(connect_ex, self, address))
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up if may_talk_to_itself else refuse)
    monkeypatch.setattr(socket, "create_connection", create_connection if may_talk_to_itself else refuse)


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache folder for all tests of a worker, so that commands under test start as fast as they do in use."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home: no test reads the logs, the caches or the settings of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared_cache))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")
    return home
