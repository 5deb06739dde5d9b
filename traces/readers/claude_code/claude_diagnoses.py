"""What Claude Code itself said about lost caches, where agentsim's status line kept it: no log holds it.

A word is put on the row that it was said about: the one of the main conversation whose reply ended when the loss was
noticed. Where the log holds the provider's own word, that stays.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from agentsim.core.session import ProviderDiagnosis, Request
from agentsim.core.strict_decoding import Count
from agentsim.traces.kept_places import kept_file

NEAR = 20 * 10**9
"""So far, in nanoseconds, the noticed loss and the end of its reply may be apart."""

LARGEST = 4 * 2**20

SAYS: dict[str, str | None] = {
    "system_prompt_changed": "system_changed",
    "tools_changed": "tools_changed",
    "defer_loading_changed": "tools_changed",
    "model_changed": "model_changed",
    "effort_changed": "reasoning_effort_changed",
    "messages_rewritten": "messages_changed",
    "ttl_expired_5m": "ttl_expired_5m",
    "ttl_expired_1h": "ttl_expired_1h",
    "likely_server_side": None,
    "fast_mode_changed": "unavailable",
    "betas_changed": "unavailable",
    "thinking_mode_changed": "unavailable",
    "thinking_display_changed": "unavailable",
    "extra_body_changed": "unavailable",
}
"""The harness's causes in the words that verdicts know; ``None``: compared, and nothing found that differs."""


class KeptLine(msgspec.Struct, gc=False):
    """A line of the kept file, as far as losses need it."""

    misses: Count | None = None
    missed: Count | None = None
    recached: Count | None = None
    causes: list[str] = []


_decode = msgspec.json.Decoder(KeptLine).decode


def with_harness_words(session: str, requests: Sequence[Request]) -> list[Request]:
    """The requests of a session with what its harness said, where that was kept."""
    found = list(requests)
    path = kept_file(session)
    if path is None or not os.path.exists(path):
        return found
    mains = [
        (number, request)
        for number, request in enumerate(found)
        if request.purpose == "main" and request.end is not None and not request.diagnosis.reported
    ]
    for second, causes, tokens in _losses(path):
        said = [SAYS[cause] for cause in causes if cause in SAYS]
        if not said or not mains:
            continue
        when = second * 10**9
        number, request = min(mains, key=lambda pair: abs((pair[1].end or 0) - when))
        if abs((request.end or 0) - when) <= NEAR:
            word = ProviderDiagnosis(reported=True, reason=said[0], missed_tokens=tokens, by="harness")
            found[number] = msgspec.structs.replace(request, diagnosis=word)
    return found


def _losses(path: str) -> Iterator[tuple[int, list[str], int | None]]:
    """Each loss that was noticed: when (Unix seconds), its causes, and the tokens that were written again."""
    try:
        with open(path, "rb") as file:
            lines = file.read(LARGEST).splitlines()
    except OSError:
        return
    misses, recached = 0, 0
    for text in lines:
        try:
            line = _decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if line.misses is None:
            continue
        if line.misses > misses and line.missed is not None:
            alone = line.misses == misses + 1 and line.recached is not None and line.recached >= recached
            yield line.missed, line.causes, (line.recached or 0) - recached if alone else None
        misses, recached = line.misses, line.recached or recached
