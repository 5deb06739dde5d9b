"""Adding a provider takes one TOML file: this one. Everything else finds it by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentsim.cache.routed_backend import RoutedProvider
from agentsim.cache.simulate import replay
from agentsim.cli import main
from agentsim.core.file_problems import WrittenFileError
from agentsim.core.session import Request
from agentsim.rules.prices import rate_card
from agentsim.rules.providers import rules_for
from agentsim.rules.providers.rules_file_check import check_rules
from agentsim.rules.providers.rules_library import load_rules, read_rules_file, with_rules
from agentsim.rules.providers.rules_resolution import resolve
from agentsim.traces.readers.agentsim1 import write
from tests.agentsim.prompts import prompt, request, session, texts

ACME = """provider = "acme"
title = "Acme"
aliases = ["acme-cloud"]
read_until = 2026-11-29

[[matching]]
value = "longest_prefix"
source = "documentation of Acme, 2026-11"
confidence = "high"

[[minimum]]
value = 250
source = "documentation of Acme, 2026-11"
confidence = "high"

[[quantum]]
value = 50
source = "documentation of Acme, 2026-11"
confidence = "high"

[[ttl_short]]
value = 60
source = "documentation of Acme, 2026-11"
confidence = "high"
"""


@pytest.fixture
def acme(tmp_path: Path) -> str:
    path = tmp_path / "acme.toml"
    path.write_text(ACME)
    return str(path)


def turns(provider: str) -> list[Request]:
    import msgspec

    found = [request(f"r{n}", n * 30, prompt(texts(n, 120)), lasts=5) for n in (1, 2, 3, 4)]
    found.append(request("r5", 4 * 30 + 61, prompt(texts(5, 120)), lasts=5))
    return [msgspec.structs.replace(one, provider=provider, model="acme-1") for one in found]


def test_a_session_replays_by_the_rules_of_a_users_file(acme):
    with with_rules(read_rules_file(acme)):
        rows = replay(session(turns("acme")), RoutedProvider()).rows
        # 120 and 240 tokens are below the minimum of 250; of 360 common tokens 350 are whole steps of 50;
        # after 61 idle seconds nothing is left.
        assert [row.usage.read for row in rows] == [0, 0, 0, 350, 0]
        assert [row.cost for row in rows] == [None] * 5  # nobody said what Acme asks for
        assert rules_for("acme-cloud", "acme-1", None).minimum == 250
    with pytest.raises(WrittenFileError):
        rules_for("acme", "acme-1", None)


PRICE = """
[[price]]
fresh = "2"
output = "10"
read = "0.25"
source = "price list of Acme, 2026-11"
"""


def test_a_file_may_bring_prices_along(tmp_path):
    path = tmp_path / "priced.toml"
    path.write_text(ACME + PRICE + PRICE.replace('"2"', '"7"').replace("output", 'models = ["other*"]\noutput'))
    with with_rules(read_rules_file(str(path))):
        rows = replay(session(turns("acme")), RoutedProvider()).rows
        # $2 for a million of input, $0.25 for reads: 130 and 350 tokens of the fourth request; the fifth reads nothing.
        paid = [120 * 2, 240 * 2, 360 * 2, 130 * 2, 600 * 2]
        assert [row.cost for row in rows] == [
            n * 10**6 + (350 * 250_000 if at == 3 else 0) for at, n in enumerate(paid)
        ]
    assert rate_card("acme", "acme-1", None, 100) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"2"', "2.0", "price.0.fresh: expected `str`, got `float`"),
        ('"2"', '"free"', "price.0.fresh: not an exact price"),
        ('"2"', '"-1"', "price.0.fresh: not an exact price"),
        ('"2"', '"0.0000001"', "price.0.fresh: not an exact price"),
        ('"2"', '"1e999999999"', "price.0.fresh: not an exact price"),
        ('"2"', '"NaN"', "price.0.fresh: not an exact price"),
        ("read", "reads", "price.0.reads: no such key"),
        ('output = "10"', "", "price.0.output: this key is missing"),
    ],
)
def test_a_mistake_in_a_price_is_named(tmp_path, old, new, message):
    path = tmp_path / "priced.toml"
    path.write_text(ACME + PRICE.replace(old, new, 1))
    [problem] = check_rules(str(path))[1]
    assert str(problem).removeprefix(f"{path}:{problem.line}: ").startswith(message)
    assert problem.line is not None
    assert problem.line >= 25


def test_commands_take_it_as_an_option(acme, tmp_path, capsys):
    trace = tmp_path / "trace.jsonl"
    write([session(turns("acme"))], str(trace))
    assert main(["replay", str(trace), "--rules", acme, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["usage"]["read"] for row in rows] == [0, 0, 0, 350, 0]
    assert main(["compare", str(trace), "--rules", acme]) in (0, 1)
    assert main(["providers", "acme", "--rules", acme]) == 0
    assert "documentation of Acme, 2026-11" in capsys.readouterr().out
    assert main(["providers", "acme"]) == 2
    assert "no rules are known for the provider 'acme'" in capsys.readouterr().err


def test_a_file_may_state_differences_from_the_bundled_rules_of_its_provider(tmp_path):
    own = tmp_path / "mine.toml"
    own.write_text(
        'provider = "anthropic"\nread_until = 2026-11-29\n'
        '[[like]]\nvalue = "anthropic"\nsource = "the bundled rules"\nconfidence = "high"\n'
        '[[lookback]]\nvalue = 7\nsource = "measured by myself"\nconfidence = "medium"\n'
    )
    before = rules_for("anthropic", "claude-opus-4-5", None)
    with with_rules(read_rules_file(str(own))):
        rules = rules_for("anthropic", "claude-opus-4-5", None)
        assert (rules.lookback, rules.minimum, rules.breakpoints) == (7, before.minimum, before.breakpoints)
        origin = {figure.rule: figure.file for figure in rules.figures}
        assert (origin["lookback"], origin["minimum"]) == (str(own), "anthropic.toml")
        assert rules_for("anthropic", "claude-opus-4-5", None, "session_log").ttl_grace == 30
    assert rules_for("anthropic", "claude-opus-4-5", None).lookback == 20


def test_files_that_refer_to_each_other_in_a_circle_are_told(tmp_path):
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / f"{name}.toml").write_text(
            f'provider = "{name}"\nread_until = 2026-11-29\n'
            f'[[like]]\nvalue = "{other}"\nsource = "the other one"\nconfidence = "high"\n'
        )
    files = [read_rules_file(str(tmp_path / f"{name}.toml")) for name in ("one", "two")]
    with with_rules(*files), pytest.raises(WrittenFileError, match="in a circle"):
        resolve(load_rules("one"), "m", None)


def test_a_check_tells_what_is_missing_though_each_figure_is_right(acme, tmp_path):
    assert check_rules(acme)[1] == ()
    gap = tmp_path / "gap.toml"
    gap.write_text(ACME[: ACME.index("[[ttl_short]]")])
    [problem] = check_rules(str(gap))[1]
    assert "'ttl_short'" in problem.reason
    assert problem.file == str(gap)
    assert problem.remedy


def test_a_check_on_the_command_line_names_file_line_and_remedy(acme, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")  # no path is broken over two lines
    assert main(["rules", "check", acme]) == 0
    assert "4 figures, no mistake" in capsys.readouterr().out
    broken = tmp_path / "broken.toml"
    broken.write_text(ACME.replace("[[quantum]]", "[[quantom]]").replace("value = 60", 'value = "60"'))
    assert main(["rules", "check", str(broken)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"{broken}:16: quantom: no rule is called so did you mean quantum?" in out.replace(" :", ":")
    assert ":22: ttl_short.0.value: expected `int`, got `str`" in out
    assert main(["replay", "x.jsonl", "--rules", str(broken)]) == 2
    assert f"{broken}:16: quantom: no rule is called so" in capsys.readouterr().err
    assert main(["rules", "check", str(tmp_path / "absent.toml")]) == 3


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\x00", b"a" * (2**20 + 1), b"[" * 5000, b"x = " + b"[" * 3000, b""])
def test_no_file_breaks_the_check(tmp_path, data):
    path = tmp_path / "odd.toml"
    path.write_bytes(data)
    file, problems = check_rules(str(path))
    assert file is None
    assert problems


def test_figures_for_requests_with_breakpoints_are_counted_too(tmp_path, capsys):
    path = tmp_path / "qwen.toml"
    path.write_text(
        """provider = "qwen"
