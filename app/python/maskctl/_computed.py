"""Masks that are computed: what functions of FlexAttention say, cell by cell, at the time of a call."""

import functools
import sys
import types

import torch

from maskctl import flex
from maskctl._mask import Mask
from maskctl._native import Error

_MOST_CELLS = 1 << 27  # numbers of a score_mod that are computed at once


def of_block_mask(block_mask, size, compiled):
    """(the mask that is applied, a note where lists and mask_mod differ). Code that is not compiled calls
    mask_mod for every pair; kernels do in the blocks that are listed as partial."""
    listed = flex.mask(block_mask, evaluate=True)
    called = Mask(block_mask)
    note = "" if listed == called else f", whose lists and mask_mod differ in {(listed ^ called).count()} cells"
    mask = listed if compiled else called
    if tuple(mask.shape[2:]) != tuple(size):
        if mask.shape[2] < size[0] or mask.shape[3] < size[1]:
            raise Error(f"a BlockMask of {mask.shape[2]} queries and {mask.shape[3]} keys")
        mask = mask[:, :, :size[0], :size[1]]
    return mask, note


def numbers_of(score_mod, lengths, query):
    """[B, H, Q, K]: what a score_mod makes of scores that are 0."""
    batch, heads, queries, keys = lengths
    if batch * heads * queries * keys > _MOST_CELLS:
        raise Error(f"score_mod: {batch * heads * queries * keys} cells are too many to compute")
    home = sys.modules["torch.nn.attention.flex_attention"]
    every = home._vmap_for_bhqkv(score_mod, prefix=(0,))
    zeros = torch.zeros(lengths, dtype=query.dtype, device=query.device)
    at = [torch.arange(n, device=query.device) for n in lengths]
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    with TransformGetItemToIndex():
        return every(zeros, *at).expand(lengths)


def _parts(function):
    """Functions and values that a function closes over, or takes from its module."""
    if isinstance(function, functools.partial):
        return [function.func, *function.args, *function.keywords.values()]
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    names = [function.__globals__[name] for name in _names(code) if name in function.__globals__]
    values = [one for one in names if isinstance(one, (torch.Tensor, types.FunctionType)) or _is_plain(one)]
    return [*cells, *values, *(function.__defaults__ or ())]


def _names(code):
    inner = [name for one in code.co_consts if isinstance(one, types.CodeType) for name in _names(one)]
    return [*code.co_names, *inner]


def _is_plain(value):
    return value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device))


def _leaves(function, depth=4):
    """The values that decide what a function says, in order; None where there may be others."""
    parts = _parts(function)
    if parts is None or depth == 0:
        return None
    found = []
    for part in parts:
        inside = part if isinstance(part, (tuple, list)) else [part]
        for one in inside:
            if isinstance(one, torch.Tensor) or _is_plain(one):
                found.append(one)
            elif callable(one) and not isinstance(one, type):
                more = _leaves(one, depth - 1)
                if more is None:
                    return None
                found += [code_key(one), *more]
            else:
                return None
    return found


def code_key(function):
    function = getattr(function, "func", getattr(function, "__func__", function))
    return getattr(function, "__code__", None)


def tensors_of(function):
    """The tensors that a function reads; None where it may read more than can be seen."""
    leaves = _leaves(function)
    return None if leaves is None else tuple(one for one in leaves if isinstance(one, torch.Tensor))


def code_of(function):
    """What is equal for functions that do the same, but for the elements of their tensors."""
    plain = [one for one in _leaves(function) or () if not isinstance(one, torch.Tensor)]
    return code_key(function), tuple(map(str, plain)), tuple(map(id, plain if not all(map(_is_plain, plain)) else ()))
