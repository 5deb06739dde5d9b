"""What is done about tools that come, go, or change places; blocks that are joined; choices that are forced."""

from __future__ import annotations

import pytest

from agentsim.core.session import Session
from agentsim.whatif.policies import parse
from tests.agentsim.whatif.policies.small import block, request, saves, session, split, tool, under

SYSTEM = block("you are an agent", 1_800, "system")
TASK = block("task", 7_000)
READ, EDIT, QUERY = tool("read", 600), tool("edit", 600), tool("query", 400)


def changing(*lists: list) -> Session:
    """One request for each list of tools, 60 s apart; each adds a call and its result of 500 tokens."""
    history = [TASK]
    requests = []
    for number, tools in enumerate(lists, 1):
        if number > 1:
            history += [block(f"call {number}", 100, role="assistant"), block(f"result {number}", 400)]
        marks = (len(tools), -1)
        requests.append(request(f"r{number}", 60 * number, [*tools, SYSTEM, *history], marks))
    return session(*requests)


def test_a_tool_that_comes_later_is_appended() -> None:
    given = changing([READ, EDIT], [READ, QUERY, EDIT], [READ, QUERY, EDIT])
    assert split(given) == [("r1", 10_000, 0, 0), ("r2", 10_900, 0, 0), ("r3", 500, 10_900, 0)]
    assert split(under(given, "deferred-tools")) == [
        ("r1", 10_000, 0, 0),
        ("r2", 900, 10_000, 0),
        ("r3", 500, 10_900, 0),
    ]
    sections = [b.section for b in under(given, "deferred-tools").requests[2].prompt or ()]
    # Scaffold and two tools, system, task, call and result, the late tool, call and result.
    assert sections == ["tools"] * 3 + ["system"] + ["messages"] * 6


def test_a_tool_that_goes_stays_defined() -> None:
    given = changing([READ, QUERY, EDIT], [READ, EDIT])
    assert split(given)[1] == ("r2", 10_500, 0, 0)
    assert split(under(given, "deferred-tools"))[1] == ("r2", 500, 10_400, 0)


def test_a_tool_that_comes_back_is_known() -> None:
    given = under(changing([READ, EDIT], [READ, QUERY, EDIT], [READ, EDIT], [READ, QUERY, EDIT]), "deferred-tools")
    assert [row[1:3] for row in split(given)] == [(10_000, 0), (900, 10_000), (500, 10_900), (500, 11_400)]


def test_lanes_with_tools_of_their_own_keep_them() -> None:
    main = changing([READ, EDIT], [READ, QUERY, EDIT])
    child = request("c1", 130, [tool("grep", 2_000), SYSTEM, block("child", 900)], (1, -1), lane="c", parent="r2")
    given = under(session(*main.requests, child), "deferred-tools")
    assert [b.name for b in given.requests[-1].prompt or ()][1:] == ["grep", "you are an agent", "child"]


def test_tools_that_never_change() -> None:
    given = changing([READ, EDIT], [READ, EDIT])
    assert parse("deferred-tools").applies(given) == "the tools of no lane change"
    assert parse("tool-order").applies(given) == "the tools keep their order already"


def test_one_order_of_tools() -> None:
    given = changing([READ, EDIT], [EDIT, READ], [READ, EDIT])
    # The third finds the first one's entry again, and 1,000 tokens were added since.
    assert [row[1:3] for row in split(given)] == [(10_000, 0), (10_500, 0), (1_000, 10_000)]
    assert [row[1:3] for row in split(under(given, "tool-order"))] == [(10_000, 0), (500, 10_000), (500, 10_500)]
    # New tools come last.
    later = under(changing([READ, EDIT], [QUERY, READ, EDIT]), "tool-order")
    assert [b.name for b in later.requests[1].prompt or ()][:3] == ["read", "edit", "query"]


def test_fixed_entries_never_change() -> None:
    given = under(changing([READ, EDIT], [READ, QUERY, EDIT]), "fixed-entries:searches=false")
    # Two entries of 150 instead of 1,200 tokens; nothing is called by its name.
    assert [row[1:3] for row in split(given)] == [(9_100, 0), (500, 9_100)]


def test_a_search_is_a_request_of_its_own() -> None:
    tools = [READ, EDIT]
    call = block("read", 100, kind="tool_use", role="assistant")
    given = session(
        request("r1", 0, [*tools, SYSTEM, TASK], (2, -1)),
        request("r2", 60, [*tools, SYSTEM, TASK, call, block("result", 400)], (2, -1)),
    )
    # The search reads 9,100 and writes its call of 60 and the definition of 600.
    assert split(under(given, "fixed-entries")) == [
        ("r1", 9_100, 0, 0),
        ("r2/search", 660, 9_100, 0),
        ("r2", 500, 9_760, 0),
    ]


def many(count: int, *, marked_inside: bool = False) -> Session:
    start = [READ, SYSTEM, TASK]
    files = [block(f"file {n}", 400, message=1, part=n) for n in range(count)]
    marks = (1, 10, -1) if marked_inside else (1, -1)
    return session(
        request("r1", 0, start, (1, -1)),
        request("r2", 60, [*start, *files], marks),
        request("r3", 120, [*start, *files, block("reply", 100, role="assistant")], (1, -1)),
    )