read_until = 2026-11-29

[[like]]
value = "qwen"
source = "the bundled rules of this provider"
confidence = "high"

[[marked.lookback]]
value = 10
source = "measured by ourselves on 2026-11-29"
confidence = "low"
""",
        encoding="utf-8",
    )
    assert main(["rules", "check", str(path)]) == 0
    assert "1 figure, no mistake" in capsys.readouterr().out


SWITCH = """provider = "acme"
title = "Acme"
read_until = 2026-11-20

[[like]]
value = "{before}"
until = 2026-10-01
source = "until then"
confidence = "high"

[[like]]
value = "{after}"
from = 2026-10-01
source = "from then on"
confidence = "high"
"""


@pytest.mark.parametrize("before", ["automatic", "anthropic", "deepseek", "vllm", "llamacpp"])
@pytest.mark.parametrize("after", ["automatic", "anthropic", "deepseek", "vllm", "llamacpp"])
def test_a_provider_may_change_its_way_of_matching_on_a_day(tmp_path, before, after):
    import msgspec

    path = tmp_path / "acme.toml"
    path.write_text(SWITCH.format(before=before, after=after))
    midnight = 1_790_812_800  # 2026-10-01
    body = prompt(texts(2, 5_000), 1)
    asked = [
        msgspec.structs.replace(request(f"r{n}", at, body, day=midnight), provider="acme", model="acme-1")
        for n, at in enumerate((-60, -40, 20, 40))
    ]
    with with_rules(read_rules_file(str(path))):
        reads = [row.usage.read or 0 for row in replay(session(asked), RoutedProvider()).rows]
        modes = [rules_for("acme", "acme-1", one.start).matching for one in asked]
    # Each day's mechanism works, and knows nothing of what another one kept.
    assert reads[0] == 0
    assert reads[1] > 9_000
    assert reads[3] > 9_000
    if modes[1] != modes[2]:
        assert reads[2] == 0


def test_write_prices_answer_to_their_old_names(tmp_path):
    cards = []
    for short, long in (("write_short", "write_long"), ("write_5m", "write_1h")):
        path = tmp_path / f"{short}.toml"
        path.write_text(ACME + PRICE + f'{short} = "3"\n{long} = "4"\n')
        with with_rules(read_rules_file(str(path))):
            cards.append(rate_card("acme", "acme-1", None, 100))
    assert cards[0] == cards[1]
    assert cards[0] is not None
    assert (cards[0].write_short, cards[0].write_long) == (3 * 10**6, 4 * 10**6)
