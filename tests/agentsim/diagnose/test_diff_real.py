"""Sixty-four recorded requests of a coding agent, with bodies: two of them lose their prefix."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from agentsim.bodies import MessagesReader, ReadBody
from agentsim.diagnose.prompt_diff import cause_of, first_difference

FIRST, BEFORE, SUMMARY, AFTER = 5, 32, 34, 57
"""Rows of the log, from 0: the first of the main thread, the last before the summary, the summary, the first after."""


@pytest.fixture(scope="module")
def bodies(shared_data: Path) -> list[ReadBody]:
    files = sorted((shared_data / "claude-trace").glob("*.jsonl"))
    if not files:
        pytest.skip("no shared data")
    reader, last, found = MessagesReader(), None, []
    for line in files[0].read_bytes().splitlines():
        body = json.dumps(json.loads(line)["request"]["body"]).encode()
        read = reader.read(body, last)
        assert read.prompt == MessagesReader().prompt(body)
        last = read.prompt
        found.append(read)
    return found


def is_main(body: ReadBody) -> bool:
    return body.model == "claude-sonnet-4-20250514"


def test_all_bodies_are_read(bodies):
    assert len(bodies) == 64
    assert sum(map(is_main, bodies)) == 17
    tools, system = bodies[FIRST].prompt.section_end("tools"), bodies[FIRST].prompt.section_end("system")
    assert (tools, system - tools) == (17, 2)
    # the breakpoints: both system blocks, and the last block of the last two messages
    assert [marker.position for marker in bodies[FIRST].prompt.breakpoints[:2]] == [17, 18]
    assert all(len(body.prompt.breakpoints) == 4 for body in bodies[FIRST + 2 : AFTER] if is_main(body))


def test_the_main_thread_grows_but_for_two_rows(bodies):
    main = [index for index, body in enumerate(bodies) if is_main(body)]
    broken = [
        index
        for before, index in pairwise(main)
        if first_difference(bodies[before].prompt, bodies[index].prompt) is not None
    ]
    assert broken == [SUMMARY, AFTER]


def test_the_summary_was_asked_for_with_one_tool_instead_of_seventeen(bodies):
    old, new = bodies[BEFORE].prompt, bodies[SUMMARY].prompt
    assert (old.section_end("tools"), new.section_end("tools")) == (17, 1)
    place = first_difference(old, new)
    assert place is not None
    assert (place.section, place.address, place.change, place.name) == ("tools", "tools[0]", "removed", "Task")
    assert cause_of(place, old, new) == "AS102"


def test_the_history_was_replaced_after_the_compaction(bodies):
    old, new = bodies[BEFORE].prompt, bodies[AFTER].prompt
    place = first_difference(old, new)
    assert place is not None
    assert place.section == "messages"
    assert place.block is not None
    assert place.block >= old.section_end("system")  # tools and system are the same
    assert cause_of(place, old, new) == "AS131"
