"""The conversation a harness holds: positions, messages and breakpoints after each kind of change."""

from agentsim.core.prompt import Prompt
from agentsim.harness.conversation_thread import ConversationThread
from agentsim.harness.plan import Mark, PromptLayout
from agentsim.harness.prompt_part import PromptPart

LAYOUT = PromptLayout(
    tools=(PromptPart("read", 10), PromptPart("edit", 20)),
    system=(PromptPart("who", 30), PromptPart("how", 40)),
    project=(PromptPart("notes", 50),),
)


def thread(*marks: Mark, ttl: int = 300) -> ConversationThread:
    made = ConversationThread("main", "model", marks or ("system", "last"), ttl)
    made.open(LAYOUT)
    return made


def names(prompt: Prompt) -> list[str | None]:
    return [block.name for block in prompt]


def ends(prompt: Prompt) -> list[int]:
    """Tokens up to each breakpoint."""
    return [prompt.tokens_until(marker.position + 1) for marker in prompt.breakpoints]


def test_the_front_stands_in_the_order_in_which_it_is_rendered():
    prompt = thread().request_prompt()
    assert names(prompt) == ["read", "edit", "who", "how", "notes"]
    assert [prompt.tokens_until(prompt.section_end(s)) for s in ("tools", "system", "messages")] == [30, 100, 150]


def test_breakpoints_stand_where_they_are_named():
    made = thread("tools", "system", "project", "last")
    made.append("user", "text", 7)
    assert ends(made.request_prompt()) == [30, 100, 150, 157]
    made = thread("previous", "last")
    assert ends(made.request_prompt()) == [150]
    made.append("user", "text", 7)
    assert ends(made.request_prompt()) == [150, 157]
    made.append("user", "text", 5)
    assert ends(made.request_prompt()) == [157, 162]
    assert thread(ttl=0).request_prompt().breakpoints == ()


def test_two_marks_on_one_block_are_one_breakpoint():
    assert ends(thread("project", "last").request_prompt()) == [150]


def test_a_shared_brief_has_a_breakpoint_of_its_own():
    made = thread()
    made.share("user", PromptPart("map", 60))
    made.mark_shared()
    made.append("user", "text", 7)
    assert ends(made.request_prompt()) == [100, 210, 217]


def test_messages_begin_where_the_role_changes():
    made = thread()
    made.append("user", "text", 1)
    made.append("assistant", "text", 1)
    made.append("assistant", "tool_use", 1)
    made.append("user", "tool_result", 1)
    prompt = made.request_prompt()
    assert [(block.message, block.part) for block in prompt][4:] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]


def test_inserting_and_removing_moves_everything_behind():
    made = thread("tools", "system", "last")
    made.append("assistant", "tool_use", 1)
    made.append("user", "tool_result", 9)
    made.request_prompt()
    made.insert("tools", PromptPart("grep", 5), 1)
    assert names(made.prompt)[:4] == ["read", "grep", "edit", "who"]
    assert [made.prompt[index].message for index in range(3)] == [0, 1, 2]
    assert ends(made.request_prompt()) == [35, 105, 165]
    assert [made.prompt[at].tokens for at in made.results] == [9]
    made.remove(0)
    assert names(made.prompt)[:3] == ["grep", "edit", "who"]
    assert ends(made.request_prompt()) == [25, 95, 155]
    assert [made.prompt[at].tokens for at in made.results] == [9]


def test_clearing_leaves_a_stub_in_its_place():
    made = thread()
    for size in (100, 200, 300):
        made.append("assistant", "tool_use", 1)
        made.append("user", "tool_result", size)
    before = made.request_prompt()
    made.clear(made.results[:2], 12)
    after = made.request_prompt()
    assert [block.tokens for block in after][5:] == [1, 12, 1, 12, 1, 300]
    assert after.common_length(before) == 6  # the front and the first call
    assert [made.prompt[at].tokens for at in made.results] == [300]


def test_a_summary_stands_behind_the_project_files_and_before_what_is_kept():
    made = thread()
    made.append("user", "text", 11)
    made.append("assistant", "tool_use", 12)
    made.append("user", "tool_result", 13)
    made.append("assistant", "text", 14)
    made.request_prompt()
    made.summarise(99, len(made.prompt) - 2)
    prompt = made.request_prompt()
    assert [block.tokens for block in prompt][5:] == [99, 13, 14]
    # Notes and summary are one message of the user, and so is the result that follows.
    assert [(block.message, block.part) for block in prompt][4:] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert [made.prompt[at].tokens for at in made.results] == [13]


def test_a_fork_goes_its_own_way():
    made = thread()
    made.append("user", "text", 7)
    made.request_prompt()
    child = made.fork("main/sub1", 300)
    child.append("user", "text", 3)
    made.append("user", "text", 4)
    one, other = made.request_prompt(), child.request_prompt()
    assert one.common_length(other) == 6
    assert (one.tokens, other.tokens) == (161, 160)


def test_blocks_of_other_lanes_are_other_content_and_named_ones_are_not():
    one, other = ConversationThread("a", "m", ("last",), 300), ConversationThread("b", "m", ("last",), 300)
    for made in (one, other):
        made.share("user", PromptPart("map", 5))
        made.append("user", "text", 5)
    assert one.request_prompt().common_length(other.request_prompt()) == 1
