"""Who may talk to the endpoint: programs of this machine that mean it, and no web page.

A page in a browser can send requests to a port of this machine, under a host name of its own that resolves to loopback
(DNS rebinding). So the Host must be a loopback name with our port, an Origin must be one too, no CORS header is ever
sent, and a body must be declared as JSON, which a form cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any

from agentsim.gateway.refusal import Refusal

LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
METHODS = ("GET", "HEAD", "POST", "DELETE", "PATCH")
_SCHEMES = ("http://", "https://")

Headers = Iterable[tuple[bytes, bytes]]


def check(scope: MutableMapping[str, Any], *, only_json: bool = True) -> None:
    """Raise Refusal for a request that is not meant for this endpoint. Looks at nothing but its head.

    Without ``only_json`` methods, types and encodings may be any, as a relay needs it: a web page that used them would
    have to name its origin.
    """
    headers: Headers = scope["headers"]
    hosts = [value for name, value in headers if name == b"host"]
    port = (scope.get("server") or ("", None))[1]
    if len(hosts) != 1 or not is_own_host(hosts[0], port):
        raise Refusal(421, "the Host header must be a loopback name with this port", close=True)
    for name, value in headers:
        if name == b"origin" and not is_loopback_origin(value):
            raise Refusal(403, "requests from web pages of other origins are not served", close=True)
    method = scope["method"]
    if only_json and method not in METHODS:
        raise Refusal(405, "only GET, HEAD, POST, PATCH and DELETE are served", close=True)
    if method in ("POST", "PATCH") and only_json:
        kinds = [value for name, value in headers if name == b"content-type"]
        if len(kinds) != 1 or kinds[0].split(b";")[0].strip().lower() != b"application/json":
            raise Refusal(415, "the content type must be application/json", close=True)


def is_own_host(value: bytes, port: int | None) -> bool:
    """Whether a Host header names this endpoint: a loopback name, in any case, with this port."""
    try:
        text = value.decode("ascii").strip().lower()
    except UnicodeDecodeError:
        return False
    name, given = _split(text)
    if name.removesuffix(".") not in LOOPBACK:
        return False
    if port is None:
        return True
    return given == str(port) or (not given and port == 80 and ":" not in text.rpartition("]")[2])


def is_loopback_origin(value: bytes) -> bool:
    """Whether an Origin header is of a page served from this machine, on any port."""
    try:
        text = value.decode("ascii").strip().lower()
    except UnicodeDecodeError:
        return False
    for scheme in _SCHEMES:
        if text.startswith(scheme):
            name, given = _split(text.removeprefix(scheme))
            return name.removesuffix(".") in LOOPBACK and (not given or given.isdecimal())
    return False


def _split(text: str) -> tuple[str, str]:
    """A host and its port (empty where there is none); the brackets stay on an IPv6 address."""
    if text.startswith("["):
        name, bracket, rest = text.partition("]")
        if rest and not rest.startswith(":"):
            return "", ""
        return name + bracket, rest.removeprefix(":")
    name, _, port = text.partition(":")
    return name, port
