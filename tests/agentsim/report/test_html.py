"""The web page of a fleet: whole, well formed, still, and safe whatever logs hold."""

from __future__ import annotations

import re
import shutil
import subprocess
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from agentsim.fleet.fleet_figures import Concentration, FleetFigures, FleetGroup, PolicyLine
from agentsim.report.web.fleet_html import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = "<script>document.title='taken'</script>\x1b]52;c;Z\x07\u202e\"'&"
VOID = {"meta", "br", "img", "input", "hr", "link", "rect", "path", "circle"}


def group(name: str, lost: str, **more: object) -> FleetGroup:
    base = FleetGroup(
        name=name,
        requests=100,
        fresh=10,
        written=30,
        read=60,
        output=5,
        cost=Decimal("40"),
        unpriced=0,
        misses=7,
        lost=1234,
        lost_cost=Decimal(lost),
    )
    return msgspec.structs.replace(base, **more)


def line(name: str, saving: str, seconds: float, *, best: bool = False) -> PolicyLine:
    return PolicyLine(
        policy=name,
        sessions=9,
        applied=0 if name == "recorded" else 4,
        refused=0,
        cost=Decimal(80) - Decimal(saving),
        saving=Decimal(saving),
        low=float(saving) - 2,
        high=float(saving) + 2,
        seconds=seconds,
        best=best,
    )


def figures(name: str = "project") -> FleetFigures:
    return FleetFigures(
        sessions=9,
        total=group("all", "12.5", cost=Decimal(80)),
        low=9.5,
        high=16.25,
        policies=(line("ttl-1h", "7.25", 100, best=True), line("recorded", "0", 100), line("stagger", "3", 160)),
        withheld=1,
        left_out=((f"no rules for {name}", 2),),
        concentration=Concentration(sessions=9, with_loss=3, half=1, gini=0.5, points=((0, 0), (0.3, 1), (1, 1))),
        by=(
            ("cause", (group("AS202", "9"), group("AS101", "3.5"))),
            ("week", (group("2026-W05", "9"), group("2026-W06", "3.5"))),
            ("project", tuple(group(f"{name}-{number}", str(20 - number)) for number in range(14))),
        ),
    )


class Outline(HTMLParser):
    """The tags of a page, checked to nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in ("src", "href"), (tag, value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def outline(text: str) -> Outline:
    parser = Outline()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def test_the_page_is_whole() -> None:
    text = page(figures(), "Ours")
    seen = outline(text)
    assert seen.seen.count("svg") == 5  # causes, savings, the frontier, weeks, the concentration
    assert "script" not in seen.seen
    assert "http" not in text.replace("http-equiv", "")
    assert "url(" not in text
    for figure in ("$80.00", "$12.50", "15.6 % of the bill", "$9.50 – $16.25", "60.00 %", "$7.25", "2 more"):
        assert figure in seen.text, figure
    assert "AS202 The one-hour entry had expired" in seen.text
    assert "Left out: 1 session whose log the simulation does not reproduce" in seen.text


def test_words_from_outside_stay_words() -> None:
    text = page(figures(HOSTILE), HOSTILE)
    seen = outline(text)
    assert "script" not in seen.seen
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.harness  # a program of others, that opens sockets of its own
def test_a_browser_shows_it_and_loads_nothing(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page(figures(HOSTILE), "Ours"), encoding="utf-8")
    log = tmp_path / "net.json"
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--disable-background-networking", "--disable-component-update", f"--log-net-log={log}"]
    command += ["--enable-logging=stderr", "--dump-dom", f"file://{file}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "<title>Ours</title>" in done.stdout
    assert done.stdout.count("<svg") == 5
    assert "CONSOLE" not in done.stderr
    asked = set(re.findall(r'"url":"(https?://[^"]+)"', log.read_text())) if log.exists() else set()
    assert not {url for url in asked if "report" in url}


def test_nothing_lost_and_nothing_saved() -> None:
    empty = msgspec.structs.replace(
        figures(),
        policies=(),
        by=(),
        concentration=Concentration(sessions=9, with_loss=0, half=0, gini=0.0, points=((0.0, 0.0), (1.0, 0.0))),
    )
    assert "No request lost its cache" in outline(page(empty, "t")).text
