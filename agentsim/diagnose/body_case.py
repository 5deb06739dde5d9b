"""A loss with bodies on an automatic cache as a case: the two prompts, what was read, and what could have been."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Prompt
from agentsim.core.session import Request
from agentsim.core.verdict import Divergence, Verdict
from agentsim.diagnose.disputed_minimum import too_short_by_another
from agentsim.diagnose.host_change import went_elsewhere
from agentsim.diagnose.kept_content import is_replaced
from agentsim.diagnose.prompt_diff import cause_of
from agentsim.diagnose.read_steps import known_step
from agentsim.diagnose.relax_causes import LATE_READABLE
from agentsim.diagnose.relax_facts import SETTING_CAUSES, differing_settings
from agentsim.diagnose.row_reach import TURN
from agentsim.rules.providers import ProviderRules


class JudgedRequest:
    """A request that was judged: its prompt, what it took in all, and when it could be read from and was last used."""

    def __init__(self, request: Request, prompt: Prompt, total: int, now: int) -> None:
        self.request = request
        self.prompt = prompt
        self.total = total
        self.now = now
        self.read = 0
        self.before: JudgedRequest | None = None
        self.verdict: Verdict | None = None
        first, end = request.first_token, request.end
        self.readable = now if first is None or request.start is None else first - request.start + now
        self.end = self.readable if end is None or request.start is None else end - request.start + now


class BodyCase:
    """One loss: the request, the one it is held against, the first ``common`` blocks that they share, and where they
    part (``None``: nowhere).

    ``read`` is what was read, ``predicted`` what the model of the cache says, ``front`` what could be read of the part
    that is the same, in whole steps; ``edge`` counts the text in front of an edit within its block, too.
    """

    def __init__(
        self,
        this: JudgedRequest,
        parent: JudgedRequest,
        common: int,
        place: Divergence | None,
        predicted: int,
        rules: ProviderRules,
        *,
        earlier: Iterable[JudgedRequest] = (),
        front: int | None = None,
    ) -> None:
        self.this = this
        self.parent = parent
        self.common = common
        self.place = place
        self.read = this.read
        self.predicted = predicted
        self.rules = rules
        self.near = near_to(this.request, rules)
        self._earlier = earlier
        same = parent.prompt.tokens_until(common) if place is not None else parent.total
        self.front = whole(same, rules) if front is None else front
        # Text in front of an edit within its block was sent before too, and such a cache does not end at blocks.
        self.edge = self.front if place is None else whole(same + _inside(place, parent), rules)

    @cached_property
    def code(self) -> str | None:
        """The code of the first difference; ``None`` where there is none."""
        if self.place is None:
            return None
        old, new = self.parent, self.this
        if is_replaced(self.common, old.prompt, new.prompt, old.total, new.total):
            return "AS131"
        return cause_of(self.place, old.prompt, new.prompt)

    @cached_property
    def reach(self) -> int:
        """The least that can be read of what is the same: no stored unit may end there yet."""
        return min(self.front, self.predicted) if self.rules.matching == "unit" else self.front

    @cached_property
    def moved(self) -> tuple[str, ...]:
        """Sentences on another account or host; none where it was the same one or is not known."""
        return went_elsewhere(self.parent.request, self.parent.now, self.this.request, self.this.now)

    @cached_property
    def known_there(self) -> int:
        """What could be read at the account and host that answered: of what it was sent before."""
        request = self.this.request
        return max(
            (
                whole(min(one.total, one.prompt.tokens_until(one.prompt.common_length(self.this.prompt))), self.rules)
                for one in self._earlier
                if (one.request.host, one.request.account) == (request.host, request.account)
                and one.request.model == request.model
            ),
            default=0,
        )

    @cached_property
    def keyed(self) -> tuple[str, ...]:
        """The settings that changed and are part of the key by the rules."""
        found = differing_settings(self.parent.request, self.this.request, self.rules)
        return tuple(name for name, _, _ in found)

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """All settings that changed, those among them of which no rules tell anything."""
        found = differing_settings(self.parent.request, self.this.request, self.rules, unknown=True)
        return tuple(name for name, _, _ in found)

    @staticmethod
    def code_of_setting(name: str) -> str:
        """The code of the change of a setting."""
        return SETTING_CAUSES.get(name, "AS407")

    @cached_property
    def disputed(self) -> str | None:
        """What another reading of the provider's minimum says on a front of which nothing was read."""
        return None if self.read else too_short_by_another(self.rules, self.front)

    @cached_property
    def unrouted(self) -> tuple[str, str] | None:
        """A sentence on a request that did not say where its conversation is known, where its provider asks for that,
        and the cure; ``None`` where it did, where something else changed, or where no headers were recorded."""
        settings, header = dict(self.this.request.settings), self.rules.route_header
        if self.place is not None or not header or settings.get("route_header") != "false":
            return None
        if "prompt_cache_key" in settings:
            return None
        sentence = f"It carries no {header}, by which the provider finds the machine that has a conversation's prefix."
        return sentence, f"Send {header} with every request, one value for a conversation."

    @property
    def idle(self) -> int:
        """Seconds since the last use of the entry."""
        return (self.this.now - self.parent.now) // SECOND

    @property
    def behind(self) -> int:
        """Tokens of what was cached that stand behind the part that is the same."""
        return self.parent.total - self.front

    @property
    def since_answer(self) -> int:
        """Nanoseconds since the answer to the request before had ended; below zero while it had not."""
        return self.this.now - self.parent.end

    @property
    def young(self) -> bool:
        """Whether the same prefix was asked for so soon that it may not have been readable yet."""
        return self.place is None and self.since_answer <= self._late

    @property
    def _late(self) -> int:
        return max(self.rules.readable_doubt, LATE_READABLE) * SECOND

    def newest_not_found(self) -> bool:
        """Whether the read is all that was there before requests which had only just been answered."""
        if not self.young or not (self.read or self.since_answer <= LATE_READABLE * SECOND):
            return False
        older: JudgedRequest | None = self.parent
        while older is not None and self.this.now - older.end <= self._late:
            older = older.before
            left = 0
            if older is not None:
                common = older.prompt.common_length(self.this.prompt)
                left = whole(min(older.total, older.prompt.tokens_until(common)), self.rules)
            if abs(self.read - left) <= self.near:
                return True
        return False

    def ends_at_thinking(self) -> bool:
        """Whether words of a user came, and the read ends where thinking stands that was sent before."""
        old, new = self.parent.prompt, self.this.prompt
        came = (new[at] for at in range(len(old), len(new)))
        if not any(block.kind == "text" and block.role == "user" for block in came):
            return False
        ends = (old.tokens_until(at) for at in range(len(old)) if old[at].kind == "thinking")
        return any(abs(end - self.read) <= self.near for end in ends)


def near_to(request: Request, rules: ProviderRules) -> int:
    """How far a read may end from a place and still reach it: a step of the provider's, and what stands around it."""
    return max(rules.quantum, known_step(request.provider, request.model, request.start)) + TURN


def whole(tokens: int, rules: ProviderRules) -> int:
    """What can be read of so many tokens."""
    return tokens - tokens % rules.quantum if tokens >= rules.minimum else 0


def _inside(place: Divergence, parent: JudgedRequest) -> int:
    """Tokens of the block that differs in front of its first differing character, in proportion to its text."""
    block = parent.prompt[place.block] if place.block is not None and place.block < len(parent.prompt) else None
    if block is None or not place.offset or not block.text:
        return 0
    return (block.tokens or 0) * min(place.offset, len(block.text)) // len(block.text)
