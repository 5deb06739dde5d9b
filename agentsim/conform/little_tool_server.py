"""A small server of tools over standard input and output (MCP), for acts in which tools come, go and change places.

``LITTLE_TOOLS`` names the tools in order; it is asked each time that tools are listed.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    """Answer each line until there is none."""
    for line in sys.stdin:
        try:
            asked = json.loads(line)
        except ValueError:
            continue
        if "id" in asked:
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": _result(asked)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def _result(asked: dict[str, Any]) -> dict[str, Any]:
    method, params = asked.get("method"), asked.get("params") or {}
    if method == "initialize":
        version = params.get("protocolVersion", "2025-06-18")
        about = {"name": "little", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        names = os.environ.get("LITTLE_TOOLS", "alpha,beta,gamma").split(",")
        return {"tools": [_tool(name) for name in names if name]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"{params.get('name')} says hello"}]}
    return {}


def _tool(name: str) -> dict[str, Any]:
    shape = {"type": "object", "properties": {"text": {"type": "string", "description": f"what {name} shall say"}}}
    return {"name": name, "description": f"Says something in the manner of {name}. " * 8, "inputSchema": shape}


if __name__ == "__main__":
    main()
