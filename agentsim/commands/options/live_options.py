"""What commands share that ask a real endpoint: its address, its key, and the question whether to spend money."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import Function
from agentsim.core.extras import how_to_install, not_installed
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.cache.endpoint_accounts import Api, EndpointAccount

_OPTIONS = (
    click.option("--base-url", metavar="URL", help="The endpoint.  [default: *_BASE_URL, else the provider's own]"),
    click.option("--key-env", metavar="NAME", help="The environment variable that holds the key."),
    click.option("--yes", is_flag=True, help="Send without asking."),
)


def live_options(function: Function) -> Function:
    """Give a command the options of a real endpoint."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def need_client(api: Api) -> None:
    """Raise Failure when the official client is not installed."""
    from importlib.util import find_spec

    if find_spec(api) is None:
        raise Failure(not_installed(api), remedy=how_to_install("probe"), code=ExitCode.USAGE)


def account_of(api: Api, base_url: str | None, key_env: str | None) -> EndpointAccount:
    """The account that the options and the environment name. Raises Failure.

    The usual variable of the key is only read for the address that it is meant for: the provider's own, or the one
    that the environment names beside it. Another address gets no key unless ``--key-env`` says which.
    """
    from agentsim.cache.endpoint_accounts import (
        ADDRESS_VARIABLES,
        KEY_VARIABLES,
        NO_KEY,
        OFFICIAL,
        EndpointAccount,
        is_official,
    )

    need_client(api)
    given = os.environ.get(ADDRESS_VARIABLES[api]) or OFFICIAL[api]
    address = (base_url or given).rstrip("/")
    check_address(address)
    if key_env is not None:
        key = os.environ.get(key_env)
        if not key:
            raise Failure(f"{key_env} is not set", remedy="export the key under this name", code=ExitCode.USAGE)
        return EndpointAccount(api, address, key.strip())
    if is_official(api, address) or address == given.rstrip("/"):
        key = os.environ.get(KEY_VARIABLES[api])
        if key:
            return EndpointAccount(api, address, key.strip())
        if is_official(api, address):
            remedy = "export the key, or name another variable with --key-env"
            raise Failure(f"{KEY_VARIABLES[api]} is not set", remedy=remedy, code=ExitCode.USAGE)
    return EndpointAccount(api, address, NO_KEY)


def check_address(address: str) -> None:
    """Raise Failure for what is no address of an endpoint."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and parts.username is None
    except ValueError:
        fine = False
    if not fine:
        raise Failure(
            "--base-url: no address", remedy="write https://HOST, without a user or a query", code=ExitCode.USAGE
        )


def confirm(question: str, yes: bool) -> None:
    """Go on when somebody says yes. Raises Failure otherwise, and where nobody can be asked."""
    if yes:
        return
    from agentsim.report.notices import ask

    if not sys.stdin.isatty():
        remedy = "run it in a terminal, or add --yes"
        raise Failure("nobody is there to agree to the cost", remedy=remedy, code=ExitCode.USAGE)
    ask(f"{question} [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure("nothing was sent", remedy="answer y to send", code=ExitCode.USAGE)