def test_many_files_become_one_block() -> None:
    given = under(many(24), "combine-blocks")
    assert [len(r.prompt or ()) for r in given.requests] == [3, 4, 5]
    assert [row[1:3] for row in split(given)] == [(9_400, 0), (9_600, 9_400), (100, 19_000)]
    prompt = given.requests[1].prompt
    assert prompt is not None
    joined = prompt[3]
    assert joined.tokens == 9_600
    assert joined.text is not None
    assert joined.text.split("\n") == [f"file {n}" for n in range(24)]


def test_few_files_are_left_alone() -> None:
    assert parse("combine-blocks").applies(many(19)) is not None
    assert parse("combine-blocks:least=10").applies(many(19)) is None


def test_a_marker_between_files_stays_where_it_is() -> None:
    given = under(many(24, marked_inside=True), "combine-blocks")
    prompt = given.requests[1].prompt
    assert prompt is not None
    # Position 10 is the eighth file: eight before and with it, sixteen behind.
    assert [b.tokens for b in prompt][3:] == [3_200, 6_400]
    assert [m.position for m in prompt.breakpoints] == [1, 3, 4]


FORCED = (("tool_choice", '{"name":"submit","type":"tool"}'),)


def forced() -> Session:
    start = [READ, SYSTEM, TASK]
    more = [*start, block("result", 500)]
    return session(
        request("r1", 0, start, (1, -1)),
        request("r2", 60, more, (1, -1), settings=FORCED, output=50),
        request("r3", 120, [*more, block("next", 500)], (1, -1)),
    )


def test_a_forced_tool_cannot_read_the_messages() -> None:
    assert [row[1:3] for row in split(forced())] == [(9_400, 0), (7_500, 2_400), (1_000, 9_400)]


def test_a_free_choice_reads_them() -> None:
    assert [row[1:3] for row in split(under(forced(), "free-tool-choice"))] == [(9_400, 0), (500, 9_400), (500, 9_900)]


def test_a_refusal_costs_a_forced_request() -> None:
    given = under(forced(), "free-tool-choice:then=retry")
    assert split(given) == [
        ("r1", 9_400, 0, 0),
        ("r2", 500, 9_400, 0),
        ("r2/forced", 7_500, 2_400, 0),
        ("r3", 500, 9_900, 0),
    ]
    retry = given.requests[2]
    assert retry.purpose == "retry"
    assert retry.settings == FORCED
    assert retry.start == given.requests[1].end
    assert retry.usage is not None
    assert retry.usage.output == 50  # answered twice, paid twice


@pytest.mark.parametrize("value", ['{"type":"auto"}', '{"type":"none"}'])
def test_only_forced_choices_are_freed(value: str) -> None:
    given = session(request("r1", 0, [READ, SYSTEM, TASK], settings=(("tool_choice", value),)))
    assert parse("free-tool-choice").applies(given) == "no request forces a tool"


def test_pinned_settings() -> None:
    start = [READ, SYSTEM, TASK]

    def turns(*settings: tuple[tuple[str, str], ...], models=("claude-opus-4-8",) * 3) -> Session:
        return session(
            *(
                request(
                    f"r{n}", 60 * n, [*start, *(block(f"m{i}", 500) for i in range(n))], (1, -1), settings=s, model=m
                )
                for n, (s, m) in enumerate(zip(settings, models, strict=True))
            )
        )

    low, high = (("effort", '"low"'),), ()
    given = turns(high, low, high)
    assert [row[1:3] for row in split(given)] == [(9_400, 0), (7_500, 2_400), (1_000, 9_400)]
    assert [row[1:3] for row in split(under(given, "pin-effort"))] == [(9_400, 0), (500, 9_400), (500, 9_900)]
    assert under(given, "pin-effort").requests[1].settings == ()
    assert parse("pin-thinking").applies(given) == "the thinking of no lane changes"

    thinking = (("thinking", '{"type":"adaptive"}'),)
    assert saves(turns((), thinking, ()), "pin-thinking") == saves(given, "pin-effort")

    other = turns((), (), (), models=("claude-opus-4-8", "claude-sonnet-4-5", "claude-opus-4-8"))
    assert [row[2] for row in split(other)] == [0, 0, 9_400]
    assert [row[2] for row in split(under(other, "pin-model"))] == [0, 9_400, 9_900]


def test_a_marker_on_the_last_tool_stays_behind_the_last_tool() -> None:
    lists = [READ, EDIT], [EDIT, READ]
    given = session(*(request(f"r{n}", 60 * n, [*tools, SYSTEM, TASK], (1, -1)) for n, tools in enumerate(lists)))
    rewritten = under(given, "tool-order").requests[1].prompt
    assert rewritten is not None
    assert [b.name for b in rewritten][:2] == ["read", "edit"]
    assert [m.position for m in rewritten.breakpoints] == [1, 3]
