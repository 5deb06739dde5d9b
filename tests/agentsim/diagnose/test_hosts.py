"""Hosts behind one provider: a conversation that another one answers loses its prefix, and the log may say so."""

from __future__ import annotations

import msgspec
import pytest

from agentsim.core.session import Request, Session, Usage
from agentsim.diagnose import diagnose
from agentsim.traces.readers.agentsim1 import fingerprint, read_sessions, write
from tests.agentsim.prompts import prompt, request, session, texts


def turn(name: str, at: int, host: str | None, usage: Usage, model: str, *, blocks: int | None = None) -> Request:
    body = None
    if blocks is not None:
        marks = ((blocks - 1, 3600),) if "claude" in model else ()
        body = prompt(texts(blocks, 10_000), *marks)
    made = request(name, at, body, lasts=5, model=model, usage=usage)
    return msgspec.structs.replace(made, provider="openrouter", host=host, parent=None if name == "1" else "1")


def unpinned(second: str | None, at: int = 60, *, blocks: bool = False) -> Session:
    """A model of Moonshot's behind a gateway: nothing is read on the second request, 40,000 tokens long."""
    model = "moonshotai/kimi-k2.6"
    return session(
        [
            turn("1", 0, "DeepInfra", Usage(fresh=40_000, read=0, output=5), model, blocks=4 if blocks else None),
            turn("2", at, second, Usage(fresh=50_000, read=0, output=5), model, blocks=5 if blocks else None),
        ]
    )


def test_another_host_is_named_as_the_cause_by_rows_and_by_bodies():
    for blocks in (False, True):
        verdict = diagnose(unpinned("Novita", blocks=blocks)).verdicts[1]
        assert (verdict.kind, verdict.cause) == ("miss", "AS503")
        assert verdict.evidence == ("proved" if blocks else "implied")
        assert "Novita answered after DeepInfra" in " ".join(verdict.established)
        assert "idle seconds" not in " ".join(verdict.established)


@pytest.mark.parametrize("model", ["moonshotai/kimi-k2.6", "anthropic/claude-opus-4.8"])
@pytest.mark.parametrize("bodies", [False, True])
@pytest.mark.parametrize(("second", "told"), [("b", True), ("a", False), (None, False)])
def test_another_account_comes_before_any_setting(model, bodies, second, told):
    claude = "claude" in model
    sizes = (40_000, 50_000)
    usages = [Usage(fresh=0 if claude else n, write_short=n if claude else None, read=0, output=5) for n in sizes]
    asked = [
        turn(str(at + 1), 60 * at, "One", usage, model, blocks=4 + at if bodies else None)
        for at, usage in enumerate(usages)
    ]
    sent = [msgspec.structs.replace(one, account=name) for one, name in zip(asked, ("a", second), strict=True)]
    sent[1] = msgspec.structs.replace(sent[1], settings=(("thinking", "1024"),))
    verdict = diagnose(session(sent)).verdicts[1]
    assert (verdict.cause == "AS503") is told
    assert ("under another account" in " ".join(verdict.established)) is told


def test_the_same_host_or_an_unknown_one_is_no_cause():
    for host in ("DeepInfra", None):
        for blocks in (False, True):
            assert diagnose(unpinned(host, blocks=blocks)).verdicts[1].cause != "AS503"


def test_a_routing_window_shorter_than_the_lifetime_is_told():
    # An entry of an hour, 11 minutes of pause: the gateway has forgotten the host before the host forgets the entry.
    model = "anthropic/claude-opus-4.8"
    for blocks in (None, 4):
        asked = [
            turn("1", 0, "Anthropic", Usage(fresh=0, write_long=40_000, read=0, output=5), model, blocks=blocks),
            turn("2", 665, "Google", Usage(fresh=0, write_long=50_000, read=0, output=5), model, blocks=blocks and 5),
        ]
        verdict = diagnose(session(asked)).verdicts[1]
        words = " ".join(verdict.established)
        assert verdict.cause == "AS503"
        assert "keeps a conversation with its host for 600 idle seconds; 66" in words


def test_a_trace_keeps_the_host_and_a_fingerprint_hides_it(tmp_path):
    path = tmp_path / "trace.jsonl"
    for made, hidden in ((unpinned("Novita"), False), (fingerprint(unpinned("Novita"), b"k" * 32), True)):
        write([made], str(path))
        [back] = read_sessions([str(path)])
        hosts = [one.host for one in back.requests]
        assert hosts == [one.host for one in made.requests]
        assert (hosts == ["DeepInfra", "Novita"]) != hidden
        assert len(set(hosts)) == 2
        if hidden:
            assert b"Novita" not in path.read_bytes()
