"""The options of commands that run a model on this machine, and how its refusals reach the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from agentsim.commands.options.command import FILE, Decorator, Function
from agentsim.core.extras import how_to_install, not_installed
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.engine.model_loading import LoadedModel

_MODEL_OPTIONS = (
    click.option(
        "--weights", metavar="FILE", type=FILE, help="The model, as GGUF or safetensors; 'tiny' is a seeded one."
    ),
    click.option(
        "--precision",
        type=click.Choice(["float64", "float32", "bfloat16"]),
        help="What the model computes in. Default: float32, on a CUDA device bfloat16.",
    ),
    click.option(
        "--kv-bits",
        type=click.Choice(["4"]),
        help="Keep keys and values in four bits. Default: as they are computed.",
    ),
    click.option(
        "--few-bits",
        is_flag=True,
        help="Generate with weights in the few bits of their file: faster on a CPU, less exact.",
    ),
    click.option(
        "--threads",
        type=click.IntRange(1, 256),
        help="Threads of PyTorch. Default: one for each core that is idle now.",
    ),
)

backend_option: Decorator = click.option(
    "--backend",
    type=click.Choice(["model", "engine"]),
    default="model",
    show_default=True,
    help="What answers: the provider's rules, or a real model on this machine.",
)
"""Which backend a command runs on."""

paranoid_option: Decorator = click.option(
    "--paranoid", is_flag=True, help="On the engine: check all books of pages and prefixes after every step."
)
"""Whether the engine checks itself."""


rules_on_pages_option: Decorator = click.option(
    "--rules-on-pages",
    metavar="PROVIDER",
    help="On the engine: let requests read only what this provider's lifetimes, breakpoints and lookback allow.",
)
"""Whose rules limit what is read of pages."""


def check_pages(rules: str | None) -> None:
    """Raise Failure for rules that are to be imposed on pages where there are none."""
    if rules is not None:
        raise Failure("only the engine has pages", remedy="add --backend engine", code=ExitCode.USAGE)


def model_options(function: Function) -> Function:
    """Give a command the options that choose a model: ``weights``, ``precision``, bits and ``threads``."""
    for option in reversed(_MODEL_OPTIONS):
        function = option(function)
    return function


def load_model(options: Mapping[str, Any]) -> LoadedModel:
    """The model that the options name. Raises Failure."""
    with engine_failures():
        from agentsim.engine.model_loading import load

        kv_bits = int(options["kv_bits"]) if options["kv_bits"] else None
        try:
            return load(
                options["weights"],
                options["precision"],
                options["threads"],
                kv_bits=kv_bits,
                few_bits=options["few_bits"],
            )
        except ValueError as error:
            raise Failure(str(error), remedy="leave --kv-bits or --few-bits out", code=ExitCode.USAGE) from None


@contextmanager
def engine_failures() -> Iterator[None]:
    """Turn what the engine refuses into a Failure."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise Failure(not_installed("torch"), remedy=how_to_install("engine"), code=ExitCode.USAGE) from None
    from agentsim.engine.engine_replay import NoKnownPrompts, NotForPages
    from agentsim.engine.trace_tokens import DoesNotFit
    from agentsim.engine.weights.weights import WeightsError

    try:
        yield
    except WeightsError as error:
        reason, _, remedy = str(error).partition("; ")
        raise Failure(reason, remedy=remedy or "name another model, or leave --weights out") from None
    except DoesNotFit as error:
        remedy = "give a smaller --scale, or leave it out"
        raise Failure(str(error), remedy=remedy, code=ExitCode.USAGE) from None
    except NotForPages as error:
        remedy = "name a provider with breakpoints, such as anthropic"
        raise Failure(str(error), remedy=remedy, code=ExitCode.USAGE) from None
    except NoKnownPrompts as error:
        raise Failure(str(error), remedy="record bodies, fingerprints or counters") from None
    except ImportError as error:
        raise Failure(not_installed(error.name), remedy=how_to_install("engine"), code=ExitCode.USAGE) from None
