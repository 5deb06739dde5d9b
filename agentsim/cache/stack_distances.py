"""Every capacity of a least recently used prefix cache at once: the distances of a stack instead of a cache.

Of all prefixes ever seen, a cache of any size holds those used last. So it is enough to know, for each block of a
prompt, how many tokens were used since its own last use: a cache of at least so many tokens still has it (Mattson,
Gecsei, Slutz, Traiger: Evaluation techniques for storage hierarchies, IBM Systems Journal 9, 1970). A request uses its
whole path through the tree of prefixes, its beginning last, so that the distance only grows along a path.

The blocks that a request was the last to use are the end of its path. The tree is kept in runs of blocks that were last
used by the same request: a request then meets few runs, however long its prompt is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from typing import NamedTuple

Key = Hashable
"""The identity of a block among those that follow the same blocks."""


class BlockRun(NamedTuple):
    """Blocks at the front of a prompt that were seen before, side by side and last used together.

    ``below`` is how many tokens were used since the block before them was last used, counting that one; ``begin`` and
    ``ends`` are the tokens of the prompt before them and up to each of them.
    """

    below: int
    begin: int
    ends: list[int]


class _Edge:
    """A run of blocks in the tree of prefixes."""

    __slots__ = ("begin", "children", "ends", "keys", "user")

    def __init__(self, keys: list[Key], begin: int, ends: list[int], user: int) -> None:
        self.keys = keys
        self.begin = begin
        self.ends = ends
        self.user = user
        self.children: dict[Key, _Edge] = {}


class PrefixStack:
    """The tree of all prefixes seen, and who used each part of it last. Mutable.

    ``page`` is how many tokens a cache keeps together: a page that a block does not fill counts with the next block.
    """

    def __init__(self, page: int = 1) -> None:
        if page < 1:
            raise ValueError("a page holds at least one token")
        self.page = page
        self._roots: dict[Key, dict[Key, _Edge]] = {}
        self._kept_from: list[int] = []
        """For each request, the tokens of its prompt that later requests have used again."""
        self._sums = [0]
        """A Fenwick tree of the tokens that each request was the last to use."""
        self.tokens = 0
        """Tokens of all blocks seen: the room that a cache without end has filled."""

    def use(self, keys: list[Key], ends: list[int], space: Key = "") -> list[BlockRun]:
        """Take a prompt in, and say which of its blocks were seen before, and how long ago.

        ``keys`` name its blocks and ``ends`` are the tokens up to each of them. Prompts of different ``space`` (models,
        tenants) share no prefix, but the same room. Costs little more than a comparison of the keys.
        """
        path = self._walk(keys, self._roots.setdefault(space, {}))
        runs = self._distances(path)
        self._take(path, keys, ends, space)
        return runs

    def _walk(self, keys: list[Key], children: dict[Key, _Edge]) -> list[_Edge]:
        path: list[_Edge] = []
        at, length = 0, len(keys)
        while at < length:
            edge = children.get(keys[at])
            if edge is None:
                break
            size = len(edge.keys)
            if size > 1 and edge.keys != keys[at : at + size]:
                same = _same(edge.keys, keys, at)
                self._split(edge, same)
                path.append(edge)
                break
            path.append(edge)
            children = edge.children
            at += size
        return path

    @staticmethod
    def _split(edge: _Edge, size: int) -> None:
        """Leave the first blocks in the run, and hang the others below it."""
        below = _Edge(edge.keys[size:], edge.ends[size - 1], edge.ends[size:], edge.user)
        below.children = edge.children
        edge.keys, edge.ends = edge.keys[:size], edge.ends[:size]
        edge.children = {below.keys[0]: below}

    def _distances(self, path: list[_Edge]) -> list[BlockRun]:
        page, newest = self.page, len(self._kept_from) - 1
        runs: list[BlockRun] = []
        user, later = -1, 0
        for edge in path:
            if edge.user != user:
                user = edge.user
                later = 0 if user == newest else self.tokens - self._sum(user)
            begin = edge.begin
            runs.append(BlockRun(later + begin - begin % page - self._kept_from[user], begin, edge.ends))
        return runs

    def _take(self, path: list[_Edge], keys: list[Key], ends: list[int], space: Key) -> None:
        page, me = self.page, len(self._kept_from)
        used, at = 0, 0
        user, given = -1, 0
        for edge in path:
            end = edge.ends[-1]
            whole = end - end % page
            if edge.user != user:
                if given:
                    self._add(user, -given)
                user, given = edge.user, 0
            given += whole - self._kept_from[user]
            self._kept_from[user] = whole
            edge.user = me
            used = whole
            at += len(edge.keys)
        if given:
            self._add(user, -given)
        last = self._join(path)
        whole = ends[-1] - ends[-1] % page if ends else 0
        if at < len(keys):
            if last is not None and not last.children:
                last.keys += keys[at:]
                last.ends = last.ends + ends[at:]  # a new list: a Run may hold the old one
            else:
                children = self._roots[space] if last is None else last.children
                children[keys[at]] = _Edge(keys[at:], ends[at - 1] if at else 0, ends[at:], me)
            self.tokens += whole - used
        self._kept_from.append(0)
        self._append(whole)

    @staticmethod
    def _join(path: list[_Edge]) -> _Edge | None:
        """Make one run of those that were now used together and have nothing else between them; the last one."""
        last: _Edge | None = None
        for edge in path:
            if last is not None and len(last.children) == 1:
                last.keys += edge.keys
                last.ends = last.ends + edge.ends
                last.children = edge.children
            else:
                last = edge
        return last

    def _add(self, user: int, tokens: int) -> None:
        sums, at = self._sums, user + 1
        size = len(sums)
        while at < size:
            sums[at] += tokens
            at += at & -at

    def _sum(self, user: int) -> int:
        """The tokens last used by this request and those before it."""
        sums, at, total = self._sums, user + 1, 0
        while at:
            total += sums[at]
            at &= at - 1
        return total

    def _append(self, tokens: int) -> None:
        sums = self._sums
        at = len(sums)
        step, least = 1, at & -at
        while step < least:
            tokens += sums[at - step]
            step <<= 1
        sums.append(tokens)


def reaches(runs: Sequence[BlockRun], capacities: Sequence[int], page: int = 1) -> list[int]:
    """The tokens of a prompt whose blocks a cache of each capacity still has, and at last those of one without end.

    ``capacities`` are in tokens and in order, the smallest first.
    """
    found: list[int] = []
    count = len(capacities)
    end = 0
    for below, begin, ends in runs:
        end = ends[-1]
        before = below - begin + begin % page
        while len(found) < count and capacities[len(found)] < before + end - end % page:
            room = capacities[len(found)] - before
            at = bisect_right(ends, room - room % page + page - 1) if room > begin else 0
            found.append(ends[at - 1] if at else begin)
        if len(found) == count:
            end = runs[-1].ends[-1]
            break
    found += [end] * (count + 1 - len(found))
    return found


def _same(run: list[Key], keys: list[Key], at: int) -> int:
    """How many leading keys of a run stand in ``keys`` as well; the first does, and not all of them do."""
    low, high = 1, min(len(run), len(keys) - at)
    while low < high:
        middle = (low + high + 1) // 2
        if run[low:middle] == keys[at + low : at + middle]:
            low = middle
        else:
            high = middle - 1
    return low
