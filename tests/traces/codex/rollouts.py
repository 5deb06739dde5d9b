"""Rollouts of Codex made by hand."""

from __future__ import annotations

import json

BASE = 1_790_000_000


def stamp(at):
    """``at`` seconds after a morning in September 2026."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(BASE + at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class RolloutFile:
    """Writes the lines of a rollout, with the totals that Codex would write."""

    def __init__(self, id="t1", at=0, **meta):
        self.lines = []
        self.total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"), 0)
        self.line(
            "session_meta", at, id=id, timestamp=stamp(at), cli_version="0.150.0", model_provider="openai", **meta
        )

    def line(self, kind, at, **payload):
        self.lines.append({"timestamp": stamp(at), "type": kind, "payload": payload})
        return self

    def context(self, at, model="gpt-5.5", effort="high"):
        settings = {"model": model, "reasoning_effort": effort}
        return self.line("turn_context", at, model=model, collaboration_mode={"settings": settings})

    def user(self, at):
        self.line("response_item", at, type="message", role="user", content=[{"type": "input_text", "text": "go"}])
        return self.line("event_msg", at, type="user_message", message="go")

    def reply(self, at, tool_at=None):
        self.line("response_item", at, type="reasoning", summary=[])
        self.line("response_item", at + 1, type="function_call", name="run", arguments="{}")
        if tool_at is not None:
            self.line("response_item", tool_at, type="function_call_output", output="done")
        return self

    def usage(self, total, cached, output, **more):
        return {
            "input_tokens": total,
            "cached_input_tokens": cached,
            "output_tokens": output,
            "total_tokens": total + output,
            **more,
        }

    def count(self, at, total, cached, output=10, last=True, **more):
        counters = self.usage(total, cached, output, **more)
        for name in self.total:
            self.total[name] += counters[name]
        info = {"total_token_usage": dict(self.total)}
        if last:
            info["last_token_usage"] = counters
        return self.line("event_msg", at, type="token_count", info=info)

    def repeat(self, at):
        """The last count again, as at the start of a turn."""
        info = {"total_token_usage": dict(self.total), "last_token_usage": self.usage(1, 0, 1)}
        return self.line("event_msg", at, type="token_count", info=info)

    def record(self, at, response, total, cached, output=10, **more):
        usage = self.usage(total, cached, output, **more)
        return self.line("token_usage_record", at, response_id=response, usage=usage)

    def bytes(self):
        return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in self.lines)

    def write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.bytes())
        return str(path)


def three_calls(id="t1", at=0, **meta):
    """Three calls, ten seconds apart."""
    file = RolloutFile(id, at, **meta).context(at + 1).user(at + 2)
    for number in range(3):
        begin = at + 4 + 10 * number
        file.reply(begin, tool_at=begin + 5).count(begin + 6, 2_000 + 500 * number, 1_408 + 512 * number, 10 + number)
    return file
