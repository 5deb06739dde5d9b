"""Real harnesses against the emulated endpoint: a loop of three tools each, with no account and no other network.

Opt in with ``pytest -m harness``. Programs are taken from AGENTSIM_HARNESSES, a folder with ``node_modules/.bin``, made
by ``npm i --prefix FOLDER node@24 @anthropic-ai/claude-code@latest @earendil-works/pi-coding-agent@latest
@openai/codex@latest`` (without ``@latest`` npm takes old versions where its own Node.js is old).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentsim.core.session import Session
from agentsim.diagnose import diagnose
from agentsim.traces.readers.agentsim1 import read_sessions
from agentsim.traces.readers.claude_code import read_sessions as read_log

pytestmark = [pytest.mark.harness, pytest.mark.slow]

FOLDER = os.environ.get("AGENTSIM_HARNESSES")
BIN = str(Path(FOLDER) / "node_modules" / ".bin") if FOLDER else ""
ROOT = Path(__file__).resolve().parents[3]

PI = """
mkdir -p "$HOME/.pi/agent"
printf '{"providers":{"anthropic":{"baseUrl":"%s"}}}' "$ANTHROPIC_BASE_URL" > "$HOME/.pi/agent/models.json"
exec pi -p --provider anthropic --model claude-sonnet-4-6 "do three things"
"""
CODEX = """
mkdir -p "$HOME/codex"
export CODEX_HOME="$HOME/codex"
cat > "$CODEX_HOME/config.toml" <<END
model = "gpt-5.1-codex"
model_provider = "emulated"
[model_providers.emulated]
name = "emulated"
base_url = "$OPENAI_BASE_URL"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
END
exec codex exec --skip-git-repo-check "do three things" < /dev/null
"""
CLAUDE = 'exec claude -p "do three things" --allowedTools Bash --output-format json'


@pytest.fixture(autouse=True)
def opted_in(request: pytest.FixtureRequest) -> None:
    """Programs of others run only when somebody asks for it."""
    if not FOLDER and "harness" not in (request.config.option.markexpr or ""):
        pytest.skip("real harnesses run with -m harness only")


def need(name: str) -> None:
    """Skip where a program is not installed."""
    if shutil.which(name, path=f"{BIN}:{os.environ['PATH']}") is None:
        pytest.skip(f"{name} is not installed (AGENTSIM_HARNESSES names no folder that has it)")


def run(folder: Path, script: str, *options: str) -> tuple[subprocess.CompletedProcess[str], Session]:
    """Run a harness under ``agentsim exec`` in a home of its own; what it printed, and its session."""
    home = folder / "home"
    home.mkdir()
    trace = folder / "wire.jsonl"
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "agentsim", "exec", "--trace", str(trace), *options, "--", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
        env=environment,
        timeout=110,
    )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    session = max(read_sessions([str(trace)]), key=lambda one: len(one.requests))
    return done, session


def judge(session: Session, harness: str) -> None:
    """Four requests of one lane, each reading all that the one before wrote; three tools answered."""
    main = [request for request in session.requests if request.lane == "main"]
    assert session.harness == harness
    assert len(main) == 4
    assert [request.parent for request in main] == [None, *(request.id for request in main[:-1])]
    prompt = main[-1].prompt
    assert prompt is not None
    results = [block for block in prompt if block.kind == "tool_result"]
    assert len(results) == 3
    assert [word in (block.text or "") for block, word in zip(results, ("one", "two", "three"), strict=True)] == [
        True
    ] * 3
    for request in main:
        assert request.usage is not None
        assert request.prompt is not None
        assert request.usage.total_input == request.prompt.tokens


def test_claude_code_and_its_own_log_of_the_same_run(tmp_path: Path) -> None:
    """The wire and the log agree row by row: usage, lanes and verdicts; and on the money, to the last digit."""
    need("claude")
    done, session = run(tmp_path, CLAUDE)
    judge(session, "claude-code")
    assert [verdict.kind for verdict in diagnose(session).verdicts] == ["first", "hit", "hit", "hit"]
    logs = sorted((tmp_path / "home" / ".claude" / "projects").rglob("*.jsonl"))
    (logged,) = read_log([str(path) for path in logs])
    assert logged.id == session.id
    assert [request.usage for request in logged.requests] == [request.usage for request in session.requests]
    assert [request.model for request in logged.requests] == [request.model for request in session.requests]
    by_lane = [[request.lane for request in one.requests] for one in (logged, session)]
    assert [len(set(lanes)) for lanes in by_lane] == [1, 1]
    assert len(logged.lanes) == len(session.lanes) == 1
    kinds = [[verdict.kind for verdict in diagnose(one).verdicts] for one in (logged, session)]
    assert kinds[0] == kinds[1]
    costs = [diagnose(one).totals.cost for one in (logged, session)]
    assert costs[0] == costs[1]
    told = json.loads(done.stdout.splitlines()[0])
    assert told["num_turns"] == 4
    assert round(costs[1] / 10**12, 9) == pytest.approx(told["total_cost_usd"], abs=1e-9)


DELEGATE = """
[[turn]]
lane = "main"
call = [
    { tool = "Agent", input = { description = "Look", prompt = "Look around.", subagent_type = "general-purpose" } },
    { tool = "Task", input = { description = "Look", prompt = "Look around.", subagent_type = "general-purpose" } },
]

