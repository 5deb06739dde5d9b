"""A session whose every text tries to do something to a terminal, or to be markup."""

from __future__ import annotations

from agentsim.core.dates import SECOND
from agentsim.core.prompt import Block, Breakpoint, Prompt
from agentsim.core.session import Event, Lane, ProviderDiagnosis, Request, Session, Usage

OSC52 = "\x1b]52;c;SE9TVElMRQ==\x07"
NASTY = (
    f"{OSC52}\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b31m\x90q\x9c\r\x08\x7f\u202eevil\u2066\u200b\u200d\u2028\t"
    "[/x] [@click=app.quit]quit[/] [bold]b[/bold] [link=file:///etc]l[/] {x} \\[ $good ไ́́́́ 漢字 "
)
HUGE = NASTY + "A" * 1_000_000


def _block(number: int, text: str, section: str = "messages") -> Block:
    return Block(
        section=section,  # type: ignore[arg-type]
        kind="text" + NASTY,
        role="user" + NASTY,
        digest=number.to_bytes(16, "big"),
        tokens=4000,
        name=NASTY,
        message=number,
        part=0,
        text=text,
    )


def session() -> Session:
    """Six requests in two lanes: hits, and misses by an edit and by an expiry."""
    requests: list[Request] = []
    start = 1_780_000_000 * SECOND
    front = [_block(1, NASTY, "tools"), _block(2, HUGE, "system")]
    prompt = Prompt.of(front, [Breakpoint(1, 300)])
    for number in range(6):
        when = start + number * (400 if number == 4 else 30) * SECOND
        blocks = [*front, *(_block(10 + n, NASTY * (n + 1)) for n in range(number + 1))]
        if number >= 2:
            blocks[2] = _block(99, NASTY + "edited")
        prompt = Prompt.of(blocks, [Breakpoint(1, 300), Breakpoint(len(blocks) - 1, 300)])
        read = 0 if number in (0, 4) else 8000 if number == 2 else 4000 * (len(blocks) - 1)
        requests.append(
            Request(
                id=f"r{number}{NASTY}",
                lane=f"lane{number == 3}{NASTY}",
                model="claude-opus-4-8" if number % 2 else "model" + NASTY,
                start=when,
                first_token=when + SECOND,
                end=when + 3 * SECOND,
                parent=f"r{number - 1}{NASTY}" if number else None,
                prompt=prompt,
                settings=(("effort", f'"{NASTY}"'), ("tool_choice", NASTY + str(number))),
                usage=Usage(fresh=0, write_short=4000 * len(blocks) - read, read=read, output=5),
                diagnosis=ProviderDiagnosis(reported=True, reason="because_" + NASTY, missed_tokens=3),
                stop_reason=NASTY,
            )
        )
    return Session(
        id="hostile" + NASTY,
        format="agentsim/1",
        completeness="full",
        lanes=tuple(
            Lane(id=f"lane{n == 3}{NASTY}", title="title" + NASTY, purpose="main" if n == 0 else "subagent")
            for n in (0, 3)
        ),
        requests=tuple(requests),
        events=(
            Event(
                kind="model_change",
                time=start,
                lane=f"lane{False}{NASTY}",
                before=f"r2{NASTY}",
                detail="detail" + NASTY,
            ),
        ),
        title="title" + NASTY,
        harness="harness" + NASTY,
    )
