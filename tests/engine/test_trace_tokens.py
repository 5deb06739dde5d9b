"""Prompts as tokens: what begins alike still does, whatever the scale."""

from __future__ import annotations

from hashlib import blake2b

import pytest

from agentsim.core.prompt import Block, Prompt
from agentsim.core.session import Request, Usage
from agentsim.engine.trace_tokens import ByteTokens, DoesNotFit, DrawnTokens, SpokenTokens, page_prompt, writer_for

LIMIT = 1_000


def block(name: str, tokens: int, text: str | None = None, role: str = "user", message: int = 0) -> Block:
    digest = blake2b(name.encode(), digest_size=16).digest()
    return Block(section="messages", kind="text", role=role, digest=digest, tokens=tokens, text=text, message=message)


def request(id: str, *blocks: Block, usage: Usage | None = None, lane: str = "main") -> Request:
    prompt = Prompt.of(blocks) if blocks else None
    return Request(id=id, lane=lane, model="m", start=0, prompt=prompt, usage=usage)


A, B, C = block("a", 100), block("b", 60), block("c", 60)


def test_equal_blocks_give_equal_tokens_and_others_part_at_once() -> None:
    drawn = DrawnTokens(50_000)
    one, other = drawn.write(request("1", A, B)), drawn.write(request("2", A, C))
    assert one is not None
    assert other is not None
    assert (one.ends, other.ends) == ((100, 160), (100, 160))
    assert one.tokens[:100] == other.tokens[:100]
    assert one.tokens[100:] != other.tokens[100:]
    assert one.tokens == DrawnTokens(50_000).write(request("1", A, B)).tokens  # type: ignore[union-attr]


def test_a_block_that_is_counted_differently_later_stays_the_same() -> None:
    drawn = DrawnTokens(256)
    drawn.write(request("1", A))
    again = drawn.write(request("2", block("a", 104), B))
    assert again is not None
    assert again.ends == (100, 160)


def test_the_largest_scale_that_fits_is_found() -> None:
    requests = [request("1", block("x", 4_000), block("y", 6_000))]
    writer = writer_for(requests, vocabulary=256, limit=LIMIT)
    written = writer.write(requests[0])
    assert written is not None
    # 10,000 tokens into 1,000: a tenth, but for a token of rounding.
    assert len(written) in (999, 1_000)
    assert abs(writer.scale - 0.1) < 0.001
    assert abs(written.ends[0] - 400) <= 1


def test_no_block_vanishes() -> None:
    requests = [request("1", *[block(f"b{number}", 3) for number in range(900)], block("x", 100_000))]
    written = writer_for(requests, vocabulary=256, limit=LIMIT).write(requests[0])
    assert written is not None
    assert len(written) <= LIMIT
    assert len(set(written.ends)) == 901


def test_more_blocks_than_tokens_cannot_fit() -> None:
    requests = [request("1", *[block(f"b{number}", 3) for number in range(LIMIT + 1)])]
    with pytest.raises(DoesNotFit, match="more blocks"):
        writer_for(requests, vocabulary=256, limit=LIMIT)
    with pytest.raises(DoesNotFit, match="at this scale"):
        writer_for([request("1", block("x", 4_000))], vocabulary=256, limit=LIMIT, scale=0.5)


def test_text_is_used_when_it_is_all_there() -> None:
    said = [block("s", 3, "go on"), block("t", 4, "yes then", role="assistant", message=1)]
    writer = writer_for([request("1", *said)], vocabulary=256, limit=LIMIT, encoder=ByteTokens())
    assert writer.how == "text"
    written = writer.write(request("1", *said))
    assert written is not None
    assert bytes(written.tokens.tolist()).decode() == "user: go on\nassistant: yes then"
    assert written.ends == (len("user: go on"), len(written))


@pytest.mark.parametrize(
    "blocks",
    [(block("s", 3, "go on"), block("t", 4)), (block("s", 9_000, "abridged"),), (block("s", 3, "x" * 2_000),)],
    ids=["a block without text", "text that was cut short", "text that does not fit"],
)
def test_else_tokens_are_drawn(blocks: tuple[Block, ...]) -> None:
    assert writer_for([request("1", *blocks)], vocabulary=256, limit=LIMIT, encoder=ByteTokens()).how == "drawn"


def test_text_that_is_insisted_on_must_fit_and_needs_a_tokenizer() -> None:
    long = [request("1", block("s", 3, "x" * 2_000))]
    with pytest.raises(DoesNotFit, match="fit"):
        writer_for(long, vocabulary=256, limit=LIMIT, encoder=ByteTokens(), how="text")
    with pytest.raises(DoesNotFit, match="tokenizer"):
        writer_for(long, vocabulary=256, limit=LIMIT, how="text")


def test_what_a_text_becomes_depends_on_nothing_after_it() -> None:
    spoken = SpokenTokens(ByteTokens(), 256, marks=True)
    first = block("s", 3, "go on")
    short = spoken.prompt(Prompt.of([first]))
    longer = spoken.prompt(Prompt.of([first, block("t", 4, "and", role="user")]), answer=True)
    assert longer.tokens[: len(short)] == short.tokens
    assert bytes(longer.tokens.tolist()).decode() == "<|im_start|>user\ngo onand<|im_end|>\n<|im_start|>assistant\n"


def test_counters_alone_tell_what_was_read_from_what() -> None:
    drawn = DrawnTokens(50_000)
    first = drawn.write(request("1", usage=Usage(fresh=0, write_short=100, read=0)))
    second = drawn.write(request("2", usage=Usage(fresh=20, read=90)))
    elsewhere = drawn.write(request("3", usage=Usage(fresh=10, read=100), lane="sub"))
    assert first is not None
    assert second is not None
    assert elsewhere is not None
    assert [len(first), len(second), len(elsewhere)] == [100, 110, 110]
    assert second.tokens[:90] == first.tokens[:90]
    assert second.tokens[90:100] != first.tokens[90:100]
    assert elsewhere.tokens[:100] == second.tokens[:100]  # the latest that is long enough
    assert drawn.write(request("4")) is None


def test_a_prompt_of_pages_parts_where_the_tokens_do() -> None:
    one, other = page_prompt(range(100), 16), page_prompt([*range(40), *range(50, 110)], 16)
    assert len(one) == 7  # 6 full pages and 4 tokens
    assert one.tokens == 100
    assert one.common_length(other) == 2  # token 40 lies in the third page
