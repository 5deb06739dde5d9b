"""Requests that several shards hold: a fork or a resume copies the history it starts from.

A reader counts each request once over the files it is given. Where the files of two shards hold the same request, they
are read together instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentsim.fleet import sweep_folder as folders


def linked_units(folder: str, keys: Iterable[str]) -> list[list[str]]:
    """Names of units in different shards that count the same request, in sets; sorted."""
    import numpy as np

    table = folders.read(folder, "ids", keys)
    if table is None or not len(table):
        return []
    encoded = table["unit"].combine_chunks().dictionary_encode()
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    names: list[str] = encoded.dictionary.to_pylist()
    units = encoded.indices.to_numpy()
    ids = table["id"].to_numpy()
    order = np.lexsort((units, ids))
    ids, units = ids[order], units[order]
    again = (ids[1:] == ids[:-1]) & (units[1:] != units[:-1])
    pairs = {(names[one], names[other]) for one, other in zip(units[:-1][again], units[1:][again], strict=True)}
    return join(sorted(pairs))


def join(groups: Iterable[Sequence[str]]) -> list[list[str]]:
    """Sets that share a name made one; each sorted, and all of them."""
    root: dict[str, str] = {}

    def top(name: str) -> str:
        while root.setdefault(name, name) != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for group in groups:
        for name in group:
            one, other = sorted((top(group[0]), top(name)))
            root[other] = one
    sets: dict[str, list[str]] = {}
    for name in root:
        sets.setdefault(top(name), []).append(name)
    return sorted(sorted(members) for members in sets.values())
