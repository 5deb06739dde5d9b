"""The same scenario and seed give the same bytes: in other processes, under other hash seeds, in other time zones."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentsim.cli import main
from agentsim.core.dates import SECOND
from agentsim.harness.plan import Harness, KeepAlivePlan, Population
from agentsim.harness.plan_run import simulate
from agentsim.harness.random_draws import FixedNumber
from agentsim.harness.step_sources import GeneratedTasks
from agentsim.scenarios.scenario_loading import load
from tests.agentsim.harness.plans import plan

ROOT = Path(__file__).resolve().parents[3]
SURROUNDINGS = [
    {"PYTHONHASHSEED": "0", "TZ": "UTC"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Kolkata"},
    {"PYTHONHASHSEED": "2", "TZ": "America/St_Johns", "LC_ALL": "C"},
]


def everything(scenario: str, folder: Path, surroundings: dict[str, str]) -> list[str]:
    """Digests of all that a run writes."""
    files = [folder / "session.jsonl", folder / "trace.json"]
    arguments = ["run", scenario, "--json", "-o", str(files[0]), "--perfetto", str(files[1])]
    done = subprocess.run(
        [sys.executable, "-m", "agentsim", *arguments],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, **surroundings},
        check=True,
    )
    return [hashlib.sha256(data).hexdigest() for data in (done.stdout, *(file.read_bytes() for file in files))]


@pytest.mark.parametrize("scenario", ["claude-code-day", "pi-day", "fanout-2x2"])
def test_bytes_are_the_same_everywhere(scenario: str, tmp_path: Path):
    found = []
    for number, surroundings in enumerate(SURROUNDINGS):
        folder = tmp_path / str(number)
        folder.mkdir()
        found.append(everything(scenario, folder, surroundings))
    assert found[0] == found[1] == found[2]


def test_another_seed_is_another_day():
    (cell,) = load("claude-code-day")
    assert simulate(cell.plan(7), keep=False).account == simulate(cell.plan(7), keep=False).account
    assert simulate(cell.plan(7), keep=False).account != simulate(cell.plan(8), keep=False).account


def test_what_is_kept_changes_no_figure():
    (cell,) = load("pi-day")
    assert simulate(cell.plan(), keep=False).account == simulate(cell.plan(), keep=True).account


def test_mechanisms_share_the_random_numbers_of_the_task():
    days = {
        preset: simulate(
            plan(
                source=GeneratedTasks(turns=FixedNumber(4), pause=FixedNumber(900 * SECOND)),
                harness=Harness(keep_alive=None if preset is None else KeepAlivePlan(preset=preset)),
            )
        )
        for preset in (None, "keep-alive-steady")
    }
    sizes = [
        [r.prompt.tokens for r in day.session.requests if r.purpose == "main" and r.prompt is not None]
        for day in days.values()
    ]
    assert sizes[0] == sizes[1]
    assert days["keep-alive-steady"].account.of("keep_alive").requests > 0


def test_agents_do_not_disturb_each_other():
    source = GeneratedTasks(turns=FixedNumber(2))
    alone = simulate(plan(source=source, population=Population(agents=2, gap=FixedNumber(10**6 * SECOND))))
    together = simulate(plan(source=source, population=Population(agents=2, gap=FixedNumber(5 * SECOND))))

    def sizes(lane: str, session: object) -> list[int]:
        return [r.prompt.tokens for r in session.requests if r.lane == lane]  # type: ignore[attr-defined]

    for lane in ("agent1", "agent2"):
        assert sizes(lane, alone.session) == sizes(lane, together.session)
    # The second one reads the front that the first one wrote, where it is still there.
    second = next(r for r in together.session.requests if r.lane == "agent2")
    assert second.usage is not None
    assert second.usage.read == 7_000


def test_the_seed_is_in_every_report(capsys: pytest.CaptureFixture[str]):
    assert main(["run", "atlas-14", "--seed", "41"]) == 0
    assert "seed 41" in capsys.readouterr().out
    assert main(["run", "pi-day", "--seed", "41", "--repeat", "2"]) == 0
    assert "seeds 41 to 42" in capsys.readouterr().out
    assert main(["run", "atlas-14", "--seed", "41", "--json"]) == 0
    assert '"seeds": [\n41\n]' in capsys.readouterr().out
