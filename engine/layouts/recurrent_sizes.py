"""How much a recurrent layer keeps: the last inputs of its convolution, and its state. One function for each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agentsim.engine.layouts.layout_settings import Settings
from agentsim.engine.layouts.state_layout import FixedState

Reader = Callable[[Settings], FixedState | None]


def recurrent_state(take: Settings) -> FixedState:
    """What one recurrent layer keeps; sizes are None where the settings do not tell."""
    found = [state for reader in _READERS if (state := reader(take)) is not None]
    dtype = take.raw("mamba_ssm_cache_dtype", "mamba_ssm_dtype")
    bits = 16 if dtype in ("float16", "bfloat16") else 32
    return replace(found[0], recurrent_bits=bits) if found else FixedState("recurrent state", None, None)


def _kda(take: Settings) -> FixedState | None:
    heads, dim = take.optional("linear_num_heads"), take.optional("linear_head_dim")
    kernel = take.optional("linear_conv_kernel_dim", "short_conv_kernel_size")
    part = take.part("linear_attn_config")
    if part is not None:
        heads, dim = part.optional("num_heads") or heads, part.optional("head_dim") or dim
        kernel = part.optional("short_conv_kernel_size") or kernel
    if not heads or not dim:
        return None
    return FixedState("delta attention", _conv(kernel, 3 * heads * dim), heads * dim * dim)


def _delta_net(take: Settings) -> FixedState | None:
    keys, values = take.optional("linear_num_key_heads"), take.optional("linear_num_value_heads")
    key, value = take.optional("linear_key_head_dim"), take.optional("linear_value_head_dim")
    kernel = take.optional("linear_conv_kernel_dim")
    if not keys or not values or not key or not value:
        return None
    return FixedState("gated delta net", _conv(kernel, 2 * keys * key + values * value), values * key * value)


def _mamba2(take: Settings) -> FixedState | None:
    heads = take.optional("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads")
    width = take.optional("mamba_d_head", "mamba_head_dim", "mamba_headdim")
    state = take.optional("mamba_d_state", "ssm_state_size", "state_size")
    groups = take.optional("mamba_n_groups", "mamba_ngroups", "n_groups")
    kernel = take.optional("mamba_d_conv", "conv_kernel")
    inner = _inner(take)
    if width is None and heads and take.values.get("model_type") == "mamba2":
        width = take.optional("head_dim")
    if heads and not width and inner and groups:
        width = inner // heads
    if not heads or not width or not state or not groups:
        return None
    return FixedState("Mamba-2", _conv(kernel, heads * width + 2 * groups * state), heads * width * state)


def _mamba(take: Settings) -> FixedState | None:
    state, kernel = take.optional("mamba_d_state", "state_size"), take.optional("mamba_d_conv", "conv_kernel")
    inner = _inner(take)
    if not state or not inner:
        return None
    return FixedState("Mamba", _conv(kernel, inner), inner * state)


def _inner(take: Settings) -> int | None:
    """Width of a Mamba layer."""
    given, expand = take.optional("mamba_d_ssm"), take.optional("mamba_expand", "expand")
    hidden = take.optional("hidden_size")
    return given or (expand * hidden if expand and hidden else None)


def _short_convolution(take: Settings) -> FixedState | None:
    length, hidden = take.optional("conv_L_cache"), take.optional("conv_dim", "hidden_size")
    return FixedState("convolution", (length - 1) * hidden, 0) if length and hidden else None


def _gated_recurrence(take: Settings) -> FixedState | None:
    kernel, width = take.optional("conv1d_width"), take.optional("lru_width")
    width = width or take.optional("hidden_size")
    return FixedState("gated recurrence", _conv(kernel, width), width) if kernel and width else None


def _lightning(take: Settings) -> FixedState | None:
    """Linear attention over the usual heads, without a convolution: of the models that list it by number or group."""
    hints = ("attn_type_list", "layer_group_size", "linear_attn_alpha_factor", "layernorm_linear_attention_alpha")
    told = any(take.values.get(each) is not None for each in hints)
    heads, width = take.optional("num_attention_heads"), take.optional("head_dim")
    hidden = take.optional("hidden_size")
    width = width or (hidden // heads if hidden and heads else None)
    return FixedState("lightning attention", 0, heads * width * width) if told and heads and width else None


def _conv(kernel: int | None, width: int) -> int | None:
    """Inputs that the next token's convolution needs beside its own."""
    return (kernel - 1) * width if kernel else None


_READERS: tuple[Reader, ...] = (_kda, _delta_net, _mamba2, _mamba, _short_convolution, _gated_recurrence, _lightning)
"""The first that finds its sizes is believed."""
