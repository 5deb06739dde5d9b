"""The fields of a Messages request, as decoding needs them.

Only the fields that matter are decoded, and they stay raw JSON until it is known that they are new. A test compares the
names with the request types of the provider's own SDK, where that is installed.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw

from agentsim.bodies.body_error import BodyError

ABSENT = Raw(b"")

KEY_SETTINGS = (
    "betas",
    "container",
    "context_management",
    "mcp_servers",
    "output_config",
    "output_format",
    "speed",
    "thinking",
    "tool_choice",
)
"""Parameters that can take part in a cache key. What each re-keys is a rule of the provider, not of the body."""

MARKED = ("fallback_credit_token",)
"""Parameters of which only their presence is kept: it bears on the bill, and they are nobody's business."""

NOT_IN_KEY = (
    "billing_policy",
    "compaction",
    "diagnostics",
    "fallbacks",
    "inference_geo",
    "max_tokens",
    "metadata",
    "service_tier",
    "stop_sequences",
    "stream",
    "temperature",
    "thread",
    "top_k",
    "top_p",
    "user_profile_id",
    "workspace_id",
)
"""Parameters that no source lists as relevant to the cache. (A request that continues a ``thread`` sends only its new
messages: its body is not its prompt.)"""


class MessagesBody(msgspec.Struct, gc=False):
    """A request body whose parts are still raw JSON."""

    messages: list[Raw]
    model: str | None = None
    system: Raw = ABSENT
    tools: list[Raw] | None = None
    cache_control: Raw = ABSENT
    betas: Raw = ABSENT
    anthropic_beta: Raw = ABSENT
    container: Raw = ABSENT
    context_management: Raw = ABSENT
    mcp_servers: Raw = ABSENT
    output_config: Raw = ABSENT
    output_format: Raw = ABSENT
    speed: Raw = ABSENT
    thinking: Raw = ABSENT
    tool_choice: Raw = ABSENT
    fallback_credit_token: Raw = ABSENT


class _Model(msgspec.Struct, gc=False):
    model: str | None = None


_body_decoder = msgspec.json.Decoder(MessagesBody)
_model_decoder = msgspec.json.Decoder(_Model)

_MESSAGE_PATH = re.compile(r"^(.*?)(?: - at `\$\.?(.*)`)?$", re.DOTALL)
_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair, to be left alone
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def decode_body(data: bytes | bytearray | memoryview | Raw) -> MessagesBody:
    """The parts of a request body. Raises BodyError when it is not JSON or its parts have wrong types.

    Half a surrogate pair (an emoji cut in two by a program that truncates text) is not valid JSON to every parser: it
    is kept as the six characters of its escape, so that the rest can be read.
    """
    try:
        return _body_decoder.decode(data)
    except msgspec.ValidationError as error:
        raise _body_error(error) from None
    except msgspec.DecodeError as error:
        raw = bytes(data)
        repaired = keep_lone_surrogates(raw)
        if len(repaired) == len(raw):
            raise BodyError("", f"not valid JSON ({error})") from None
    except RecursionError:
        raise BodyError("", "nested too deeply") from None
    try:
        return _body_decoder.decode(repaired)
    except msgspec.ValidationError as error:
        raise _body_error(error) from None
    except msgspec.DecodeError as error:
        raise BodyError("", f"not valid JSON ({error})") from None
    except RecursionError:
        raise BodyError("", "nested too deeply") from None


def decode_model(data: bytes | bytearray | memoryview | Raw) -> str | None:
    """The model that a body names; ``None`` when it names none or cannot be read."""
    try:
        return _model_decoder.decode(data).model
    except (msgspec.MsgspecError, RecursionError):
        return None


def keep_lone_surrogates(data: bytes) -> bytes:
    r"""JSON text in which a ``\ud83d`` without its other half has its backslash escaped."""
    pieces: list[bytes] = []
    done = 0
    for match in _SURROGATE.finditer(data):
        start = match.start(1)
        if start < 0:
            continue
        before = start
        while before > 0 and data[before - 1] == 0x5C:
            before -= 1
        if (start - before) % 2 == 0:
            pieces += (data[done:start], b"\\")
            done = start
    return b"".join((*pieces, data[done:])) if pieces else data


def is_absent(raw: Raw) -> bool:
    """True for a field that the body does not have, or that is ``null``."""
    return not raw or bytes(raw) == b"null"


def _body_error(error: msgspec.ValidationError) -> BodyError:
    match = _MESSAGE_PATH.match(str(error))
    reason, path = (match[1], match[2] or "") if match else (str(error), "")
    return BodyError(path.replace("[...]", "[]"), reason[:1].lower() + reason[1:])
