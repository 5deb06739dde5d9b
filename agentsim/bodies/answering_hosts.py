"""Which of several servers answered, where a row names one: a short name, never an address with what may be a secret.

Of an address only the name of its host is taken, and its port: user names, paths and queries may hold keys.
"""

from __future__ import annotations

import re

import msgspec

LONGEST = 100

_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//(?:[^/?#\\]*@)?([^/?#\\@]*)", re.IGNORECASE)
_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)
_NAME = re.compile(r"\w(?:[\w .()+/-]*[\w).+])?")

_text = msgspec.json.Decoder(str)


def host_named(told: object) -> str | None:
    """A server by the name that a gateway gives it; ``None`` for what is no such name."""
    if isinstance(told, msgspec.Raw):
        try:
            told = _text.decode(told)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
    if not isinstance(told, str) or len(told) > LONGEST:
        return None
    name = told.strip()
    return name if _NAME.fullmatch(name) and "//" not in name else None


def host_of_address(address: object) -> str | None:
    """The host of a URL, or of the beginning of one without its scheme; ``None`` where there is none.

    Without a scheme a word is no host, unless it has a dot or a port: it may be a key that stands in the wrong place.
    """
    if not isinstance(address, str):
        return None
    text = address.strip()
    has_scheme = "//" in text[:32]
    found = _ADDRESS.match(text if has_scheme else f"//{text}")
    host = "" if found is None else found[1].lower()
    if not has_scheme and not set(host) & set(".:") and host != "localhost":
        return None
    return host if len(host) <= LONGEST and _HOST.fullmatch(host) else None
