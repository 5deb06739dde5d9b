"""``agentsim rules live``: a recorded session against a real endpoint, predicted beside reported."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command, force_option, output_option, paths_argument, session_option
from agentsim.commands.options.live_options import live_options
from agentsim.commands.options.rules_option import rules_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.cache.endpoint_accounts import Api, EndpointAccount
    from agentsim.core.session import Problem, Session
    from agentsim.trust.live.live_run import LivePlan, LiveRow

EXAMPLES = (
    ("agentsim rules live run.jsonl", "What would be sent, and what it would cost. Nothing is."),
    (
        "agentsim rules live run.jsonl --live --speed 10",
        "Send it, ten times as fast. Says the cost, and asks.",
    ),
    (
        "agentsim rules live run.jsonl --live --api openai --provider vllm --base-url http://gpu:8000/v1",
        "Against a server of your own.",
    ),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Send a recorded session to a real endpoint.")
@paths_argument()
@click.option("--api", type=click.Choice(["anthropic", "openai"]), default="anthropic", show_default=True)
@click.option(
    "--provider", metavar="NAME", help="Whose rules predict: anthropic, openai, vllm, sglang.  [default: the API's]"
)
@click.option("--model", metavar="NAME", help="Ask this model instead of the recorded ones.")
@session_option
@click.option("--limit", metavar="N", type=click.IntRange(1), help="Send the first N requests only.")
@click.option("--speed", metavar="X", type=click.FloatRange(0, min_open=True), default=1.0, help="Shorten the gaps.")
@click.option("--max-tokens", "output", type=click.IntRange(1), default=1, show_default=True, help="Output of each.")
@click.option("--live", is_flag=True, help="Send it. Without this nothing is sent.")
@live_options
@output_option("a row for each answer, as JSON lines,", name="out", also=("--out",))
@force_option
@rules_option
def command(
    paths: tuple[str, ...],
    api: Api,
    provider: str | None,
    model: str | None,
    session_id: str | None,
    limit: int | None,
    speed: float,
    output: int,
    live: bool,
    base_url: str | None,
    key_env: str | None,
    yes: bool,
    out: str | None,
    force: bool,
) -> ExitCode:
    """Send the prompts of a recorded session to a real endpoint, and compare what it reports with what rules predict.

    It only tells the plan unless --live is given; then it asks first. Requests go out one after the other with their
    gaps, each once; the first that fails ends it (exit code 3). 1 says that a row was not as predicted. The session
    needs bodies with their words.
    """
    from agentsim.commands.options.endpoint_options import check_new_file
    from agentsim.commands.options.live_options import account_of, confirm, need_client
    from agentsim.commands.options.session_inputs import choose_session, read_sessions
    from agentsim.report.notices import tell_problems
    from agentsim.report.output import STDOUT, beside
    from agentsim.report.paper import Paper
    from agentsim.report.screen.live_page import write_plan
    from agentsim.trust.live.live_run import CannotReplay, plan_of

    if out != STDOUT:
        check_new_file(out, force)
    paper = Paper.on(beside(out))
    problems: list[Problem] = []
    session = choose_session(read_sessions(paths, problems), session_id)
    account = account_of(api, base_url, key_env) if live else _nobody(api, base_url)
    try:
        plan = plan_of(
            session,
            account,
            rules=provider or api,
            model=model,
            output=output,
            speed=speed,
            limit=limit,
            now=time.time_ns(),
        )
    except CannotReplay as error:
        remedy = "record it with 'agentsim record', without --fingerprint"
        raise Failure(f"it cannot be sent: {error}", file=paths[0], remedy=remedy) from None
    except ValueError as error:
        raise Failure(
            str(error), remedy="see --provider; 'agentsim rules show' lists them", code=ExitCode.USAGE
        ) from None
    tell_problems(problems, listed_by="'agentsim replay --json'")
    write_plan(paper, plan, account.host, _gaps(plan, speed))
    if not live:
        paper.line("Nothing was sent; --live sends it.")
        return ExitCode.OK
    if plan.most is None and account.is_official:
        raise Failure("the price of a model is not known", remedy="name another with --model", code=ExitCode.USAGE)
    paper.stream.flush()
    need_client(api)
    confirm("Send it?", yes)
    return _send(session, account, plan, provider or api, output, speed, out)


def _send(
    session: Session, account: EndpointAccount, plan: LivePlan, rules: str, output: int, speed: float, out: str | None
) -> ExitCode:
    from agentsim.cache.endpoint_accounts import AskFailed
    from agentsim.cache.live_endpoint import LiveBackend
    from agentsim.report.output import beside
    from agentsim.report.paper import Paper
    from agentsim.report.progress import ProgressBar
    from agentsim.report.screen.live_page import write_rows
    from agentsim.trust.live.live_journal import failure_row, head_row, request_row
    from agentsim.trust.live.live_run import send
    from agentsim.trust.probe.probe_journal import journal

    rows: list[LiveRow] = []
    backend = LiveBackend(account, output=output, speed=speed)
    paper = Paper.on(beside(out))
    try:
        with journal(out) as file, ProgressBar("sending", unit="request") as progress:
            file.add(head_row(session.id, account.api, account.host, rules, len(plan.requests)))
            try:
                for row in send(plan, backend, rules):
                    rows.append(row)
                    file.add(request_row(row))
                    progress(len(rows), len(plan.requests))
            except AskFailed as failed:
                file.add(failure_row(failed.reason))
                paper.line()
                write_rows(paper, rows)
                status = "" if failed.status is None else f" (HTTP {failed.status})"
                number = f"{len(rows) + 1:,} of {len(plan.requests):,}"
                reason = f"request {number} failed{status}: {failed.reason}"
                raise Failure(reason, remedy="nothing more was sent") from None
    except BrokenPipeError:
        raise  # that is the page, which somebody has read enough of
    except OSError as error:
        raise Failure(error.strerror or str(error), file=out, remedy="choose a place you may write to") from None
    finally:
        backend.close()
    paper.line()
    write_rows(paper, rows)
    return ExitCode.FINDINGS if any(row.agrees is False for row in rows) else ExitCode.OK


def _nobody(api: Api, base_url: str | None) -> EndpointAccount:
    """The account of a plan: it is not asked, and needs no key."""
    import os

    from agentsim.cache.endpoint_accounts import ADDRESS_VARIABLES, NO_KEY, OFFICIAL, EndpointAccount
    from agentsim.commands.options.live_options import check_address

    address = base_url or os.environ.get(ADDRESS_VARIABLES[api]) or OFFICIAL[api]
    check_address(address)
    return EndpointAccount(api, address, NO_KEY)


def _gaps(plan: LivePlan, speed: float) -> str:
    from agentsim.commands.rules_probe import span

    told = span(plan.lasts)
    return told if speed == 1 else f"{told}, at {speed:g} times the recorded speed"
