"""``agentsim engine size``: how large a model's K/V is, and how many sessions fit."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentsim.commands.options.command import FILE, Command, json_option
from agentsim.report.exits import ExitCode, Failure

if TYPE_CHECKING:
    from agentsim.engine.layouts.state_layout import StateLayout

EXAMPLES = (
    (
        "agentsim engine size config.json --tokens 128000 --memory 40GiB",
        "A session, and how many fit in 40 GiB.",
    ),
    ("agentsim engine size --layers 32 --heads 32 --kv-heads 8 --head-dim 128", "A model that is only planned."),
    ("agentsim engine size", "The model that the engine runs by default."),
)

_UNITS = {"": 1, "b": 1} | {
    f"{letter}{end}": base**power
    for power, letter in enumerate("kmgt", start=1)
    for end, base in (("", 1024), ("b", 1000), ("ib", 1024))
}
DEFAULT_TOKENS = 32_768
OTHER_MODEL = "name another model, or leave it out for the one that is installed"


class ByteSize(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in click 8.4 alone
    """A size with its unit: 640MiB, 80GB; a letter alone means powers of 1,024."""

    name = "bytes"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9]{1,15}(?:[.][0-9]{1,6})?) ?([A-Za-z]{0,3})", str(value))
        if found is None or found[2].lower() not in _UNITS:
            self.fail(f"{str(value)[:40]!r} is no size; write it as 640MiB or 80GB", param, ctx)
        return int(float(found[1]) * _UNITS[found[2].lower()])


@click.command(cls=Command, examples=EXAMPLES, short_help="Show how large a model's K/V is, and how many sessions fit.")
@click.argument("model", required=False, type=FILE)
@click.option("--layers", type=click.IntRange(1, 10_000), metavar="N", help="Layers, for a model without a file.")
@click.option("--heads", type=click.IntRange(1, 100_000), metavar="N", help="Its query heads.")
@click.option("--kv-heads", type=click.IntRange(1, 100_000), metavar="N", help="Its K/V heads; else as many as heads.")
@click.option("--head-dim", type=click.IntRange(1, 100_000), metavar="N", help="Numbers of a head.")
@click.option("--tokens", type=click.IntRange(1, 10**9), metavar="N", help="Tokens of a session; else the context.")
@click.option(
    "--bits",
    type=click.Choice(["16", "8", "4", "32"]),
    default="16",
    show_default=True,
    help="Bits of a number; 4 come with a step of four bytes for every 16.",
)
@click.option("--memory", type=ByteSize(), metavar="SIZE", help="Memory for sessions, such as 640MiB or 80GB.")
@click.option(
    "--window",
    type=click.IntRange(1, 10**9),
    default=128,
    show_default=True,
    metavar="N",
    help="Tokens of the windows in the YOCO row.",
)
@json_option
def command(
    model: str | None,
    layers: int | None,
    heads: int | None,
    kv_heads: int | None,
    head_dim: int | None,
    tokens: int | None,
    bits: str,
    memory: int | None,
    window: int,
    as_json: bool,
) -> ExitCode:
    """Show the K/V of MODEL (GGUF, safetensors, a Hugging Face config.json, or a folder of these): bytes of a token and
    of a session, and beside it what other architectures would keep. Windows, shared layers, latents and recurrent
    layers are counted as they are; a setting that changes the layout in an unknown way is an error. No weights are
    read.

    Counted are the numbers alone: tables of pages, alignment, weights and workspaces take room as well.
    """
    layout = _layout(model, layers, heads, kv_heads, head_dim)
    length = tokens or layout.context or DEFAULT_TOKENS
    if as_json:
        from agentsim.report.json.canonical_json import write_document
        from agentsim.report.screen.sizes_page import size_document

        write_document(sys.stdout, size_document(layout, length, int(bits), memory, window))
        return ExitCode.OK
    from agentsim.report.paper import Paper
    from agentsim.report.screen.sizes_page import write_size

    write_size(Paper.on(sys.stdout), layout, length, int(bits), memory, window)
    return ExitCode.OK


def _layout(
    model: str | None, layers: int | None, heads: int | None, kv_heads: int | None, head_dim: int | None
) -> StateLayout:
    from agentsim.engine.layouts.kv_sizes import Shape
    from agentsim.engine.layouts.state_layout import StateLayout

    given = [number for number in (layers, heads, kv_heads, head_dim) if number is not None]
    if model is not None or not given:
        if given:
            raise Failure("a model and its shape are both given", remedy="leave one of them out", code=ExitCode.USAGE)
        return _from_file(model)
    if layers is None or heads is None or head_dim is None:
        raise Failure("the shape is not complete", remedy="give --layers, --heads and --head-dim", code=ExitCode.USAGE)
    if heads % (kv_heads or heads):
        reason = f"{heads} query heads cannot share {kv_heads} K/V heads evenly"
        raise Failure(reason, remedy="give a --kv-heads that divides --heads", code=ExitCode.USAGE)
    return StateLayout.plain(Shape(layers, heads, kv_heads or heads, head_dim), "a model of this shape")


def _from_file(model: str | None) -> StateLayout:
    from agentsim.commands.options.session_inputs import check_path, unreadable
    from agentsim.engine.layouts.layout_files import layout_of
    from agentsim.engine.weights.weights_error import WeightsError

    if model is not None:
        check_path(model)
    try:
        if model is None:
            from agentsim.engine.weights.find_model import find_model

            return layout_of(find_model())
        return layout_of(Path(model))
    except WeightsError as error:
        reason, _, remedy = str(error).partition("; ")
        raise Failure(reason, remedy=remedy or OTHER_MODEL) from None
    except OSError as error:
        raise unreadable(error, model or "") from error
