"""The functions that are seen while a model runs, and what reads each."""

import dataclasses
import functools
import sys
from collections.abc import Callable

import torch
from torch.nn import functional
from torch.nn.attention.flex_attention import flex_attention

from maskctl import _arrays_of_calls as arrays
from maskctl import _attention_calls as calls
from maskctl._traced import STEPS

_FLASH = ("flash_attn_func", "flash_attn_qkvpacked_func", "flash_attn_kvpacked_func", "flash_attn_varlen_func",
          "flash_attn_varlen_qkvpacked_func", "flash_attn_varlen_kvpacked_func", "flash_attn_with_kvcache")
_FLASH_MODULES = ("flash_attn", "flash_attn_interface", "flash_attn.cute", "flash_attn_3")


@dataclasses.dataclass
class Function:
    """A function of attention. settled: its arguments say its mask, whatever it calls; leaf: what it calls
    says no more; compiles: it compiles by itself, and does so while other code runs as written; arrays: what
    it computed with, of what it returned and its arguments, where that can be solved."""

    function: Callable
    name: str
    reader: Callable
    settled: bool = True
    leaf: bool = True
    compiles: bool = False
    arrays: Callable | None = None


def methods():
    """(class, method, what watches it): of tensors, and of the operators of torch.ops."""
    from torch._ops import OpOverload, OpOverloadPacket

    for name in ("softmax", "matmul", "bmm", "__matmul__"):
        yield torch.Tensor, name, "softmax" if name == "softmax" else "product"
    yield torch.Tensor, "baddbmm", "sum_and_product"
    for name in STEPS:
        yield torch.Tensor, name, "step"
    yield OpOverload, "__call__", "operator"
    yield OpOverloadPacket, "__call__", "operator"


def others():
    """(function, what watches it): products, softmaxes, and what changes or hides them."""
    yield torch.compile, "compile"
    yield torch.softmax, "softmax"
    yield torch.special.softmax, "softmax"
    yield torch.matmul, "product"
    yield torch.bmm, "product"
    yield torch.baddbmm, "sum_and_product"
    yield torch.functional.einsum, "einsum"
    yield torch.cat, "cat"


def of_attention(model):
    """The functions of attention of what is loaded."""
    yield Function(functional.scaled_dot_product_attention, "scaled_dot_product_attention", calls.sdpa,
                   arrays=arrays.sdpa)
    for name, reader in (("_native_multi_head_attention", calls.native_multi_head),
                         ("_transformer_encoder_layer_fwd", calls.native_encoder_layer)):
        if hasattr(torch, name):
            yield Function(getattr(torch, name), name, reader)
    heads = functional.multi_head_attention_forward
    yield Function(heads, heads.__name__, _by_name(heads, calls.multi_head), leaf=False)
    yield _flex(flex_attention)
    for module in _FLASH_MODULES:
        for name in _FLASH:
            function = getattr(sys.modules.get(module), name, None)
            if function is not None:
                reader = _by_name(function, calls.flash, function, f"{module}.{name}")
                yield Function(function, name, reader, arrays=_of_named(function, arrays.flash))
    for name in ("varlen_attn", "varlen_attn_out"):
        function = getattr(sys.modules.get("torch.nn.attention.varlen"), name, None)
        if function is not None:
            yield Function(function, name, _by_name(function, calls.varlen, function), arrays=_of_named(function, arrays.varlen))
    yield from _of_transformers(model)


def _flex(function):
    reader = _by_name(flex_attention, calls.flex_attention, flex_attention, function is not flex_attention)
    return Function(function, "flex_attention", reader, compiles=True, arrays=_of_named(flex_attention, arrays.flex))


def of_compiled(function):
    """The function of attention that torch.compile made; None for other functions."""
    return _flex(function) if getattr(function, "_torchdynamo_orig_callable", None) is flex_attention else None


def _of_transformers(model):
    for mapping in mappings():
        for name, function in mapping.items():
            yield _registered(name, function)
    for module in {type(module).__module__ for module in model.modules()}:
        eager = getattr(sys.modules.get(module), "eager_attention_forward", None)
        if eager is not None:
            yield _registered("eager", eager)


def _registered(name, function):
    """An attention function of transformers, called by position. Which mask a function of somebody else
    applies is its own: what it calls says more."""
    shown = getattr(function, "__name__", type(function).__name__)
    own = getattr(function, "__module__", None) or type(function).__module__
    if own.partition(".")[0] != "transformers" or "paged" in name:
        own_arrays = None if "paged" in name else arrays.transformers
        return Function(function, shown, functools.partial(calls.registered, shown), False, False, arrays=own_arrays)
    if "flash" in name:
        return Function(function, shown, calls.transformers_flash, False, False, arrays=arrays.transformers)
    if name == "sdpa":
        return Function(function, shown, functools.partial(calls.registered, shown), False, False)
    flex = "flex" in name
    return Function(function, shown, calls.transformers, leaf=flex, compiles=flex, arrays=arrays.transformers)


def mappings():
    """Where transformers keeps attention functions by name."""
    home = sys.modules.get("transformers.modeling_utils")
    all_functions = getattr(home, "ALL_ATTENTION_FUNCTIONS", None)
    return [found for found in (getattr(all_functions, key, None) for key in ("_global_mapping", "_local_mapping"))
            if isinstance(found, dict)]


def _by_name(function, reader, *first):
    """A reader that takes the arguments as the function itself would, by name."""

    def read(*arguments, **keywords):
        return reader(*first, **calls.named(function, arguments, keywords))

    return read


def _of_named(function, of):
    """As _by_name(), for what takes the output first."""

    def arrays_of(out, *arguments, **keywords):
        return of(out, **calls.named(function, arguments, keywords))

    return arrays_of
