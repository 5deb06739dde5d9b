"""Running the app in tests, and comparing screens with pictures that were looked at."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from agentsim.tui.screen_export import picture
from agentsim.tui.trace.trace_screen import SETTLE
from agentsim.tui.tui_app import AgentsimApp, Launch

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"
ATLAS = str(SAMPLES / "atlas-14.jsonl")
CLAUDE_CODE = str(SAMPLES / "claude-code.jsonl")
PICTURES = Path(__file__).parent / "pictures"
RENEW = "RENEW_PICTURES"
"""Set this environment variable to 1 to write the pictures anew, then look at what changed."""

Step = Callable[[Pilot[int]], Awaitable[None]]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def settle(pilot: Pilot[int]) -> None:
    """Wait until no worker works, no message waits and the cursor has come to rest."""
    for _ in range(50):
        working = [worker for worker in pilot.app.workers if worker.group != "follow" and not worker.is_finished]
        if working:
            await pilot.app.workers.wait_for_complete(working)
        await pilot.pause(SETTLE + 0.02)
        if not any(worker.group != "follow" and not worker.is_finished for worker in pilot.app.workers):
            break
    await pilot.pause()


async def press(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
    await settle(pilot)


def drive(launch: Launch, *steps: Step, size: tuple[int, int] = (100, 30)) -> None:
    """Run the app and take the steps, each once the app has settled."""

    async def run() -> None:
        app = AgentsimApp(launch)
        async with app.run_test(size=size) as pilot:
            await settle(pilot)
            for step in steps:
                await step(pilot)

    asyncio.run(run())


def keys(*names: str) -> Step:
    async def step(pilot: Pilot[int]) -> None:
        await press(pilot, *names)

    return step


def shown(app: App[int]) -> str:
    """The text on the screen, a line for each of its lines."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip)[:width].rstrip() for strip in strips[:height])


def check(look: Callable[[str], None]) -> Step:
    """A step that looks at the text on the screen."""

    async def step(pilot: Pilot[int]) -> None:
        look(shown(pilot.app))

    return step


@pytest.fixture
def same_picture(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compare a screen with its picture, after some keys."""

    def compare(name: str, launch: Launch, *names: str, size: tuple[int, int] = (100, 30), theme: str = "dark") -> None:
        found: list[str] = []

        async def step(pilot: Pilot[int]) -> None:
            pilot.app.theme = theme
            await press(pilot, *names)
            found.append(picture(pilot.app))

        drive(launch, step, size=size)
        file = PICTURES / f"{name}.svg"
        if os.environ.get(RENEW) == "1":
            PICTURES.mkdir(exist_ok=True)
            file.write_text(found[0], encoding="utf-8")
        if not file.exists():
            pytest.fail(f"no picture {file.name}: {RENEW}=1 pytest {request.node.nodeid} draws it; then look at it")
        if found[0] != file.read_text(encoding="utf-8"):
            beside = Path(request.config.rootpath) / "build" / "pictures" / file.name
            beside.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(found[0], encoding="utf-8")
            pytest.fail(f"the screen differs from {file}: compare it with {beside}; {RENEW}=1 takes the new one")

    return compare
