"""What a policy is: another way to send the same work, with its parameters and the condition of what it saves.

A policy rewrites a session: where markers stand, how long entries live, when requests are sent, which extra requests
there are, what a prompt is made of. It never touches what the provider answered. Whether the model would have answered
the same is the policy's condition, in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NoReturn, get_args, get_origin, get_type_hints

import msgspec

from agentsim.core.near_words import did_you_mean
from agentsim.core.session import Request, Session
from agentsim.whatif.policies.session_rewriting import has_markers

HARNESSES = ("claude-code", "pi", "own-code")
"""Whose users are told how to follow a policy: two harnesses, and code that calls the API itself."""


class PolicyError(ValueError):
    """A policy that does not exist, or a parameter that it does not have or that cannot have this value."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a policy, as people see it."""

    name: str
    type: str
    default: str
    choices: tuple[str, ...] = ()


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """One way to send the same work. The fields of a subclass are its parameters; policies are values.

    ``only`` names requests: the policy then changes nothing but what keeps these from losing their cache.
    """

    name: ClassVar[str] = ""
    """What it is called on a command line."""
    summary: ClassVar[str] = ""
    """One line: what it does."""
    assumes: ClassVar[str] = ""
    """The condition of the saving: what the model of the provider cannot know."""
    changes: ClassVar[str | None] = None
    """How what the model is shown differs; ``None``: each request shows it the same blocks in the same order."""
    how: ClassVar[Mapping[str, str]] = {}
    """How to follow it, by harness (one of HARNESSES)."""
    origin: ClassVar[str] = ""
    """Where its constants come from, where it copies an existing harness."""
    stage: ClassVar[int] = 0
    """When it is applied among others: blocks, then settings, then times, markers, lifetimes, extra requests."""
    slots: ClassVar[tuple[str, ...]] = ()
    """What it decides alone: two policies that share a slot cannot be combined."""
    needs_bodies: ClassVar[bool] = False
    """Whether rows without bodies are not enough."""
    needs_blocks: ClassVar[bool] = False
    """Whether it depends on how many blocks a request added: counters alone do not tell."""
    needs_markers: ClassVar[bool] = False
    """Whether it means nothing to a provider that keeps every prompt by itself."""

    doubts: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Other parameters that what it assumes allows: the saving lies between what it is with them."""

    only: tuple[str, ...] = ()

    def doubted(self) -> tuple[Policy, ...]:
        """The policy as it would be where what it assumes is otherwise."""
        return tuple(msgspec.structs.replace(self, **other) for other in self.doubts)

    def unaccounted(self, session: Session) -> int:
        """By how many thousandths of a session's bill its saving may be off for what it leaves out."""
        return 0

    def applies(self, session: Session) -> str | None:
        """Why the policy cannot be tried on a session, in words; ``None`` when it can."""
        if self.needs_bodies and session.completeness != "full":
            return "needs bodies: the log tells the sizes of prompts, not what they are made of"
        if self.needs_blocks and session.completeness == "usage":
            return "needs to know the blocks of prompts: the log tells only their sizes"
        if not any(request.prompt is not None for request in session.requests):
            return "needs prompts"
        if self.needs_markers and not has_markers(session):
            return "the provider keeps every prompt by itself and takes no markers"
        return self.unsuited(session)

    def unsuited(self, session: Session) -> str | None:
        """Why a session with prompts gives the policy nothing to do; ``None`` when it does."""
        return None

    def rewrite(self, session: Session) -> Session:
        """The session as it would have been sent. Deterministic; the session given is not changed."""
        raise NotImplementedError

    def resolved(self, session: Session) -> Policy:
        """The policy with what it would look for in a session already found: the same outcome, ready to be named."""
        return self

    def fitted(self, sessions: Sequence[Session]) -> Policy:
        """The policy with the one number that it finds in all these sessions together, where it has one to find."""
        return self

    def wants(self, request: Request) -> bool:
        """Whether the policy may act for this request."""
        return not self.only or request.id in self.only

    @property
    def spec(self) -> str:
        """The policy as a command line names it, with the parameters that differ from their defaults."""
        changed = [
            f"{p.name}={_text(getattr(self, p.name))}"
            for p in parameters(type(self))
            if _text(getattr(self, p.name)) != p.default
        ]
        return self.name + (":" + ",".join(changed) if changed else "")


@cache
def parameters(kind: type[Policy]) -> tuple[Parameter, ...]:
    """The parameters of a policy, in the order in which they are declared."""
    hints = get_type_hints(kind)
    return tuple(
        Parameter(
            name=field.name,
            type=_type_name(hints[field.name]),
            default=_text(field.default),
            choices=_choices(hints[field.name]),
        )
        for field in msgspec.structs.fields(kind)
        if field.name != "only"
    )


def with_parameters(kind: type[Policy], given: Mapping[str, Any]) -> Policy:
    """A policy with these parameters, as values or as text. Raises PolicyError: which parameter, what it may be."""
    known = {parameter.name: parameter for parameter in parameters(kind)}
    for name in given:
        if name not in known:
            _unknown(kind, name, list(known))
    values: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for name, value in given.items():
        try:
            values[name] = msgspec.convert(value, hints[name], strict=False)
        except msgspec.ValidationError:
            parameter = known[name]
            wanted = " or ".join(parameter.choices) or parameter.type
            raise PolicyError(f"{kind.name}: {name} must be {wanted}, not {str(value)[:40]!r}") from None
        if isinstance(values[name], int | float) and values[name] < 0:
            raise PolicyError(f"{kind.name}: {name} must not be negative")
    return kind(**values)


def _unknown(kind: type[Policy], name: str, known: list[str]) -> NoReturn:
    hint = did_you_mean(name, known, f"it has {', '.join(known)}" if known else "it has none")
    raise PolicyError(f"{kind.name} has no parameter {name[:40]!r}; {hint}")


def _type_name(hint: Any) -> str:
    names = {int: "whole number", float: "number", bool: "true or false", str: "text"}
    return names.get(hint, "one of " + ", ".join(_choices(hint)))


def _choices(hint: Any) -> tuple[str, ...]:
    return tuple(str(choice) for choice in get_args(hint)) if get_origin(hint) is not None else ()


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
