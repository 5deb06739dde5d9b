"""Scripts: what is read of a file, and what is said to which request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agentsim.core.file_problems import WrittenFileError
from agentsim.core.prompt import Prompt
from agentsim.gateway.answer_pace import Pace
from agentsim.gateway.answer_script import DEFAULT, AnswerScript, ScriptedTurn, load_script, parse_script
from agentsim.gateway.injected_faults import Faults, parse_faults
from agentsim.gateway.refusal import Refusal
from agentsim.gateway.scripted_reply import ChatRequest, Say, ScriptedReply, Think, Tool, Use, cut, tokens_of

TOML = """
after = "Over."

[[turn]]
thinking = "Hm."
text = "I am ${model}, turn ${turn}; $unknown stays."

[[turn.call]]
tool = "Bash"
input = { command = "echo ${heard}", deep = ["${turn}", 3] }

[[turn.call]]
tool = "exec_command"
input = { cmd = "ls" }

[[turn]]
text = "Again."
repeat = 2

[[turn]]
text = "A subagent speaks."
lane = "subagent"
"""


def asked(turn: int = 0, tools: tuple[str, ...] = ("Bash",), **more: Any) -> ChatRequest:
    return ChatRequest(
        **{
            "dialect": "messages",
            "provider": "anthropic",
            "model": "m",
            "session": "s",
            "prompt": Prompt.of(()),
            "settings": (),
            "tools": tuple(Tool(name) for name in tools),
            "turn": turn,
            "messages": 1,
            "heard": "you",
            **more,
        }
    )


def words(reply: ScriptedReply) -> list[str]:
    return [part.text for part in reply.parts if isinstance(part, Say)]


def test_turns_follow_the_history_and_calls_follow_the_tools_on_offer() -> None:
    script = parse_script(TOML, "s.toml")
    first = script.reply(asked())
    assert first.parts == (
        Think("Hm."),
        Say("I am m, turn 1; $unknown stays."),
        Use("toolu_agentsim000101", "Bash", {"command": "echo you", "deep": ["1", 3]}),
    )
    assert first.stop == "tool_use"
    assert script.reply(asked()) == first, "a retry hears the same"
    other = script.reply(asked(tools=("exec_command",), dialect="responses")).parts[-1]
    assert other == Use("call_agentsim000102", "exec_command", {"cmd": "ls"})
    nobody = script.reply(asked(tools=("Read",)))
    assert (nobody.stop, len(nobody.parts)) == ("end_turn", 2)
    assert [words(script.reply(asked(turn))) for turn in (1, 2, 3)] == [["Again."], ["Again."], ["Over."]]
    assert words(script.reply(asked(3, purpose="subagent"))) == ["A subagent speaks."]


def test_helpers_get_an_aside() -> None:
    assert words(DEFAULT.reply(asked(tools=(), purpose="helper"))) == ["ok"]
    assert words(AnswerScript(aside="{}").reply(asked(tools=(), purpose="summary"))) == ["{}"]


def test_a_free_form_tool_gets_text() -> None:
    script = parse_script('[[turn]]\n[[turn.call]]\ntool = "patch"\ninput = { a = 1 }\n', "s.toml")
    part = script.reply(_free(asked())).parts[0]
    assert part == Use("toolu_agentsim000101", "patch", '{"a": 1}')


def _free(one: ChatRequest) -> ChatRequest:
    import msgspec

    return msgspec.structs.replace(one, tools=(Tool("patch", free=True),))


def test_padding_makes_long_replies() -> None:
    reply = AnswerScript(turn=(ScriptedTurn(text="a", pad=1000),)).reply(asked())
    assert 800 < reply.tokens < 1200


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("[[turn]]\ntxt = 1", "s.toml", "turn.0.txt: no such key"),
        ("[[turn]]\ntext = 1", "s.toml", "turn.0.text: expected `str`, got `int`"),
        ("[[turn]", "s.toml", "not TOML"),
        ('{"turn": [', "s.json", "not JSON"),
        ("[[turn]]\nrepeat = 0", "s.toml", "turn.0.repeat"),
        ("[[turn]]\npause = -1", "s.toml", "turn.0.pause"),
        ("[[turn]]\npause = nan", "s.toml", "turn.0.pause"),
        ('[[turn]]\nstop = "never"', "s.toml", "turn.0.stop: must be one of end_turn, "),
        ('[[turn]]\nlane = "side"', "s.toml", "turn.0.lane: must be one of main, "),
    ],
)
def test_a_wrong_script_names_the_place(text: str, name: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(WrittenFileError) as caught:
        load_script(str(file))
    assert reason in caught.value.first.what
    assert caught.value.first.file == str(file)


def test_files_that_are_no_scripts(tmp_path: Path) -> None:
    with pytest.raises(WrittenFileError, match="No such file"):
        load_script(str(tmp_path / "none.toml"))
    (tmp_path / "bytes.toml").write_bytes(b'a = 1\nb = "\xff"')
    with pytest.raises(WrittenFileError) as caught:
        load_script(str(tmp_path / "bytes.toml"))
    assert caught.value.first.line == 2
    (tmp_path / "good.json").write_text('{"turn": [{"text": "hello"}]}')
    assert load_script(str(tmp_path / "good.json")).turn == (ScriptedTurn(text="hello"),)


def test_a_reply_is_cut_where_its_tokens_end() -> None:
    parts = (Say("word " * 100), Use("1", "Bash", {"command": "x"}))
    whole = ScriptedReply(parts, "tool_use", tokens_of(parts, "m"))
    assert cut(whole, None, "m") is whole
    assert cut(whole, whole.tokens, "m") is whole
    short = cut(whole, 20, "m")
    assert (short.stop, short.tokens, len(short.parts)) == ("max_tokens", 20, 1)
    assert cut(whole, 0, "m").parts == ()
    assert not any(isinstance(part, Use) for part in cut(whole, whole.tokens - 1, "m").parts), "no half a call"


def test_faults_strike_by_number() -> None:
    faults = Faults(parse_faults(["529@2x2", "429/5", "500@9"]), 4)

    waits: list[int | None] = []

    def status(number: int) -> int | None:
        try:
            faults.check(number)
        except Refusal as refusal:
            waits.append(refusal.retry_after)
            return refusal.status
        return None

    assert [status(number) for number in range(1, 11)] == [None, 529, 529, None, 429, None, None, None, 500, 429]
    assert waits == [4, 4, 4, None, 4]
    for wrong in ("418@1", "529", "529@0", "529@1x0", "529@x", "429/0", ""):
        with pytest.raises(ValueError, match="is no fault"):
            parse_faults([wrong])


def test_a_pace_counts_from_the_first_token() -> None:
    pace = Pace.of(500, 100)
    assert [pace.after(tokens) for tokens in (0, 1, 101)] == [500_000_000, 500_000_000, 1_500_000_000]
    assert Pace.of(0, None).is_instant
    assert not pace.is_instant


def test_the_script_of_the_documentation_is_one() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "gateway.md").read_text()
    (example,) = re.findall(r"^```toml\n(.*?)^```$", page, re.M | re.S)
    script = parse_script(example, "loop.toml")
    assert [turn.pause for turn in script.turn] == [0, 360, 0]
    assert words(script.reply(asked())) == ["I am m, in turn 1. You said: you"]
