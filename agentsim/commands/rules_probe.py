"""``agentsim rules probe``: small experiments on a provider's cache, against its rules."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Command, force_option, output_option
from agentsim.commands.options.live_options import live_options
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.cache.endpoint_accounts import Api, EndpointAccount
    from agentsim.rules.prices import RateCard
    from agentsim.rules.providers import ProviderRules
    from agentsim.trust.probe.probe_bench import Kind, ProbeFinding, ProbeStep
    from agentsim.trust.probe.probe_experiments import Bill
    from agentsim.trust.probe.probe_questions import Lifetime, ProbeClock

EXAMPLES = (
    ("agentsim rules probe", "Four requests to the emulated endpoint: what they look like, for nothing."),
    ("agentsim rules probe --floor --lookback --visibility --ttl", "Measure each rule of the emulated provider."),
    (
        "agentsim rules probe --live --model claude-haiku-4-5 -o probe.jsonl",
        "Your account. Says the cost, and asks.",
    ),
)

MODELS: dict[Api, str] = {"anthropic": "claude-sonnet-4-6", "openai": "gpt-5.1"}

_RUN = re.compile(r"[A-Za-z0-9_-]{1,24}")


def _check_run(_ctx: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _RUN.fullmatch(value):
        raise click.BadParameter("1 to 24 letters, digits, '-' or '_'")
    return value


@click.command(cls=Command, examples=EXAMPLES, short_help="Measure the rules of a provider's cache.")
@click.option("--provider", type=click.Choice(["anthropic", "openai"]), default="anthropic", show_default=True)
@click.option("--model", metavar="NAME", help="The model.  [default: claude-sonnet-4-6, gpt-5.1]")
@click.option("--floor", is_flag=True, help="Find the shortest prefix that is kept.")
@click.option("--lookback", is_flag=True, help="Find how far behind a breakpoint entries are looked for.")
@click.option("--visibility", is_flag=True, help="Find when an entry can be read.")
@click.option(
    "--ttl",
    type=click.Choice(["short", "long"]),
    is_flag=False,
    flag_value="short",
    help="Find how long an entry lives, of the short lifetime or the long one.",
)
@click.option("--four", is_flag=True, help="The four requests too, when another experiment is named.")
@click.option("--live", is_flag=True, help="Ask a real endpoint. This costs money; it says how much, and asks first.")
@live_options
@click.option(
    "--run",
    "run_id",
    metavar="ID",
    callback=_check_run,
    help="What its documents begin with.  [default: random]",
)
@output_option("JSON lines, as answers come,", name="out", also=("--out",))
@force_option
def command(
    provider: Api,
    model: str | None,
    floor: bool,
    lookback: bool,
    visibility: bool,
    ttl: Lifetime | None,
    four: bool,
    live: bool,
    base_url: str | None,
    key_env: str | None,
    yes: bool,
    run_id: str | None,
    out: str | None,
    force: bool,
) -> ExitCode:
    """Ask a provider's cache a few questions through the official client, and compare it with the rule file.

    Without options: the four requests. The endpoint is emulated, and started for them, unless --live is given. Nothing
    is ever sent twice, and a request that fails ends the run (exit code 3); 1 says that something differed.
    """
    from agentsim.commands.options.endpoint_options import check_new_file
    from agentsim.commands.options.live_options import account_of, confirm, need_client
    from agentsim.report.output import STDOUT

    if not live and (base_url or key_env or yes):
        raise Failure(
            "--base-url, --key-env and --yes are for a real endpoint", remedy="add --live", code=ExitCode.USAGE
        )
    if out != STDOUT:
        check_new_file(out, force)
    model = model or MODELS[provider]
    kinds = _kinds(floor, lookback, visibility, ttl is not None, four)
    tier: Lifetime = ttl or "short"
    if not live:
        from agentsim.commands.options.endpoint_options import need_extra
        from agentsim.trust.probe.probe_emulation import emulated_account

        need_client(provider)
        need_extra()
        with emulated_account(provider, time.time_ns()) as (emulated, virtual):
            return _probe(emulated, virtual, model, kinds, tier, run_id or _random_id(), out, live=False)
    from agentsim.report.notices import warn
    from agentsim.trust.probe.probe_questions import RealClock

    account = account_of(provider, base_url, key_env)
    _agree(account, model, kinds, tier)
    confirm("Send them?", yes)
    clock = RealClock(lambda left: warn(f"waiting for {span(left)}"))
    return _probe(account, clock, model, kinds, tier, run_id or _random_id(), out, live=True)


def _kinds(floor: bool, lookback: bool, visibility: bool, ttl: bool, four: bool) -> tuple[Kind, ...]:
    asked: tuple[tuple[Kind, bool], ...] = (
        ("floor", floor),
        ("lookback", lookback),
        ("visibility", visibility),
        ("ttl", ttl),
    )
    named = tuple(kind for kind, wanted in asked if wanted)
    return ("four requests", *named) if four or not named else named


def _agree(account: EndpointAccount, model: str, kinds: tuple[Kind, ...], tier: Lifetime) -> None:
    """Say what will be sent, and the most that it can cost."""
    from agentsim.report import figures
    from agentsim.report.notices import warn
    from agentsim.trust.probe.probe_experiments import bill_of

    card = _card(account, model)
    bill: Bill = bill_of(kinds, _rules(account, model), tier, card)
    if bill.cost is None and account.is_official:
        raise Failure(f"the price of {model} is not known", remedy="choose another --model", code=ExitCode.USAGE)
    price = "its price is not known" if bill.cost is None else f"at most {figures.money(bill.cost, 4)}"
    warn(f"{model} at {account.host}: {', '.join(kinds)}")
    warn(
        f"at most {figures.plural(bill.requests, 'request')}, {bill.input_tokens:,} tokens of input and "
        f"{bill.output_tokens:,} of output: {price}"
    )
    if bill.waits:
        warn(f"waiting takes {span(bill.waits)}")


def _probe(
    account: EndpointAccount,
    clock: ProbeClock,
    model: str,
    kinds: tuple[Kind, ...],
    tier: Lifetime,
    run: str,
    out: str | None,
    *,
    live: bool,
) -> ExitCode:
    from agentsim.cache.endpoint_accounts import AskFailed
    from agentsim.report.output import beside
    from agentsim.report.paper import Paper
    from agentsim.report.screen.probe_page import write_finding, write_steps
    from agentsim.trust.probe import probe_experiments
    from agentsim.trust.probe.probe_bench import Bench, has_breakpoints
    from agentsim.trust.probe.probe_journal import failure_row, finding_row, head_row, journal, step_row
    from agentsim.trust.probe.sdk_clients import asker_for

    rules = _rules(account, model)
    card = _card(account, model)
    paper = Paper.on(beside(out))
    findings: list[ProbeFinding] = []
    marks = account.api == "openai" and has_breakpoints(rules)
    with _writing(out), journal(out) as rows, asker_for(account, model, clock, marks=marks) as asker:
        rows.add(head_row(run, account.api, model, account.host, live))

        def log(step: ProbeStep) -> None:
            rows.add(step_row(run, step))

        paper.line(f"{model} at {account.host}, {'real' if live else 'emulated'}; run {run}")
        for kind in kinds:
            bench = Bench(asker=asker, clock=clock, rules=rules, run=run, waits=live, log=log)
            paper.line()
            try:
                finding = probe_experiments.run(kind, bench, tier)
            except AskFailed as failed:
                write_steps(paper, bench.steps, card)
                rows.add(failure_row(run, failed.reason))
                status = "" if failed.status is None else f" (HTTP {failed.status})"
                remedy = "nothing more was sent"
                raise Failure(f"{kind}: a request failed{status}: {failed.reason}", remedy=remedy) from None
            write_steps(paper, bench.steps, card)
            write_finding(paper, finding)
            rows.add(finding_row(run, finding))
            findings.append(finding)
            paper.stream.flush()
            if kind == "four requests" and len(bench.steps) == 2:
                break  # there is nothing to measure about a cache that is not there
    return ExitCode.FINDINGS if any(finding.agrees is False for finding in findings) else ExitCode.OK


@contextmanager
def _writing(out: str | None) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise  # that is the page, which somebody has read enough of
    except OSError as error:
        raise Failure(error.strerror or str(error), file=out, remedy="choose a place you may write to") from None


def _rules(account: EndpointAccount, model: str) -> ProviderRules:
    from agentsim.rules.providers import rules_for

    return rules_for(account.api, model, None)


def _card(account: EndpointAccount, model: str) -> RateCard | None:
    from agentsim.rules.prices import rate_card

    return rate_card(account.api, model, None, 0)


def _random_id() -> str:
    from secrets import token_hex

    return token_hex(4)


def span(nanoseconds: int) -> str:
    """A time that people wait, in words."""
    seconds = nanoseconds // 10**9
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"
