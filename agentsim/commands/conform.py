"""``agentsim conform``: real harnesses through the same acts, and what each does to its prefix."""

from __future__ import annotations

import sys

import click

from agentsim.commands.options.command import FILE, Command, json_option, output_option
from agentsim.commands.options.rules_option import rules_option
from agentsim.core.near_words import did_you_mean
from agentsim.report.exits import ExitCode, Failure

EXAMPLES = (
    ("agentsim conform", "Every known harness that is installed, through every act."),
    ("agentsim conform claude-code codex --act resume --act parallel-twelve", "Two harnesses, two acts."),
    ("agentsim conform -o now.json -- ./my-agent --prompt {prompt}", "Your own harness; keep the figures."),
    ("agentsim conform --baseline before.json -- ./my-agent --prompt {prompt}", "For a CI: fail when it got worse."),
)


@click.command(cls=Command, examples=EXAMPLES, short_help="Run harnesses through acts, and compare their prefixes.")
@click.argument("words", metavar="[HARNESS...] [-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--act", "acts", metavar="NAME", multiple=True, help="Only this act. May be repeated.")
@json_option
@output_option("the figures as JSON", name="json_file")
@click.option("--markdown", metavar="FILE", type=FILE, help="Write a page of documentation there.")
@click.option("--baseline", metavar="FILE", type=FILE, help="Fail where an act loses more than in these figures.")
@click.option("--keep", metavar="FOLDER", type=FILE, help="Keep the trace of each act in this folder.")
@click.option(
    "--jobs", metavar="N", type=click.IntRange(1, 64), default=2, show_default=True, help="Acts that run at once."
)
@click.option("--list", "listing", is_flag=True, help="List harnesses and acts, and run nothing.")
@rules_option
def command(
    words: tuple[str, ...],
    acts: tuple[str, ...],
    as_json: bool,
    json_file: str | None,
    markdown: str | None,
    baseline: str | None,
    keep: str | None,
    jobs: int,
    listing: bool,
) -> ExitCode:
    """Run real harnesses through the same acts, and show how many tokens each sends anew without need.

    Harnesses are looked for on the PATH, and run without a person, in homes of their own, against an emulated provider:
    no account is needed. A COMMAND of your own is run once for each step of an act; it finds the endpoint in
    ANTHROPIC_BASE_URL, OPENAI_BASE_URL or AGENTSIM_URL, and the number of the step in AGENTSIM_STEP.
    """
    import datetime
    import os
    from concurrent.futures import ThreadPoolExecutor

    import msgspec

    from agentsim.commands.options.endpoint_options import need_extra
    from agentsim.conform.act_files import act, act_names
    from agentsim.conform.act_run import run_act, version_of
    from agentsim.conform.conformance import Conformance, HarnessVersion, regressions
    from agentsim.conform.harness_adapters import adapter, adapter_names, adapter_of_command
    from agentsim.report.json.conform_json import conform_document, conform_of
    from agentsim.report.output import STDOUT, beside, check_targets, output, write_safe
    from agentsim.report.paper import Paper
    from agentsim.report.progress import ProgressBar
    from agentsim.report.screen.conform_page import write_conformance, write_regressions

    known_acts, known = act_names(), adapter_names()
    if as_json and json_file is None:
        json_file = STDOUT
    paper = Paper.on(beside(json_file))
    if listing:
        for name in known:
            paper.line(f"{name:<20} {adapter(name).title} ({adapter(name).package})")
        paper.line()
        for name in known_acts:
            paper.line(f"{name:<20} {act(name).title}")
        return ExitCode.OK
    check_targets(("--output", json_file), ("--markdown", markdown))
    need_extra()
    names, own = _split(words, known)
    for name in acts:
        if name not in known_acts:
            remedy = did_you_mean(name, known_acts, "see --list")
            raise Failure(f"--act {name}: no such act", remedy=remedy, code=ExitCode.USAGE)
    before = _baseline(baseline)
    adapters = [adapter_of_command(own)] if own else [adapter(name) for name in names or known]
    versions = {one.name: version_of(one) for one in adapters}
    missing = [one.name for one in adapters if versions[one.name] is None]
    if missing and (names or own):
        what = own[0] if own else ", ".join(missing)
        remedy = did_you_mean(own[0], known, "see --list") if len(own) == 1 else "see --list"
        raise Failure(f"{what}: not installed", remedy=remedy, code=ExitCode.USAGE)
    adapters = [one for one in adapters if one.name not in missing]
    if not adapters:
        raise Failure("no known harness is installed", remedy="install one, or name a command", code=ExitCode.USAGE)
    if keep is not None:
        os.makedirs(keep, exist_ok=True)
    chosen = [act(name) for name in known_acts if not acts or name in acts]
    pairs = [(one, each) for one in adapters for each in chosen]
    results = []
    with ProgressBar("acting", unit="act") as progress, ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(run_act, each, one, keep=_place(keep, one.name, each.name)) for one, each in pairs]
        for each_done in waiting:
            results.append(each_done.result())
            progress(len(results), len(pairs))
    found = Conformance(
        day=datetime.datetime.now(datetime.UTC).date().isoformat(),
        harnesses=tuple(HarnessVersion(one.name, one.title, versions[one.name] or "", one.package) for one in adapters),
        acts=tuple((each.name, each.title) for each in chosen),
        results=tuple(results),
    )
    if json_file is not None:
        with output(json_file) as stream:
            write_safe(
                stream, msgspec.json.format(msgspec.json.encode(conform_document(found)), indent=2).decode() + "\n"
            )
    if markdown is not None:
        from agentsim.report.web.conform_markdown import conform_markdown

        with output(markdown) as stream:
            write_safe(stream, conform_markdown(found))
    write_conformance(paper, found)
    if before is None:
        return ExitCode.OK
    worse = regressions(found, conform_of(before))
    write_regressions(paper, worse)
    sys.stdout.flush()
    return ExitCode.FINDINGS if worse else ExitCode.OK


def _split(words: tuple[str, ...], known: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of harnesses, or a command of one's own: what begins with no name is one. Raises Failure."""
    if not words or all(word in known for word in words):
        return words, ()
    if words[0] in known:
        wrong = next(word for word in words if word not in known)
        remedy = did_you_mean(wrong, known, "see --list, or give one command")
        raise Failure(f"{wrong}: no such harness", remedy=remedy, code=ExitCode.USAGE)
    return (), words


def _place(keep: str | None, harness: str, act: str) -> str | None:
    """Where the trace of an act is kept."""
    import os

    return None if keep is None else os.path.join(keep, f"{harness}.{act}.jsonl")


def _baseline(file: str | None) -> bytes | None:
    """The figures of an earlier run. Raises Failure."""
    if file is None:
        return None
    from agentsim.report.json.conform_json import conform_of

    try:
        with open(file, "rb") as stream:
            data = stream.read()
        conform_of(data)
    except OSError as error:
        raise Failure(error.strerror or str(error), file=file, remedy="make it with -o") from None
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(str(error), file=file, remedy="make it with -o") from None
    return data
