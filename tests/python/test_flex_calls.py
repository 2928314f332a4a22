"""What maskctl.watch and maskctl.capture make of FlexAttention, whose masks are functions and lists.
Tested where torch is installed."""

import sys
import types

import pytest

torch = pytest.importorskip("torch")

import maskctl
from maskctl import Mask, flex
from torch.nn.attention import flex_attention as home

pytestmark = pytest.mark.filterwarnings("ignore")
both = pytest.mark.parametrize("eye", [maskctl.watch, maskctl.capture])
N = 64
Q = torch.randn(1, 2, N, 16, generator=torch.Generator().manual_seed(1))


class Layer(torch.nn.Module):
    """A layer with a mask of its own, or the one that it is given."""

    def __init__(self, own=None, score_mod=None, function=home.flex_attention):
        super().__init__()
        self.own, self.score_mod, self.function = own, score_mod, function

    def forward(self, q, block_mask=None):
        return self.function(q, q, q, block_mask=self.own or block_mask, score_mod=self.score_mod)


def block_mask(mask_mod, n=N):
    return home.create_block_mask(mask_mod, 1, 1, n, n, device="cpu")


def causal(b, h, q, k):
    return q >= k


def rows_of(eye, *layers, q=Q, mask=None):
    model = torch.nn.ModuleList(layers)
    expected = [layer(q, mask) for layer in layers]
    with eye(model) as rows:
        assert all(torch.equal(layer(q, mask), out) for layer, out in zip(layers, expected))
    return rows


@both
def test_the_mask_is_that_of_the_call_not_of_the_module(eye):
    leaky = block_mask(lambda b, h, q, k: (q >= k) | ((q == 3) & (k == 40)))
    rows = rows_of(eye, Layer(), Layer(leaky), mask=block_mask(causal))
    assert rows.layers == ["0", "1"] and rows["0"] == Mask.parse("causal", N)
    assert (rows["1"] - rows["0"]).count() == 1 and rows["1"][0, 0, 3, 40]
    assert [call.known for call in rows.calls] == ["computed"] * 2 and not rows.check()


@both
def test_variables_that_a_mask_mod_captures_are_read_in_each_call(eye):
    ids = (torch.arange(N) >= 20).long()
    made = block_mask(lambda b, h, q, k: ids[q] == ids[k])
    layer = Layer(made)
    with eye(layer) as rows:
        layer(Q)
        layer(Q)
        ids.copy_((torch.arange(N) >= 50).long())
        layer(Q)
    assert [call.times for call in rows.calls] == [2, 1]
    assert [mask.count() for mask in rows] == [20 * 20 + 44 * 44, 50 * 50 + 14 * 14]


@both
def test_cells_that_a_score_mod_closes_are_computed(eye):
    closes = Layer(score_mod=lambda score, b, h, q, k: torch.where(q >= k, score, -float("inf")))
    caps = Layer(score_mod=lambda score, b, h, q, k: 5 * torch.tanh(score / 5))
    slopes = Layer(block_mask(causal), lambda score, b, h, q, k: score - 2.0 * (q - k))
    rows = rows_of(eye, closes, caps, slopes)
    for layer, pipeline in (("0", "causal"), ("1", ""), ("2", "causal")):
        wanted = Mask.parse(pipeline, (1, 2, N, N)) if pipeline else Mask.read(f"gen:full:b=1,h=2,q={N},k={N}")
        assert rows[layer] == wanted, rows
    assert {call.known for call in rows.calls} == {"computed"}


@pytest.fixture
def compiled(monkeypatch):
    """A stand-in for what torch.compile makes of flex_attention, under a name of a user's module."""
    def compiled_flex_attention(query, key, value, score_mod=None, block_mask=None, **_):
        return query

    compiled_flex_attention._torchdynamo_orig_callable = home.flex_attention
    module = types.ModuleType("a_model")
    module.attend = compiled_flex_attention
    monkeypatch.setitem(sys.modules, "a_model", module)
    return lambda *arguments, **keywords: module.attend(*arguments, **keywords)


@both
def test_lists_that_differ_from_the_mask_mod_are_reported(eye, compiled):
    """Kernels visit the blocks that are listed; code that is not compiled calls the function for all."""
    one = torch.ones(1, 1, 2, dtype=torch.int32)
    indices = torch.tensor([[[[0, 1], [1, 0]]]], dtype=torch.int32)
    lists = home.BlockMask.from_kv_blocks(one, indices, BLOCK_SIZE=128, mask_mod=causal)
    q = torch.randn(1, 2, 256, 16)
    rows = rows_of(eye, Layer(lists), Layer(lists, function=compiled), q=q)
    assert rows["0"] == Mask.parse("causal", 256) and rows["1"] == Mask.parse("causal | chunk:size=128", 256)
    assert rows.table().count("whose lists and mask_mod differ in 16384 cells") == 2


@pytest.mark.parametrize("mask_mod", [lambda b, h, q, k: k < 4, lambda b, h, q, k: q >= 0, home.noop_mask])
def test_a_function_that_ignores_an_index_is_evaluated(mask_mod):
    made = block_mask(mask_mod, 300)
    assert flex.mask(made, evaluate=True) == Mask(made)


@both
def test_a_mask_mod_that_raises_gets_a_row_in_the_table(eye):
    made = block_mask(causal)
    made.mask_mod = lambda b, h, q, k: {}[q]

    def passes_over(q, k, v, block_mask, score_mod):
        try:
            return home.flex_attention(q, k, v, block_mask=block_mask)
        except Exception:
            return q

    rows = rows_of(eye, Layer(made, function=passes_over))
    assert "its mask_mod raised KeyError" in rows.calls[0].unread and not rows.check()
