"""Layers that are run inside maskctl.watch and maskctl.capture by tests; imported where torch is installed."""

import maskctl
import pytest
import torch
from maskctl import Mask
from torch.nn import functional

EYES = [maskctl.watch, maskctl.capture]
both = pytest.mark.parametrize("eye", EYES)


class Call(torch.nn.Module):
    """A layer that does what it is given."""

    def __init__(self, does):
        super().__init__()
        self.does = does

    def forward(self, *arguments):
        return self.does(*arguments)


class Attention(torch.nn.Module):
    """Eager attention on [B, S, E]: `change` makes of scores [B, H, Q, K] those that its softmax gets."""

    def __init__(self, change=lambda scores: scores, heads=2):
        super().__init__()
        self.change, self.heads = change, heads

    def forward(self, x):
        q = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        weights = functional.softmax(self.change(q @ q.transpose(-1, -2)), dim=-1)[..., -x.shape[1]:]
        return (weights @ q).transpose(1, 2).flatten(2)


def run_in(eye, model, *arguments):
    """The rows, and the output, after a check that nothing was disturbed."""
    names = (functional.scaled_dot_product_attention, functional.softmax, functional.multi_head_attention_forward,
             torch.softmax, torch.matmul, torch.einsum, torch.cat, torch.nn.Module.__call__, torch._ops.OpOverload.__call__)
    of_tensors = set(vars(torch.Tensor))
    expected = model(*arguments)
    with eye(model) as rows:
        out = model(*arguments)
    assert torch.equal(out, expected)
    assert of_tensors == set(vars(torch.Tensor)) and names == (
        functional.scaled_dot_product_attention, functional.softmax, functional.multi_head_attention_forward,
        torch.softmax, torch.matmul, torch.einsum, torch.cat, torch.nn.Module.__call__, torch._ops.OpOverload.__call__)
    return rows


def only(rows):
    assert len(rows.calls) == 1, rows
    return rows.calls[0]


def applies(mask, wanted):
    """Whether a mask has these cells in each head and batch entry."""
    wanted = wanted if isinstance(wanted, Mask) else Mask(wanted, "dense")
    one, other = (torch.from_dlpack(each).bool().reshape(each.shape) for each in (mask, wanted))
    return one.shape[2:] == other.shape[2:] and bool((one == other).all())


X = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(1))
CAUSAL = torch.ones(6, 6).tril().bool()
