"""``agentsim engine lab``: lists, runs, reports."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("torch", reason="the extra 'engine' is not installed")

from agentsim.cli import main
from agentsim.engine.lab.experiment_registry import EXPERIMENTS
from agentsim.report.exits import ExitCode

TINY = ["--weights", "tiny", "--brief"]


def test_without_a_name_it_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab"]) == ExitCode.OK
    text = capsys.readouterr().out
    for name, title in EXPERIMENTS.items():
        assert re.search(rf"^{name} +{re.escape(title[:30])}", text, re.M)


def test_figures_stand_beside_the_published_ones(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["lab", "schemes"]) == ExitCode.OK
    text = capsys.readouterr().out
    assert re.search(r"A: sessions in 640 MiB +10 +10 +same", text)
    assert re.search(r"B: read per step +66 MiB +66 +same", text)
    assert "It does not establish speed" in " ".join(text.split())


def test_a_narrow_screen_loses_no_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["lab", "restore", "common-prefix"]) == ExitCode.OK
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 60


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lab", "nothing"], "no experiment is called nothing"),
        (["lab", "--md", "x.md"], "a report of no experiment"),
        (["lab", "latent", "--threads", "0"], "threads"),
    ],
)
def test_wrong_command_lines(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == ExitCode.USAGE
    assert words in capsys.readouterr().err


def test_a_missing_model_is_told_with_a_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "eviction", "--weights", str(tmp_path / "none.gguf")]) == ExitCode.UNREADABLE
    error = capsys.readouterr().err
    assert "no such file" in error
    assert "leave the model out" in error


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "divergence", "latent", "--json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in document["experiments"]] == ["divergence", "latent"]
    figures = {figure["name"]: figure for figure in document["experiments"][0]["figures"]}
    assert figures["KL of indexer to main attention"]["published"] == 0.847
    assert figures["KL of indexer to main attention"]["comparison"] == "same"


def test_a_figure_that_differs_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dataclasses import replace

    from agentsim.engine.lab import latent
    from agentsim.engine.lab.experiment import PublishedFigure

    wrong = replace(
        latent.EXPERIMENT, published={**latent.EXPERIMENT.published, "score of the latent": PublishedFigure(9)}
    )
    monkeypatch.setattr(latent, "EXPERIMENT", wrong)
    assert main(["lab", "latent"]) == ExitCode.FINDINGS
    assert re.search(r"score of the latent +8 +9 +differs", capsys.readouterr().out)


def test_a_published_figure_that_is_not_found_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from agentsim.engine.lab import latent
    from agentsim.engine.lab.experiment import PublishedFigure

    wrong = replace(latent.EXPERIMENT, published={"something else": PublishedFigure(9)})
    monkeypatch.setattr(latent, "EXPERIMENT", wrong)
    assert main(["lab", "latent"]) == ExitCode.FINDINGS


def test_all_of_them_in_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.md"
    assert main(["lab", "--all", "--md", str(report), *TINY]) == ExitCode.OK
    text = report.read_text(encoding="utf-8")
    for name, title in EXPERIMENTS.items():
        assert f'<a name="{name}"></a>\n\n## {title}' in text
    targets = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert len(targets) >= 12
    pictures = sorted((tmp_path / "report").iterdir())
    assert sorted(targets) == [f"report/{path.name}" for path in pictures]
    for picture in pictures:
        _check_picture(picture.read_text(encoding="utf-8"))
    # Tables are whole: each row has as many cells as the one before it.
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1, block


def _check_picture(text: str) -> None:
    root = ElementTree.fromstring(text)
    names = {element.tag.rsplit("}", 1)[-1] for element in root.iter()}
    assert names <= {"svg", "title", "style", "rect", "circle", "text", "path"}
    assert "url(" not in text
    assert text.count("http") == 1, "the namespace alone"
    assert "nan" not in text.split("</style>")[1].replace("Nano", "")


def test_a_model_with_a_short_context_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from agentsim.engine.lab import subject

    monkeypatch.setattr(subject, "LEAST_CONTEXT", 10_000)
    subject.weights.cache_clear()
    subject.model.cache_clear()
    try:
        assert main(["lab", "eviction", *TINY]) == ExitCode.UNREADABLE
    finally:
        subject.weights.cache_clear()
    assert "its context of 4,096 tokens is too short" in capsys.readouterr().err
