"""One conversation as its harness holds it: the prompt so far, what is about to be appended, where breakpoints go."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from agentsim.core.prompt import DIGEST_SIZE, Block, Breakpoint, Prompt, Section
from agentsim.harness.plan import Mark, PromptLayout
from agentsim.harness.prompt_part import PromptPart


def digest_of(kind: str, content: str, tokens: int) -> bytes:
    """The digest of content that is known by a name: the same name and size are the same bytes."""
    return blake2b(f"{kind}\0{content}\0{tokens}".encode(), digest_size=DIGEST_SIZE).digest()


def block_of(
    section: Section,
    kind: str,
    content: str,
    tokens: int,
    *,
    role: str | None = None,
    name: str | None = None,
    message: int | None = None,
    part: int | None = None,
) -> Block:
    """A block whose content is known by a name: the same name and size are the same bytes."""
    return Block(
        section=section,
        kind=kind,
        digest=digest_of(kind, content, tokens),
        role=role,
        tokens=tokens,
        origin="measured",
        name=name,
        message=message,
        part=part,
    )


class ConversationThread:
    """A lane's conversation. Mutable; the prompts it hands out are not."""

    __slots__ = (
        "_front",
        "_front_places",
        "_keys",
        "_last_mark",
        "_message",
        "_part",
        "_pending",
        "_role",
        "_serial",
        "lane",
        "marks",
        "model",
        "parent",
        "project_end",
        "prompt",
        "results",
        "settings",
        "shared_end",
        "system_end",
        "tools_end",
        "ttl",
        "version",
    )

    def __init__(self, lane: str, model: str, marks: Sequence[Mark], ttl: int) -> None:
        self.lane = lane
        self.model = model
        self.marks = frozenset(marks)
        self.ttl = ttl
        self.settings: tuple[tuple[str, str], ...] = ()
        self.version: str | None = None
        self.parent: str | None = None
        self.prompt = Prompt.of(())
        self.tools_end = self.system_end = self.project_end = 0
        self.shared_end: int | None = None
        self.results: list[int] = []
        """Positions of tool results that still hold their content, in order."""
        self._pending: list[Block] = []
        self._message = -1
        self._part = 0
        self._role: str | None = None
        self._serial = 0
        self._keys: dict[str, bytes] = {}
        self._last_mark: int | None = None
        self._front: tuple[Breakpoint, ...] = ()
        self._front_places: tuple[int, int, int, int | None] | None = None

    def open(self, layout: PromptLayout) -> None:
        """Begin the conversation with what stands in front of it."""
        tools = [
            block_of("tools", "tool", t.name, t.tokens, name=t.name, message=i) for i, t in enumerate(layout.tools)
        ]
        system = [
            block_of("system", "text", s.name, s.tokens, name=s.name, message=i) for i, s in enumerate(layout.system)
        ]
        self.tools_end = len(tools)
        self.system_end = self.project_end = len(tools) + len(system)
        self.prompt = Prompt.of([*tools, *system])
        for part in layout.project:
            self.share("user", part)
        self.flush()
        self.project_end = len(self.prompt)

    def fork(self, lane: str, ttl: int) -> ConversationThread:
        """A conversation that goes on from where this one stands, on its own."""
        child = ConversationThread(lane, self.model, (), ttl)
        child.marks = self.marks
        self.flush()
        child.settings, child.version, child.parent = self.settings, self.version, self.parent
        child.prompt = self.prompt
        child.tools_end, child.system_end, child.project_end = self.tools_end, self.system_end, self.project_end
        child.results = list(self.results)
        child._message, child._part, child._role = self._message, self._part, self._role
        child._last_mark = self._last_mark
        return child

    def append(self, role: str, kind: str, tokens: int, name: str | None = None) -> None:
        """Append a block that nobody else has."""
        self._serial += 1
        key = self._keys.get(kind)
        if key is None:
            key = self._keys[kind] = blake2b(f"{kind}\0{self.lane}".encode(), digest_size=DIGEST_SIZE // 2).digest()
        # Told apart by lane, kind, number and size. Hashing these for each block would cost more than all the rest.
        self._put(
            role, kind, key + (self._serial << 32 | tokens & 0xFFFFFFFF).to_bytes(DIGEST_SIZE // 2, "big"), tokens, name
        )

    def share(self, role: str, part: PromptPart) -> None:
        """Append a block whose content others may have too."""
        self._put(role, "text", digest_of("text", part.name, part.tokens), part.tokens, part.name)

    def _put(self, role: str, kind: str, digest: bytes, tokens: int, name: str | None) -> None:
        if role == self._role:
            self._part += 1
        else:
            self._role = role
            self._message += 1
            self._part = 0
        if kind == "tool_result":
            self.results.append(len(self.prompt) + len(self._pending))
        self._pending.append(
            Block(
                section="messages",
                kind=kind,
                digest=digest,
                role=role,
                tokens=tokens,
                origin="measured",
                name=name,
                message=self._message,
                part=self._part,
            )
        )

    def mark_shared(self) -> None:
        """Let a breakpoint of its own stand at the end of what was appended so far."""
        self.flush()
        self.shared_end = len(self.prompt)

    def flush(self) -> None:
        """Take what was appended into the prompt."""
        if self._pending:
            self.prompt = self.prompt.extend(self._pending, ())
            self._pending = []

    def request_prompt(self) -> Prompt:
        """The prompt of the next request, with its breakpoints."""
        pending, self._pending = self._pending, []
        last = len(self.prompt) + len(pending) - 1
        self.prompt = self.prompt.extend(pending, self.breakpoints(last))
        self._last_mark = last
        return self.prompt

    def breakpoints(self, last: int) -> tuple[Breakpoint, ...]:
        """The breakpoints of a prompt that ends with the block ``last``."""
        if not self.ttl or last < 0:
            return ()
        places = (self.tools_end, self.system_end, self.project_end, self.shared_end)
        if places != self._front_places:
            self._front_places = places
            self._front = self._front_breakpoints()
        previous = self._last_mark if "previous" in self.marks else None
        if previous is None and (not self._front or self._front[-1].position < last):
            return (*self._front, Breakpoint(last, self.ttl)) if "last" in self.marks else self._front
        known = {marker.position for marker in self._front}
        if previous is not None and previous < last:
            known.add(previous)
        if "last" in self.marks:
            known.add(last)
        return tuple(Breakpoint(place, self.ttl) for place in sorted(known) if place <= last)

    def _front_breakpoints(self) -> tuple[Breakpoint, ...]:
        """Those that do not move while the conversation grows."""
        places = set()
        if "tools" in self.marks and self.tools_end:
            places.add(self.tools_end - 1)
        if "system" in self.marks and self.system_end:
            places.add(self.system_end - 1)
        if "project" in self.marks and self.project_end > self.system_end:
            places.add(self.project_end - 1)
        if self.shared_end is not None:
            places.add(self.shared_end - 1)
        # Sorted: two marks may name the same block, and no order may come from a set.
        return tuple(Breakpoint(place, self.ttl) for place in sorted(places))

    def insert(self, section: Section, part: PromptPart, position: int) -> None:
        """Put a block into the tools or the system prompt at a position of the prompt; all behind it moves."""
        kind = "tool" if section == "tools" else "text"
        self.replace_front(position, [block_of(section, kind, part.name, part.tokens, name=part.name)], 0)
        if section == "tools":
            self.tools_end += 1
        self.system_end += 1
        self.project_end += 1

    def remove(self, position: int) -> None:
        """Take the block at a position out of the tools or the system prompt."""
        section = self.prompt[position].section
        self.replace_front(position, [], 1)
        if section == "tools":
            self.tools_end -= 1
        self.system_end -= 1
        self.project_end -= 1

    def replace_front(self, position: int, blocks: Sequence[Block], gone: int) -> None:
        """Replace ``gone`` blocks at a position by others; what is behind them stays behind them."""
        self.flush()
        behind = [self.prompt[index] for index in range(position + gone, len(self.prompt))]
        moved = len(blocks) - gone
        renumbered = [_at(index + position, block) for index, block in enumerate([*blocks, *behind])]
        self.prompt = self.prompt.replace_after(position, renumbered)
        self.results = [at + moved if at >= position else at for at in self.results]
        if self._last_mark is not None and self._last_mark >= position:
            self._last_mark += moved
        if self.shared_end is not None and self.shared_end > position:
            self.shared_end += moved

    def clear(self, positions: Sequence[int], stub: int) -> None:
        """Replace tool results by a stub. The prompt changes from the first of them on."""
        self.flush()
        chosen = frozenset(positions)
        first = min(chosen)
        blocks = []
        for index in range(first, len(self.prompt)):
            block = self.prompt[index]
            if index in chosen:
                old = block
                block = block_of(
                    "messages", "tool_result", "cleared", stub, role=old.role, message=old.message, part=old.part
                )
            blocks.append(block)
        self.prompt = self.prompt.replace_after(first, blocks)
        self.results = [at for at in self.results if at not in chosen]

    def summarise(self, summary: int, keep_from: int) -> None:
        """Replace the history up to block ``keep_from`` by a summary of so many tokens."""
        self.flush()
        whole = frozenset(self.results)
        kept = [
            (self.prompt[index], index in whole) for index in range(max(keep_from, self.project_end), len(self.prompt))
        ]
        self.prompt = self.prompt.replace_after(self.project_end, ())
        front = self.prompt[self.project_end - 1] if self.project_end else None
        inside = front is not None and front.section == "messages"
        self._message = (front.message or 0) if inside and front is not None else -1
        self._part = (front.part or 0) if inside and front is not None else 0
        self._role = front.role if inside and front is not None else None
        self.results = []
        self._last_mark = None
        self.append("user", "text", summary, "summary")
        for block, has_content in kept:
            self._keep(block, has_content)
        self.flush()

    def _keep(self, block: Block, has_content: bool) -> None:
        if block.role == self._role:
            self._part += 1
        else:
            self._role = block.role
            self._message += 1
            self._part = 0
        if has_content:
            self.results.append(len(self.prompt) + len(self._pending))
        self._pending.append(
            Block(
                section="messages",
                kind=block.kind,
                digest=block.digest,
                role=block.role,
                tokens=block.tokens,
                origin=block.origin,
                name=block.name,
                message=self._message,
                part=self._part,
            )
        )

    @property
    def awaits_answer(self) -> bool:
        """Whether the model was told something that it has not answered."""
        return self._serial > 0 and self._role != "assistant"

    @property
    def tokens(self) -> int:
        """Tokens of the next prompt."""
        return self.prompt.tokens + sum(block.tokens or 0 for block in self._pending)


def _at(index: int, block: Block) -> Block:
    """A block of the tools or the system prompt with its new index; others unchanged."""
    if block.section == "messages" or block.message == index:
        return block
    return Block(
        section=block.section,
        kind=block.kind,
        digest=block.digest,
        role=block.role,
        tokens=block.tokens,
        origin=block.origin,
        name=block.name,
        message=index if block.section == "tools" else block.message,
        part=block.part,
    )
