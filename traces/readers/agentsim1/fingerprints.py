"""Sessions without anything private: digests and sizes only, so that a trace can be attached to a bug report.

Every text, name, id and path is replaced by a digest under a key that is drawn at random and kept nowhere: equal things
stay equal inside the trace, which is all that a diagnosis needs, and nobody can test a guess against it. What stays:
times, token counts, models, and words of the provider's own vocabulary (stop reasons, kinds of blocks, settings).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from typing import Any

import msgspec

from agentsim.bodies.messages_wire import KEY_SETTINGS
from agentsim.bodies.serving_provider import KNOWN_PROVIDERS
from agentsim.core.prompt import DIGEST_SIZE, Block, Prompt
from agentsim.core.session import Accounting, Event, Lane, Problem, ProviderDiagnosis, Request, Session, Source
from agentsim.rules.providers.rules_library import bundled_names
from agentsim.traces.format_registry import FORMATS
from agentsim.traces.hostile_records import REMEDIES
from agentsim.traces.readers.agentsim1.prompt_differences import PromptDifferences

KEY_SIZE = 32
_MARK = "~"
_NAME_SIZE = 8

_KINDS = re.compile(
    r"(text|image|document|file|search_result|thinking|redacted_thinking|options|custom|function|fallback|compaction"
    r"|container_upload|tool_reference|tool_removal|tool_addition|(server_|mcp_)?tool_(use|result)"
    r"|(web_search|web_fetch|code_execution|bash_code_execution|text_editor_code_execution|tool_search"
    r"|tool_search_tool|bash|text_editor|computer|memory|advisor)(_tool_result|_regex|_bm25)?(_20\d{6})?)"
)
_SETTING_WORDS = (
    "adaptive",
    "enabled",
    "disabled",
    "omitted",
    "summarized",
    "type",
    "display",
    "budget_tokens",
    "name",
)
_CHOICE_WORDS = ("auto", "any", "tool", "none", "disable_parallel_tool_use", "low", "medium", "high", "xhigh", "max")
_TIER_WORDS = ("fast", "standard", "priority", "batch", "default", "flex", "global", "us", "eu", "not_available")
_STOP_WORDS = ("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "compaction")
_CACHE_WORDS = ("implicit", "explicit", "30m", "12h", "24h", "in_memory", "minimal")
_MISS_WORDS = (
    *("model_changed", "system_changed", "tools_changed", "messages_changed", "previous_message_not_found"),
    *("prompt_cache_key_changed", "text_format_changed", "reasoning_effort_changed", "verbosity_changed"),
    *("context_compacted", "input_changed", "service_tier_changed"),
)
_OTHER_WORDS = ("unavailable", "model_context_window_exceeded", "tools", "system", "messages", "user", "assistant")
_ROLES = ("developer", "function")
_WORDS = frozenset(
    (
        *(*_SETTING_WORDS, *_CACHE_WORDS, *_CHOICE_WORDS, *_TIER_WORDS),
        *(*_STOP_WORDS, *_MISS_WORDS, *_OTHER_WORDS, *_ROLES),
    )
)
_HARNESSES = frozenset(("agentsim", "claude-trace", "raw-bodies"))
"""Names of harnesses and recorders that are no name of a format."""

_OPEN_SETTINGS = frozenset(
    (
        *("citations", "effort", "images_present", "service_tier", "speed", "thinking", "tool_choice", "verbosity"),
        *("prompt_cache_mode", "prompt_cache_retention", "prompt_cache_ttl"),
    )
)
_NAMED_SETTINGS = frozenset((*KEY_SETTINGS, "prompt_cache_key"))
"""Settings whose name stays, but not their value."""

_VERSION = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){1,3}([-+](alpha|beta|rc|dev|next)?[.0-9]{0,12})?")
_ACCOUNT = re.compile(r"[0-9]{12}")
_REGION = re.compile(
    r"(us|eu|ap|apac|ca|sa|me|af|il|mx|jp|au|cn|global|europe|asia|northamerica|southamerica|australia|africa)"
    r"(-gov)?(-(north|south|east|west|central|northeast|northwest|southeast|southwest)(-?[0-9]{1,2})?)?"
)
"""What clouds call their regions."""

_TUNED = re.compile(r"(.*?\bft:[^:/]{1,80}):(.+)", re.S)
_OWN_ARN = re.compile(
    r"(arn:aws[a-z-]*:[a-z]+:[a-z0-9-]*:[0-9]*:"
    r"(?:application-inference-profile|provisioned-model|imported-model|custom-model(?:-deployment)?|prompt-router"
    r"|endpoint)/)(.+)",
    re.S,
)
_IN_A_PROJECT = re.compile(r"(?:projects|accounts|organizations|tunedModels|endpoints|deployments)/.+", re.S)
_A_PATH = re.compile(r"[/~.\\]|[A-Za-z]:[\\/]")


def is_keyed(session: Session) -> bool:
    """Whether a session is a fingerprint: its names are keyed digests."""
    return session.id.startswith(_MARK)


def fingerprint(session: Session, key: bytes | None = None, *, round_sizes: int | None = None) -> Session:
    """The session with everything private replaced by keyed digests.

    Each call draws a new key unless one is given (32 bytes; for tests, or for sessions that are to go in one file:
    :func:`fingerprints`). ``round_sizes`` rounds the size of each block to a multiple of so many tokens; what was
    billed stays. Raises ValueError for a key of another length.
    """
    return _Blinder(secrets.token_bytes(KEY_SIZE) if key is None else key, round_sizes).session(session)


def fingerprints(sessions: Iterable[Session], *, round_sizes: int | None = None) -> Iterator[Session]:
    """Sessions under one random key, so that what they share stays recognisable among them, and nowhere else."""
    blinder = _Blinder(secrets.token_bytes(KEY_SIZE), round_sizes)
    for session in sessions:
        yield blinder.session(session)


@cache
def _public_names() -> frozenset[str]:
    """The names of formats, harnesses and providers that this program knows itself, all of them public."""
    formats = {format.name for format in FORMATS}
    return KNOWN_PROVIDERS | _HARNESSES | formats | frozenset(bundled_names())


class _Blinder:
    """Replaces names and digests under a key."""

    def __init__(self, key: bytes, round_sizes: int | None = None) -> None:
        if len(key) != KEY_SIZE:
            raise ValueError(f"a key has {KEY_SIZE} bytes, not {len(key)}")
        self._key = key
        self._step = round_sizes or 1
        self._digests: dict[bytes, bytes] = {}

    def name(self, text: str) -> str:
        """A name as a digest, the same for the same name."""
        data = text.encode("utf-8", "surrogatepass")
        return _MARK + blake2b(data, digest_size=_NAME_SIZE, key=self._key, person=b"name").hexdigest()

    def name_or_none(self, text: str | None) -> str | None:
        """The same for a name that may be missing."""
        return None if text is None else self.name(text)

    def word(self, text: str | None) -> str | None:
        """A word of a provider's vocabulary as it is, anything else as a digest."""
        return text if text is None or text in _WORDS else self.name(text)

    def maker(self, text: str) -> str:
        """The name of a format, a harness or a provider as it is, if it is a known one, else as a digest."""
        return text if text in _public_names() else self.name(text)

    def model(self, text: str) -> str:
        """A model as prices know it. What its owner called it is hidden: a tuned model, a profile, a path."""
        text = _ACCOUNT.sub("0" * 12, text)
        if _A_PATH.match(text) or _IN_A_PROJECT.match(text):
            return self.name(text)
        for pattern, between in ((_TUNED, ":"), (_OWN_ARN, "")):
            found = pattern.fullmatch(text)
            if found is not None:
                return found[1] + between + self.name(found[2])
        return text

    def region(self, text: str | None) -> str | None:
        """A region of a cloud as it is, anything else as a digest."""
        return text if text is not None and _REGION.fullmatch(text) else self.word(text)

    def digest(self, digest: bytes) -> bytes:
        """A block's digest under the key."""
        made = self._digests.get(digest)
        if made is None:
            made = blake2b(digest, digest_size=DIGEST_SIZE, key=self._key, person=b"block").digest()
            self._digests[digest] = made
        return made

    def session(self, session: Session) -> Session:
        """The whole session."""
        growth = PromptDifferences()
        prompts: dict[str, Prompt] = {}
        requests = []
        for request in session.requests:
            prompt = None
            if request.prompt is not None:
                origin = growth.follow(request)
                base = Prompt.of(()) if origin.request is None else prompts[origin.request]
                new = (self._block(request.prompt[at]) for at in range(origin.keep, len(request.prompt)))
                prompt = base.replace_after(origin.keep, new, request.prompt.breakpoints)
                prompts.setdefault(request.id, prompt)
            requests.append(self._request(request, prompt))
        return Session(
            id=self.name(session.id),
            format=self.maker(session.format),
            completeness=session.completeness,
            lanes=tuple(self._lane(lane) for lane in session.lanes),
            requests=tuple(requests),
            events=tuple(self._event(event) for event in session.events),
            files=tuple(self.name(file) for file in session.files),
            harness=None if session.harness is None else self.maker(session.harness),
            title=None,
            accounting=self._accounting(session.accounting),
            problems=tuple(self._problem(problem) for problem in session.problems),
        )

    def _request(self, request: Request, prompt: Prompt | None) -> Request:
        said = request.diagnosis
        source = request.source
        version = request.harness_version
        return msgspec.structs.replace(
            request,
            id=self.name(request.id),
            lane=self.name(request.lane),
            parent=self.name_or_none(request.parent),
            model=self.model(request.model),
            provider=self.maker(request.provider),
            prompt=prompt,
            settings=tuple(sorted(self._setting(name, value) for name, value in request.settings)),
            diagnosis=ProviderDiagnosis(
                reported=said.reported, reason=self.word(said.reason), missed_tokens=said.missed_tokens
            ),
            stop_reason=self.word(request.stop_reason),
            service_tier=self.word(request.service_tier),
            speed=self.word(request.speed),
            region=self.region(request.region),
            host=None if request.host is None else self.name(request.host),
            account=self.name_or_none(request.account),
            harness_version=version if version is None or _VERSION.fullmatch(version) else self.name(version),
            section_tokens=tuple((self.word(name) or "", count) for name, count in request.section_tokens),
            source=None if source is None else Source(self.name(source.file), source.line),
        )

    def _block(self, block: Block) -> Block:
        return msgspec.structs.replace(
            block,
            kind=block.kind if _KINDS.fullmatch(block.kind) else self.name(block.kind),
            digest=self.digest(block.digest),
            role=self.word(block.role),
            name=self.name_or_none(block.name),
            tokens=None if block.tokens is None else self._rounded(block.tokens),
            text=None,
        )

    def _rounded(self, tokens: int) -> int:
        """A size to the nearest step, and never to nothing."""
        return tokens if self._step == 1 else max(1, (tokens + self._step // 2) // self._step) * self._step

    def _lane(self, lane: Lane) -> Lane:
        return Lane(
            id=self.name(lane.id),
            title=self.name(lane.title),
            purpose=lane.purpose,
            parent=self.name_or_none(lane.parent),
        )

    def _event(self, event: Event) -> Event:
        return Event(
            kind=event.kind,
            time=event.time,
            lane=self.name(event.lane),
            before=self.name_or_none(event.before),
            detail=self.name_or_none(event.detail),
        )

    def _problem(self, problem: Problem) -> Problem:
        reason = self._reason(problem.reason)
        remedy = REMEDIES.get(reason, "see the log that this trace was made from")
        return Problem(file=self.name(problem.file), line=problem.line, reason=reason, remedy=remedy, note=problem.note)

    def _accounting(self, accounting: Accounting) -> Accounting:
        skipped: dict[str, int] = {}
        for reason, count in accounting.skipped:
            shown = self._reason(reason)
            skipped[shown] = skipped.get(shown, 0) + count
        return msgspec.structs.replace(accounting, skipped=tuple(sorted(skipped.items())))

    def _reason(self, reason: str) -> str:
        known = reason.partition(":")[0]
        return known if known in REMEDIES else self.name(reason)

    def _setting(self, name: str, value: str) -> tuple[str, str]:
        if name in _OPEN_SETTINGS:
            try:
                shown = msgspec.json.encode(self._blind(msgspec.json.decode(value)), order="deterministic").decode()
            except (msgspec.MsgspecError, RecursionError):
                shown = msgspec.json.encode(self.name(value)).decode()
            return name, shown
        known = name if name in _NAMED_SETTINGS else self.name(name)
        return known, msgspec.json.encode(self.name(value)).decode()

    def _blind(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.word(value)
        if isinstance(value, list):
            return [self._blind(item) for item in value]
        if isinstance(value, dict):
            return {self.word(key): self._blind(item) for key, item in value.items()}
        return value