[[turn]]
lane = "subagent"
call = [{ tool = "Bash", input = { command = "echo inner", description = "Print a line" } }]
"""


def test_claude_code_with_a_subagent(tmp_path: Path) -> None:
    """The lanes that are found by prefixes on the wire are those that the log names."""
    need("claude")
    (tmp_path / "delegate.toml").write_text(DELEGATE)
    script = 'exec claude -p "do it" --allowedTools Bash Agent Task'
    _, session = run(tmp_path, script, "--script", str(tmp_path / "delegate.toml"))
    logs = sorted((tmp_path / "home" / ".claude" / "projects").rglob("*.jsonl"))
    (logged,) = read_log([str(path) for path in logs])
    assert logged.id == session.id

    def rows(one: Session) -> list[tuple[str, object]]:
        purposes = {lane.id: lane.purpose for lane in one.lanes}
        return [(purposes[request.lane], request.usage) for request in one.requests]

    assert {purpose for purpose, _ in rows(session)} == {"main", "subagent"}
    assert rows(logged) == rows(session)
    kinds = [[verdict.kind for verdict in diagnose(one).verdicts] for one in (logged, session)]
    assert kinds[0] == kinds[1]


def test_claude_code_retries_what_fails(tmp_path: Path) -> None:
    need("claude")
    _, session = run(tmp_path, CLAUDE, "--fault", "529@2", "--retry-after", "0")
    judge(session, "claude-code")
    assert [event.detail for event in session.events] == ["HTTP 529 /v1/messages: overloaded (injected)"]


def test_claude_code_breaks_a_budget(tmp_path: Path) -> None:
    """A budget on what no session of it can hold: the gate closes."""
    need("claude")
    with pytest.raises(AssertionError, match="Budget broken"):
        run(tmp_path, CLAUDE, "--max-input-equivalents", "1000")


def test_pi(tmp_path: Path) -> None:
    need("pi")
    _, session = run(tmp_path, PI)
    judge(session, "pi")
    assert [verdict.kind for verdict in diagnose(session).verdicts] == ["first", "hit", "hit", "hit"]
    logs = list((tmp_path / "home" / ".pi" / "agent" / "sessions").rglob("*.jsonl"))
    rows = [json.loads(line) for path in logs for line in path.read_text().splitlines()]
    usages = [row["message"]["usage"] for row in rows if row.get("message", {}).get("role") == "assistant"]
    assert [(usage["input"], usage["cacheRead"], usage["cacheWrite"]) for usage in usages] == [
        (request.usage.fresh, request.usage.read, request.usage.write) for request in session.requests if request.usage
    ]


def test_codex(tmp_path: Path) -> None:
    need("codex")
    _, session = run(tmp_path, CODEX)
    judge(session, "codex")
    assert [verdict.kind for verdict in diagnose(session).verdicts] == ["first", "hit", "hit", "hit"]
    reads = [request.usage.read for request in session.requests if request.usage is not None]
    totals = [request.usage.total_input for request in session.requests if request.usage is not None]
    assert reads[0] == 0
    for before, read in zip(totals, reads[1:], strict=False):
        assert before is not None
        assert read == before // 128 * 128, "all of the prompt before, in steps of 128"


def test_codex_on_a_model_with_breakpoints(tmp_path: Path) -> None:
    # Here Codex offers one tool that takes a program, which the script does not know: one request, and the reply.
    need("codex")
    _, session = run(tmp_path, CODEX.replace("gpt-5.1-codex", "gpt-5.6-sol"))
    (request,) = session.requests
    assert request.usage is not None
    assert request.prompt is not None
    assert "prompt_cache_key" in dict(request.settings), "Codex names its conversation"
    assert (request.usage.read, request.usage.fresh) == (0, 2)
    assert request.usage.write_short == request.prompt.tokens, "written up to the last message"
    assert request.prompt[0].role == "developer", "the tools come as an item of the history"


COMPACTED = """
after = "Over."
summary = "Up to turn ${turn} all went well."

