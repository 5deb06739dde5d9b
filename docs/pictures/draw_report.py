"""Draw the picture of the web report: ``python docs/pictures/draw_report.py`` (needs the extra sweep and chromium).

The fleet is made up: forty sessions in six weeks, of three versions of a harness and two models, in four projects.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from agentsim.fleet.fleet_figures import figures
from agentsim.fleet.sweep import sweep
from agentsim.fleet.sweep_folder import SweepSettings
from agentsim.report.web.fleet_html import page
from agentsim.traces.samples.claude_log import ClaudeLog

HERE = Path(__file__).parent
PROJECTS = ("payments/checkout", "payments/ledger", "search/index", "search/ranking")
VERSIONS = ("2.1.231", "2.1.231", "2.1.231", "2.1.236", "2.1.236", "2.1.240")
POLICIES = ("ttl-1h", "ttl-5m", "ttl-split", "keep-alive", "marker-best")
SESSIONS = 40
DAY = 86_400


def made_up(number: int) -> ClaudeLog:
    """A session whose losses depend on its number and, in the last versions, on its version."""
    week = number * len(VERSIONS) // SESSIONS
    opus = number % 5 != 0
    log = ClaudeLog(
        f"session-{number:02}", version=VERSIONS[week], model="claude-opus-4-8" if opus else "claude-sonnet-4-6"
    )
    log.now = (week * 7 + number % 5) * DAY + 9 * 3600 + number * 411 % 20_000
    hour = number % 4 == 0
    warm, added = 24_000 + number * 977 % 9_000, 900
    log.user("Begin.")
    log.label(None).call(0, warm, output=300, hour=hour)
    for call in range(1, 14 + number * 7 % 30):
        turn = number * 31 + call * 17
        log.now += 15 + turn % 40
        reason, kept = None, warm
        if turn % 37 == 0:  # somebody went for a coffee
            log.now += 420
            kept = warm if hour else 0
        elif week >= 3 and turn % 19 == 0:
            reason, kept = "system_changed", 0
        elif week == 5 and turn % 11 == 0:
            reason, kept = "messages_changed", 11_000
        elif turn % 53 == 0:
            reason, kept = "tools_changed", 0
        log.results()
        size = added + turn * 29 % 2_600
        log.label(reason).call(kept, warm - kept + size, output=250 + turn % 400, hour=hour)
        warm += size
    return log


def main() -> None:
    """Make the fleet, its report, and a picture of the report's upper part."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no chromium here")
    with TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(SESSIONS):
            project = PROJECTS[number % len(PROJECTS)]
            made_up(number).save(folder / "logs" / project / f"session-{number:02}.jsonl")
        settings = SweepSettings(policies=POLICIES, team="logs/([^/]+)/")
        sweep([str(folder / "logs")], settings, str(folder / "fleet"), workers=0)
        html = folder / "report.html"
        html.write_text(page(figures(str(folder / "fleet")), "Prompt cache report"), encoding="utf-8")
        target = HERE / "report.png"
        size = "--window-size=940,1376"
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size)
        subprocess.run([browser, *flags, f"--screenshot={target}", html.as_uri()], check=True, capture_output=True)
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
