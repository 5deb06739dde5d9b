"""VCR cassettes: recorded HTTP exchanges in YAML, bodies as text or taken apart (``parsed_body``).

Usage convention: by the API called. ``input_tokens`` of the Messages API excludes cached tokens, and
``usage.iterations`` of a compaction are kept and billed as their sum; OpenAI's totals include cached tokens. A cassette
has no times. YAML needs the package PyYAML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import msgspec

from agentsim.bodies.api_shapes import Api, api_of, model_in
from agentsim.bodies.captured_calls import body_to_read, read_answered
from agentsim.bodies.content_encoding import unpacked
from agentsim.core.extras import how_to_install
from agentsim.core.session import Problem, Session, Source
from agentsim.core.strict_decoding import BadRow
from agentsim.traces.capture_files import read_captures
from agentsim.traces.exchanges import Exchange
from agentsim.traces.header_fields import told_by
from agentsim.traces.hostile_records import Tally, TraceError
from agentsim.traces.log_lines import open_log, read_at_most
from agentsim.traces.session_assembly import stem

NAME = "vcr-cassette"
DESCRIPTION = "VCR and go-vcr cassettes (YAML) with calls of a known API, packed or not; needs PyYAML"
VERIFIED = True

MAX_BYTES = 64 * 2**20
MAX_NODES = 2_000_000
"""YAML may name one value many times: a small file can stand for an endless one."""


def detect(head: bytes, path: str) -> bool:
    """Whether a file begins like a cassette."""
    start = head.lstrip()[:4096]
    return (
        start.startswith((b"interactions:", b"---", b"version:")) and b"interactions:" in start and b"request:" in start
    )


def read_sessions(paths: Sequence[str], problems: list[Problem] | None = None) -> Iterator[Session]:
    """The sessions of these cassettes. A response that came before (in the same or another file) is counted once.

    The line of a source is the number of the exchange. What is wrong with a file is told in ``problems``; without that
    list, OSError is raised for a file that cannot be read and its subclass TraceError for one without a usable pair.
    """
    captures = [(path, stem(path)) for path in paths]
    wanted = "request to a known API with its response"
    yield from read_captures(captures, problems, _exchanges_of, format=NAME, wanted=wanted)


def _interactions(path: str) -> list[Any]:
    try:
        yaml = import_module("yaml")
    except ImportError:
        raise TraceError(path, "YAML cannot be read without PyYAML", how_to_install("vcr")) from None
    with open_log(path) as file:
        data = read_at_most(file, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise TraceError(path, f"larger than {MAX_BYTES // 2**20} MiB", "split the cassette")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(data, Loader=loader)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError, AttributeError, LookupError):
        raise TraceError(path, "broken YAML", "restore it from a backup, or record it anew") from None
    found = document.get("interactions") if isinstance(document, dict) else None
    if not isinstance(found, list):
        raise TraceError(path, "no list of interactions", "check that this is a VCR cassette")
    if _is_endless(found):
        raise TraceError(path, "names its values too many times over", "record the cassette anew")
    return found


def _is_endless(document: object) -> bool:
    waiting, count = [document], 0
    while waiting:
        node = waiting.pop()
        count += 1
        if count > MAX_NODES:
            return True
        if isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, (list, tuple)):
            waiting.extend(node)
    return False


def _exchanges_of(path: str, tally: Tally) -> Iterator[Exchange]:
    for number, interaction in enumerate(_interactions(path), 1):
        tally.rows += 1
        try:
            request, response = _part(interaction, "request"), _part(interaction, "response")
            uri = request.get("uri", request.get("url"))  # VCR; go-vcr
            api = api_of(uri) if isinstance(uri, str) else None
            if api is None:
                tally.not_billable += 1
                continue
            yield _exchange(request, response, api, str(uri), Source(path, number))
        except BadRow as bad:
            tally.skip(number, bad)


def _part(interaction: object, name: str) -> dict[str, Any]:
    part = interaction.get(name) if isinstance(interaction, dict) else None
    if not isinstance(part, dict):
        raise BadRow("not an object", name)
    return part


def _exchange(request: dict[str, Any], response: dict[str, Any], api: Api, uri: str, source: Source) -> Exchange:
    given = response.get("status")
    code = given.get("code") if isinstance(given, dict) else response.get("code", given)
    status = code if isinstance(code, int) and 100 <= code < 600 else None
    body = _body(request)
    if body is None:
        raise BadRow("not a Messages request", "the body was not recorded")
    answered = _body(response)
    failed = status is not None and status >= 400
    told, answering = told_by(_headers(request)), told_by(_headers(response))
    said = None if failed or answered is None else read_answered(answered, api)
    return Exchange(
        body=body_to_read(body, api, model_in(uri)),
        source=source,
        api=api,
        reply=None if said is None else said.reply,
        output=() if said is None else said.output,
        status=status,
        session=told.session,
        request_id=answering.request_id,
        harness=told.harness,
        harness_version=told.harness_version,
        betas=told.betas,
        address=uri,
        account=told.account or answering.account,
    )


def _headers(part: dict[str, Any]) -> dict[str, msgspec.Raw]:
    found = part.get("headers")
    headers = {}
    for name, value in found.items() if isinstance(found, dict) else ():
        first = value[0] if isinstance(value, list) and value else value
        if isinstance(name, str) and isinstance(first, str):
            headers[name] = msgspec.Raw(_json(first))
    return headers


def _body(part: dict[str, Any]) -> bytes | None:
    parsed = part.get("parsed_body")
    if parsed is not None:
        return _json(parsed)
    body = part.get("body")
    body = body.get("string") if isinstance(body, dict) else body
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    return unpacked(body, _encoding(part)) if isinstance(body, bytes) and body else None


def _encoding(part: dict[str, Any]) -> str | None:
    """How a body was packed: its header."""
    found = part.get("headers")
    for name, value in found.items() if isinstance(found, dict) else ():
        if isinstance(name, str) and name.lower() == "content-encoding":
            first = value[0] if isinstance(value, list) and value else value
            return first if isinstance(first, str) else None
    return None


def _json(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError, OverflowError):
        raise BadRow("bad field", "a value that JSON cannot hold") from None
