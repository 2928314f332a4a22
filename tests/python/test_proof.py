"""What maskctl.capture(prove=) says of a sample of rows, against the mask that kernels really apply. Tested
where torch is installed."""

import sys
import types

import pytest

torch = pytest.importorskip("torch")

import maskctl
from maskctl import Error
from torch.nn import functional

S = 96
DRAW = torch.Generator().manual_seed(7)
AT = torch.arange(S)
CAUSAL = AT[:, None] >= AT
NEAR = CAUSAL & (AT[:, None] - AT < 20)


class Layer(torch.nn.Module):
    def __init__(self, does):
        super().__init__()
        self.does = does

    def forward(self, *arguments):
        return self.does(*arguments)


def arrays(heads=4, dtype=torch.float32):
    return tuple(torch.randn(2, n, S, 32, generator=DRAW).to(dtype) for n in (heads, 2, 2))


def proved(does, *arguments, rows=32):
    layer = Layer(does)
    with maskctl.capture(layer, prove=rows) as run:
        out = layer(*arguments)
    assert torch.equal(out, layer(*arguments)) and len(run.calls) == 1
    return run, run.calls[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("flags", [{"is_causal": True}, {"attn_mask": NEAR, "scale": 0.3}, {}])
def test_kernels_of_torch_obey_their_masks(dtype, flags):
    run, call = proved(lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, **flags),
                       *arrays(dtype=dtype))
    assert call.obeys and "32 of 32 rows solved" in call.applied and "0 differ from what was given" in call.applied
    assert call.applied in run.table()


@pytest.fixture
def wrong_flash():
    """A stand-in for flash-attn that applies a window of its own."""
    def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                        alibi_slopes=None, deterministic=False, return_attn_probs=False):
        turned = (one.transpose(1, 2) for one in (q, k, v))
        return functional.scaled_dot_product_attention(*turned, NEAR, enable_gqa=True).transpose(1, 2)

    module = sys.modules["flash_attn"] = types.ModuleType("flash_attn")
    module.flash_attn_func = flash_attn_func
    yield module
    del sys.modules["flash_attn"]


def test_a_kernel_that_does_not_obey_is_reported(wrong_flash):
    q, k, v = (one.transpose(1, 2) for one in arrays())
    run, call = proved(lambda q, k, v: wrong_flash.flash_attn_func(q, k, v, causal=True), q, k, v)
    assert call.obeys is False and not run.check() and call.applied in str(run.check())
    assert "differ from what was given, the first batch 0, head 1, query 23, key 0, closed" in call.applied
    assert "queries obey window:keys=20" in call.applied
    with pytest.raises(Error, match="differ from what was given"):
        with maskctl.capture(Layer(None), prove=8, fail=True):
            wrong_flash.flash_attn_func(q, k, v, causal=True)
    _, call = proved(lambda q, k, v: wrong_flash.flash_attn_func(q, k, v, causal=True, window_size=(19, 0)), q, k, v)
    assert call.obeys


def test_the_mask_of_an_unknown_kernel_is_solved_from_its_output(monkeypatch):
    def closed(module, query, key, value, attention_mask, scaling=None, **_):
        return KERNELS[0](query, key, value, NEAR, enable_gqa=True).transpose(1, 2), None

    home = types.ModuleType("transformers.modeling_utils")
    home.ALL_ATTENTION_FUNCTIONS = types.SimpleNamespace(_global_mapping={"closed": closed})
    monkeypatch.setitem(sys.modules, home.__name__, home)
    functions = home.ALL_ATTENTION_FUNCTIONS._global_mapping
    q, k, v = arrays()
    run, call = proved(lambda q, k, v: functions["closed"](None, q, k, v, None)[0], q, k, v)
    assert call.known == "solved" and call.mask is None and not run.check()
    assert "queries obey window:keys=20" in call.applied


# Functions in a tuple cannot be replaced by watched ones, so this kernel is only seen from outside.
KERNELS = (functional.scaled_dot_product_attention,)


def test_a_call_with_dropout_is_not_solved():
    layer = Layer(lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, dropout_p=0.5))
    with maskctl.capture(layer, prove=8) as run:
        layer(*arrays())
    assert run.calls[0].applied == "not solved beside dropout" and run.calls[0].obeys is None


@pytest.mark.parametrize("bias", [torch.randn(S, S), torch.randn(2, 4, S, S).masked_fill(~NEAR, -1e9)])
def test_the_numbers_of_an_additive_mask_are_part_of_the_judged_call(bias):
    run, call = proved(lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, attn_mask=bias), *arrays())
    assert call.obeys and "32 of 32 rows solved" in call.applied and run.check


def test_a_kernel_that_ignores_its_soft_cap_is_reported(wrong_flash):
    """Its mask is the given one, in all rows, and its soft cap is left out, so that no keys explain the output."""
    q, k, v = (one.transpose(1, 2) for one in arrays())
    window = {"causal": True, "window_size": (19, 0)}
    run, call = proved(lambda q, k, v: wrong_flash.flash_attn_func(q, k, v, softcap=1.0, **window), q, k, v)
    assert call.obeys is False and not run.check()
    assert call.applied.startswith("0 of 32 rows solved") and "without logits_soft_cap 1.0" in call.applied


def test_rows_without_a_key_are_left_out():
    """Kernels give zeros, NaN or the mean for them."""
    mask = NEAR & (AT > 30)
    _, call = proved(lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, attn_mask=mask), *arrays())
    assert call.obeys and "24 of 24 rows solved, 0 differ" in call.applied
    layer = Layer(lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, attn_mask=mask & False))
    with maskctl.capture(layer, prove=8) as run:
        layer(*arrays())
    assert run.calls[0].applied == "not solved without a row that has a key"


def test_stored_samples_stay_within_the_memory_limit(monkeypatch):
    """As in generate(), where each step is a row of its own."""
    from maskctl import _watch
    monkeypatch.setattr(_watch, "_MOST_HELD", 1 << 20)
    layer = Layer(lambda *arrays: functional.scaled_dot_product_attention(*arrays))
    eye = maskctl.watch(layer, prove=8)
    with eye as run:
        for keys in range(100, 130):
            layer(*(torch.randn(2, 4, n, 32) for n in (1, keys, keys)))
            assert eye._held <= 1 << 20
    assert len(run.calls) == 30 and all(call.obeys for call in run.calls)


def test_bad_numbers_are_refused():
    for rows in (-1, "64", 1.5):
        with pytest.raises(Error, match="expected a number of rows"):
            maskctl.watch(Layer(None), prove=rows)