[[turn]]
text = "One step more."
repeat = 4
call = [{ tool = "exec_command", input = { cmd = "seq 1 3000" } }]
"""


def test_codex_has_its_history_compacted(tmp_path: Path) -> None:
    """Its own history is replaced by our summary; nothing of that is a loss, and the script goes on where it was."""
    need("codex")
    (tmp_path / "compacted.toml").write_text(COMPACTED)
    # Only a provider of this name is asked for summaries; each result is about 9,000 tokens.
    script = CODEX.replace('name = "emulated"', 'name = "OpenAI"')
    script = script.replace("model_provider =", "model_auto_compact_token_limit = 16000\nmodel_provider =")
    _, session = run(tmp_path, script, "--script", str(tmp_path / "compacted.toml"))
    assert [request.purpose for request in session.requests] == [*["main", "main", "summary"] * 2, "main"]
    assert [event.kind for event in session.events] == ["compaction", "compaction"]
    kinds = [verdict.kind for verdict in diagnose(session).verdicts]
    assert kinds == ["first", *["hit", "hit", "compaction"] * 2]


NODE_CLIENTS = """
const Anthropic = require("@anthropic-ai/sdk").default, OpenAI = require("openai").default;
const a = new Anthropic({maxRetries: 0}), o = new OpenAI({maxRetries: 0});
const system = [{type: "text", text: "word ".repeat(3000), cache_control: {type: "ephemeral"}}];
const body = {model: "claude-sonnet-4-6", max_tokens: 100, system, messages: [{role: "user", content: "go"}]};
(async () => {
  const whole = await a.messages.create(body);
  const streamed = await a.messages.stream(body).finalMessage();
  const input = "word ".repeat(3000);
  const response = await o.responses.create({model: "gpt-5.1", input});
  let last;
  for await (const event of await o.responses.create({model: "gpt-5.1", input, stream: true})) last = event;
  let text = "";
  const chat = {model: "gpt-5.1", messages: [{role: "user", content: "go"}], stream: true};
  for await (const chunk of await o.chat.completions.create(chat)) text += chunk.choices[0]?.delta?.content ?? "";
  console.log(JSON.stringify([whole.usage.cache_creation_input_tokens, streamed.usage.cache_read_input_tokens,
    whole.content, streamed.content, response.output_text, last.type, last.response.usage, text]));
})();
"""


def test_the_official_node_clients(tmp_path: Path) -> None:
    need("node")
    if not FOLDER or not (Path(FOLDER) / "node_modules" / "@anthropic-ai" / "sdk").is_dir():
        pytest.skip("the node clients are not installed")
    script = tmp_path / "clients.cjs"
    script.write_text(NODE_CLIENTS)
    done, _ = run(tmp_path, f"NODE_PATH={FOLDER}/node_modules exec node {script}")
    written, read, whole, streamed, said, kind, usage, text = json.loads(done.stdout.splitlines()[0])
    assert written == read > 0
    assert whole == streamed
    assert whole[0]["text"] == said == text
    assert kind == "response.completed"
    assert usage["input_tokens_details"]["cached_tokens"] > 1024
