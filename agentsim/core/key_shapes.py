"""What keys of providers and services look like, and a text without them: words of a log are never written with one."""

from __future__ import annotations

import re

REMOVED = b"[removed]"

_SHAPES: tuple[tuple[tuple[bytes, ...], bytes], ...] = (
    ((b"sk-",), rb"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{16,}"),
    ((b"AIza",), rb"\bAIza[0-9A-Za-z_-]{35}"),
    ((b"ya29.",), rb"\bya29\.[0-9A-Za-z_.-]{20,}"),
    ((b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"), rb"\bgh[pousr]_[A-Za-z0-9]{30,}"),
    ((b"github_pat_",), rb"\bgithub_pat_[A-Za-z0-9_]{30,}"),
    ((b"glpat-", b"gldt-", b"glrt-"), rb"\bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}"),
    ((b"AKIA", b"ASIA", b"ABIA", b"ACCA"), rb"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"),
    ((b"secret_access_key", b"SECRET_ACCESS_KEY"), rb"(?i:secret_access_key)[^A-Za-z0-9/+]{1,12}[A-Za-z0-9/+]{40}"),
    ((b"xoxb-", b"xoxp-", b"xoxa-", b"xoxr-", b"xoxs-", b"xoxo-"), rb"\bxox[abprso]-[0-9A-Za-z-]{10,}"),
    ((b"hooks.slack.com",), rb"hooks\.slack\.com/services/[A-Za-z0-9_/]{20,}"),
    ((b"gsk_",), rb"\bgsk_[A-Za-z0-9]{20,}"),
    ((b"xai-",), rb"\bxai-[A-Za-z0-9]{20,}"),
    ((b"pplx-",), rb"\bpplx-[A-Za-z0-9]{20,}"),
    ((b"hf_",), rb"\bhf_[A-Za-z0-9]{30,}"),
    ((b"r8_",), rb"\br8_[A-Za-z0-9]{30,}"),
    ((b"npm_",), rb"\bnpm_[A-Za-z0-9]{36}"),
    ((b"pypi-Ag",), rb"\bpypi-Ag[A-Za-z0-9_-]{50,}"),
    ((b"sk_live_", b"rk_live_"), rb"\b[sr]k_live_[0-9A-Za-z]{20,}"),
    ((b"SG.",), rb"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ((b"dop_v1_",), rb"\bdop_v1_[0-9a-f]{40,}"),
    ((b"AccountKey=",), rb"AccountKey=[A-Za-z0-9+/=]{40,}"),
    ((b"eyJ",), rb"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"),
    (
        (b"PRIVATE KEY",),
        (
            rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----[^\"-]{0,20000}"
            rb"(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----)?"
        ),
    ),
)
"""What keys look like: words that stand in every one of a kind, which are quickly looked for, and its whole shape."""

_KINDS = tuple((words, re.compile(shape)) for words, shape in _SHAPES)


def without_keys(text: bytes) -> bytes:
    """A text without whatever looks like a key."""
    for words, shape in _KINDS:
        if any(word in text for word in words):
            text = shape.sub(REMOVED, text)
    return text
