"""The Gemini API: as bodies on the wire, and with the official client where it is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentsim.diagnose import diagnose
from agentsim.gateway.answer_script import parse_script
from tests.agentsim.gateway.serving import WORDS, Served, serving, status_of

pytestmark = pytest.mark.loopback

MODEL = "gemini-2.5-flash"
LOOK = {
    "functionDeclarations": [
        {"name": "look", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}}
    ]
}
SYSTEM = {"parts": [{"text": WORDS}]}
LOOP = parse_script('after = "Over."\n[[turn]]\nrepeat = 2\ncall = [{tool = "look", input = {a = "x"}}]', "s.toml")


def ask(served: Served, contents: list[Any], call: str = "generateContent", **more: Any) -> Any:
    body = {"contents": contents, **more}
    answer = served.post(json.dumps(body).encode(), f"/v1beta/models/{MODEL}:{call}")
    assert status_of(answer) == 200, answer
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


def test_a_loop_of_tools_reads_its_prefix(tmp_path: Path) -> None:
    contents = [user("go")]
    with serving(tmp_path, replier=LOOP) as served:
        counted = ask(served, contents, "countTokens")["totalTokens"]
        assert counted > 0
        while True:
            answer = ask(served, contents, systemInstruction=SYSTEM, tools=[LOOK])
            said = answer["candidates"][0]["content"]
            contents.append(said)
            calls = [part["functionCall"] for part in said["parts"] if "functionCall" in part]
            if not calls:
                break
            results = [
                {"functionResponse": {"name": call["name"], "response": {"output": "nothing"}}} for call in calls
            ]
            contents.append({"role": "user", "parts": results})
        usage = answer["usageMetadata"]
        assert answer["candidates"][0]["finishReason"] == "STOP"
        assert usage["cachedContentTokenCount"] > 2000
        assert usage["totalTokenCount"] == usage["promptTokenCount"] + usage["candidatesTokenCount"]
    (session,) = served.sessions()
    assert len(session.requests) == 3
    assert {request.provider for request in session.requests} == {"gemini"}
    assert "miss" not in [verdict.kind for verdict in diagnose(session).verdicts]


def test_a_stream_says_what_the_whole_says(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        body = json.dumps({"contents": [user("go")]}).encode()
        stream = served.post(body, f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse")
    events = [
        json.loads(line[6:]) for line in stream.partition(b"\r\n\r\n")[2].split(b"\r\n") if line.startswith(b"data: ")
    ]
    text = "".join(part.get("text", "") for one in events for part in one["candidates"][0]["content"]["parts"])
    assert text == "I will look around first."
    assert events[-1]["candidates"][0]["finishReason"] == "STOP"


def test_a_cache_with_a_name_is_read(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        made = served.post(
            json.dumps({"model": f"models/{MODEL}", "systemInstruction": SYSTEM, "ttl": "600s"}).encode(),
            "/v1beta/cachedContents",
        )
        about = json.loads(made.partition(b"\r\n\r\n")[2])
        held = about["usageMetadata"]["totalTokenCount"]
        answer = ask(served, [user("go")], cachedContent=about["name"])
        assert answer["usageMetadata"]["cachedContentTokenCount"] == held
        unknown = served.post(
            json.dumps({"contents": [user("go")], "cachedContent": "cachedContents/none"}).encode(),
            f"/v1beta/models/{MODEL}:generateContent",
        )
        assert status_of(unknown) == 403
        assert b'"status":"PERMISSION_DENIED"' in unknown


def test_demands(tmp_path: Path) -> None:
    schema = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}, "required": ["n"]}
    config = {"responseMimeType": "application/json", "responseSchema": schema}
    with serving(tmp_path) as served:
        answer = ask(served, [user("go")], generationConfig=config)
        assert json.loads(answer["candidates"][0]["content"]["parts"][0]["text"]) == {"n": 0}
        forced = {"functionCallingConfig": {"mode": "ANY"}}
        answer = ask(served, [user("go")], tools=[LOOK], toolConfig=forced)
        assert answer["candidates"][0]["content"]["parts"][-1]["functionCall"]["name"] == "look"


def test_the_official_client(tmp_path: Path) -> None:
    genai = pytest.importorskip("google.genai")
    with serving(tmp_path, replier=LOOP) as served:
        client = genai.Client(api_key="dummy", http_options={"base_url": served.url})

        def look(a: str) -> str:
            """Looks."""
            return f"nothing at {a}"

        config = {"system_instruction": WORDS, "tools": [look]}
        chat = client.chats.create(model=MODEL, config=config)
        assert chat.send_message("go").text == "Over."
        assert chat.send_message("and on").usage_metadata.cached_content_token_count > 2000
        assert "".join(one.text or "" for one in chat.send_message_stream("more")) == "Over."
        assert client.models.count_tokens(model=MODEL, contents="go").total_tokens > 0
        cache = client.caches.create(model=MODEL, config={"system_instruction": WORDS, "ttl": "600s"})
        cached = client.models.generate_content(model=MODEL, contents="go", config={"cached_content": cache.name})
        assert cached.usage_metadata.cached_content_token_count == cache.usage_metadata.total_token_count
        assert client.caches.get(name=cache.name).name == cache.name
        client.caches.delete(name=cache.name)
