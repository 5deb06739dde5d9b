"""Serving traces as large as wanted, in the shape of Mooncake's: conversations that grow, and one prefix for all."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

BLOCK = 512


def write(path: Path, requests: int, blocks: int) -> int:
    """Write a trace with so many requests of about so many blocks each; how many block events it holds.

    Half of the requests go on with an earlier conversation: its blocks, and a few of their own. The same arguments give
    the same bytes.
    """
    random = Random(f"{requests} {blocks}")
    conversations: list[list[int]] = []
    fresh = 1
    events = 0
    with path.open("w", encoding="ascii") as file:
        for number in range(requests):
            if conversations and random.random() < 0.5:
                at = len(conversations) - 1 - min(int(random.expovariate(1 / 200)), len(conversations) - 1)
                before, grown = conversations[at], random.randint(1, 2 + blocks // 4)
            else:
                at, before, grown = len(conversations), [0], 1 + int(random.expovariate(1 / (0.75 * blocks)))
                conversations.append(before)
            ids = [*before, *range(fresh, fresh + grown)]
            fresh += grown
            conversations[at] = ids[:-1]  # a partial block is another one once it is full
            events += len(ids)
            row = {"timestamp": number * 150, "input_length": len(ids) * BLOCK - random.randrange(BLOCK)}
            file.write(json.dumps({**row, "output_length": random.randint(1, 900), "hash_ids": ids}) + "\n")
    return events
