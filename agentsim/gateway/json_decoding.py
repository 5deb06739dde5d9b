"""JSON that came from outside, decoded or refused."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from agentsim.gateway.refusal import Refusal

_PATH = re.compile(r"^(.*?)(?: - at `\$\.?(.*)`)?$", re.DOTALL)


def decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """What a decoder makes of JSON. Raises Refusal (400) naming the place, without content."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        match = _PATH.match(str(error))
        reason, path = (match[1], match[2]) if match else (str(error), None)
        raise Refusal(400, reason[:1].lower() + reason[1:], path=path or None) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Refusal(400, "the body is not valid JSON") from None
    except RecursionError:
        raise Refusal(400, "the body is nested too deeply") from None
