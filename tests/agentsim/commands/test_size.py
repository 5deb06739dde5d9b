"""``agentsim engine size`` and ``agentsim engine granularity``."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from agentsim.cli import main
from agentsim.commands.engine_size import ByteSize
from agentsim.report.exits import ExitCode
from agentsim.report.screen.sizes_page import binary

GIB = 1 << 30
TEACHING = ["size", "--layers", "32", "--heads", "32", "--head-dim", "128", "--tokens", "32768"]


def size_of(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main([*TEACHING, *arguments, "--json"]) == ExitCode.OK
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize(("heads", "gib"), [(None, 16), (8, 4), (1, 0.5)])
def test_the_teaching_configuration(heads: int | None, gib: float, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = [] if heads is None else ["--kv-heads", str(heads)]
    document = size_of(*chosen, capsys=capsys)
    # 32 layers × 32,768 tokens × 2 × heads × 128 × 2 bytes
    assert document["session_bytes"] == 32 * 32_768 * 2 * (heads or 32) * 128 * 2 == gib * GIB


def test_sessions_in_a_memory(capsys: pytest.CaptureFixture[str]) -> None:
    document = size_of("--kv-heads", "8", "--memory", "40GiB", capsys=capsys)
    assert document["sessions"] == 40 // 4
    ways = {each["way"]: each for each in document["alternatives"]}  # type: ignore[attr-defined]
    assert ways["INT4"]["session_bytes"] == 4 * GIB * 12 // 32
    assert ways["MHA"]["sessions"] == 40 // 16


def test_bits(capsys: pytest.CaptureFixture[str]) -> None:
    sixteen, eight = (size_of("--bits", bits, capsys=capsys)["session_bytes"] for bits in ("16", "8"))
    assert sixteen == 2 * eight  # type: ignore[operator]


def test_one_of_each_is_no_plural_and_shares_have_their_space(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "--layers", "1", "--heads", "1", "--head-dim", "8", "--tokens", "1"]) == ExitCode.OK
    text = " ".join(capsys.readouterr().out.split())
    assert "1 layer that keeps K/V, 1 K/V head of 8 for 1 query head" in text
    assert "a session of 1 token 32 bytes" in text  # a key and a value of eight numbers, two bytes each
    assert " 100 %" in text


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["no-such-file.gguf"], "check the spelling"),
        (["no-such-folder/x.gguf"], "there is no folder no-such-folder"),
        (
            ["--layers", "2", "--heads", "9", "--kv-heads", "4", "--head-dim", "8"],
            "give a --kv-heads that divides --heads",
        ),
    ],
)
def test_an_error_says_what_to_do(capsys: pytest.CaptureFixture[str], arguments: list[str], remedy: str) -> None:
    assert main(["size", *arguments]) != ExitCode.OK
    assert capsys.readouterr().err.endswith(f"; {remedy}\n")


def test_a_file_on_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json"
    settings = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4_096,
                "_name_or_path": "a\x1b[31m name", "max_position_embeddings": 8_192}  # fmt: skip
    path.write_text(json.dumps(settings))
    assert main(["size", str(path), "--memory", "10GiB"]) == ExitCode.OK
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "131,072 bytes" in text
    assert re.search(r"8,192 +1 GiB +10", text)
    assert re.search(r"MQA +128 MiB +12 % +80", text)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["size", "no-such-file.gguf"], ExitCode.UNREADABLE),
        (["size", "--layers", "2"], ExitCode.USAGE),
        (["size", "x.json", "--layers", "2"], ExitCode.USAGE),
        (["size", "--layers", "2", "--heads", "9", "--kv-heads", "4", "--head-dim", "8"], ExitCode.USAGE),
        ([*TEACHING, "--memory", "much"], ExitCode.USAGE),
        (["granularity", "--groups", "0,16"], ExitCode.USAGE),
        (["granularity", "--groups", "1,,2"], ExitCode.USAGE),
        (["granularity", "--entry-us", "1"], ExitCode.USAGE),
    ],
)
def test_wrong_command_lines(arguments: list[str], code: ExitCode, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == code
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "count"),
    [("640MiB", 640 << 20), ("80GB", 80 * 10**9), ("1.5k", 1_536), ("7", 7), ("2 TiB", 2 << 40), ("64m", 64 << 20)],
)
def test_sizes_with_units(text: str, count: int) -> None:
    assert ByteSize().convert(text, None, None) == count


@pytest.mark.parametrize("text", ["", "GiB", "-1MiB", "1XB", "1e9", "1" * 20, "٣"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(click.UsageError):
        ByteSize().convert(text, None, None)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1_023, "1,023 bytes"), (1_536, "1.5 KiB"), (4 * GIB, "4 GiB"), (180 << 20, "180 MiB")],
)
def test_bytes_in_words(count: int, text: str) -> None:
    assert binary(count) == text


def test_it_needs_no_torch() -> None:
    code = "import sys; from agentsim.cli import main; main(sys.argv[1:]); assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code, *TEACHING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_granularity(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["granularity", "--groups", "16,1", "--prefix", "999", "--json"]) == ExitCode.OK
    one, sixteen = json.loads(capsys.readouterr().out)["sizes"]
    assert one["entries"] == 16 * sixteen["entries"] == 1_000_000
    assert (one["reused"], sixteen["reused"]) == (999, 992)
    assert (sixteen["repeated"], sixteen["most_repeated"]) == (7, 15)


def test_granularity_with_times(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--document", "1000", "--requests", "10", "--entry-us", "2", "--token-us", "100", "--groups", "1,10"]
    assert main(["granularity", *arguments, "--json"]) == ExitCode.OK
    one, ten = json.loads(capsys.readouterr().out)["sizes"]
    assert one["seconds"] == pytest.approx(1_000 * 2 / 1e6)
    # 100 entries, and 4.5 tokens on average for each of ten requests
    assert ten["seconds"] == pytest.approx((100 * 2 + 10 * 4.5 * 100) / 1e6)
    assert main(["granularity", *arguments]) == ExitCode.OK
    assert "Entries of 1 cost least" in " ".join(capsys.readouterr().out.split())
