"""Scores between their product and a softmax. Where torch counts each change of them, and nothing was done but to
scale them, and to add or to fill in numbers that close, the cells that are closed are those of what was added: it is
read instead of the scores, of which there are so many times more as there are heads."""

import dataclasses
import weakref

import torch

from maskctl import _scores
from maskctl._attention_calls import Asked, Read, words
from maskctl._mask import Mask

_KEPT = 4  # tensors of one module that are followed
_SAMPLED = 16  # rows of queries that are compared with what was added: torch does not count what others write
# To close a cell, the sum of its score and the added number must be below half of the lowest number of the dtype (see
# _closing.py); these are the shares for the added number and for the score.
_CLOSES, _SCORE = 0.75, 0.125

STEPS = ("__add__", "__radd__", "__iadd__", "__mul__", "__rmul__", "__truediv__", "masked_fill", "masked_fill_")


@dataclasses.dataclass
class Trace:
    """Scores, none of which is larger than the bound, and what closed cells of them: (tensor, its version)."""

    of: weakref.ref
    version: int
    bound: float
    closed_by: tuple = ()


def _is_counted(*tensors):
    return all(type(one) in (torch.Tensor, torch.nn.Parameter) and not one.is_inference() and not one.is_nested
               and not one.is_meta and not torch._C._functorch.is_functorch_wrapped_tensor(one) for one in tensors)


def is_worth_it(query, key, scores):
    """Whether a product can be followed, and its operands are much less to read than it is."""
    return (scores.ndim == 4 and scores.is_floating_point() and scores.numel() > 2 * (query.numel() + key.numel())
            and _is_counted(query, key, scores))


def begin(frame, query, key, scores):
    """Follows a product of queries [.., Q, D] and keys [.., D, K]."""
    _follow(frame, scores, query.shape[-1] * _largest(query) * _largest(key))


def _follow(frame, scores, bound, closed_by=()):
    if bound < torch.finfo(scores.dtype).max * _SCORE:  # not so of NaN
        frame.traced.append(Trace(weakref.ref(scores), scores._version, bound, closed_by))
        del frame.traced[:-_KEPT]


def _largest(tensor):
    low, high = torch.aminmax(tensor.detach())
    return max(-float(low), float(high)) if float(low) == float(low) else float("nan")


def find(frame, operands):
    """The trace of one of two or three operands, if it has not changed since; None without one."""
    for one in frame.traced:
        tensor = one.of()
        if tensor is not None and any(operand is tensor for operand in operands):
            with torch._C.DisableTorchFunction():  # modes of the user do not see what is asked here
                if one.version == tensor._version:
                    return one
    return None


def step(frame, name, trace, operands, out):
    """Follows what a step made of traced scores and of its other operands."""
    traced = trace.of()
    others = [one for one in operands if one is not traced]
    if type(out) is not torch.Tensor or out.ndim != 4 or not out.is_floating_point() or len(others) != (2 if "fill" in name else 1):
        return
    other, bound, closed_by = others[0], trace.bound, trace.closed_by
    if "mul" in name or "div" in name:
        if closed_by or not isinstance(other, (int, float)) or not other:
            return
        bound *= abs(1 / other if "div" in name else other)
    else:
        fits = torch.is_tensor(other) and 2 <= other.ndim <= 4 and _is_counted(other) and other.device == out.device
        if not fits or (other.dtype == torch.bool) != ("fill" in name):
            return
        if "fill" in name and not (isinstance(others[1], (int, float)) and others[1] <= torch.finfo(out.dtype).min * _CLOSES):
            return
        closed_by += ((other, other._version),)
    _follow(frame, out, bound, closed_by)


def _closes(tensor, low):
    return tensor if tensor.dtype == torch.bool else tensor <= low


def asked(frame, product, scores, dim, otherwise):
    """What scores [B, H, Q, K] that reach a softmax are, by their trace; None where that does not say it."""
    trace = find(frame, (scores,))
    if trace is None or dim not in (-1, 3) or product.columns != product.keys.stop or _scores.axes_of(frame, scores) is None:
        return None
    if any(tensor._version != version for tensor, version in trace.closed_by):
        return None
    tensors = tuple(tensor[(None,) * (4 - tensor.ndim)] for tensor, _ in trace.closed_by)
    low, size = torch.finfo(scores.dtype).min, tuple(scores.shape)
    if any(one != own and one != 1 for tensor in tensors for one, own in zip(tensor.shape, size)):
        return None
    if not _are_sampled(scores, tensors, low):
        return None

    def make():
        """None where other numbers were added, too."""
        cells = torch.ones(1, 1, *size[2:], dtype=torch.bool, device=scores.device)
        for tensor in tensors:
            closed = _closes(tensor, low * _CLOSES)
            if tensor.dtype != torch.bool and not bool((closed | (tensor == 0)).all()):
                return None
            cells = cells & ~closed
        return Read(Mask(cells, "dense"))

    given = {}
    for tensor in tensors:
        how = "filled" if tensor.dtype == torch.bool else "added"
        given[how] = f"{given[how]} and {words(tensor)}" if how in given else words(tensor)
    return Asked(size, words(scores).split()[0], given, make, ("traced", size[2:], scores.dtype), tensors, "traced", otherwise=otherwise)


def _are_sampled(scores, tensors, low):
    queries = scores.shape[2]
    at = torch.linspace(0, queries - 1, min(queries, _SAMPLED), device=scores.device).long()
    closed = scores.new_zeros(1, dtype=torch.bool)
    for tensor in tensors:
        closed = closed | _closes(tensor[:, :, at] if tensor.shape[2] > 1 else tensor, low * _CLOSES)
    rows = scores.detach()[:, :, at]
    return torch.equal((rows <= low / 2), closed.expand(rows.shape)) and not bool(rows.isnan().any())
