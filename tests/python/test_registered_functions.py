"""Functions in transformers' table of attention functions, inside maskctl.watch and maskctl.capture. Tested
with a stand-in for the table, where torch is installed."""

import sys
import types

import pytest

torch = pytest.importorskip("torch")

from maskctl import Mask
from running import CAUSAL, Call, both, only, run_in
from torch.nn import functional


class Registry:
    """transformers' table of attention functions."""

    def __init__(self, **functions):
        self._global_mapping, self._local_mapping = functions, {}


@pytest.fixture
def registered(monkeypatch):
    def put(name, function, is_own=False):
        home = types.ModuleType("transformers.modeling_utils")
        home.ALL_ATTENTION_FUNCTIONS = Registry(**{name: function})
        if is_own:
            function.__module__ = "transformers.integrations"
        monkeypatch.setitem(sys.modules, home.__name__, home)
        mapping = home.ALL_ATTENTION_FUNCTIONS._global_mapping
        return Call(lambda q, k, mask=None, **flags: mapping[name](Call(None), q, k, k, mask, **flags))

    return put


@both
def test_a_registered_function_is_called_by_position(eye, registered):
    def causal(module, q, k, v, attention_mask, scaling=None, **_):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    def closed(module, q, k, v, mask, **_):
        return q * 2

    q = torch.randn(1, 2, 6, 8)
    assert only(run_in(eye, registered("mine", causal), q, q)).mask == Mask(CAUSAL)
    rows = run_in(eye, registered("mine", closed), q, q, CAUSAL)
    assert "what closed does with its arguments is its own" in only(rows).unread and not rows.check()


@both
def test_position_ids_that_start_again_separate_documents(eye, registered):
    def flash_attention_forward(module, query, key, value, attention_mask, dropout=0.0, scaling=None,
                                sliding_window=None, softcap=None, is_causal=None, **_):
        return query

    q = torch.randn(1, 2, 8, 4)
    inner = registered("flash_attention_2", flash_attention_forward, True)
    for positions, pipeline in (([0, 1, 2, 0, 1, 2, 3, 4], "doc:lens=3+5 | causal"), (list(range(8)), "causal")):
        model = Call(lambda q: inner.does(q, q, position_ids=torch.tensor([positions]), is_causal=True))
        assert only(run_in(eye, model, q)).mask == Mask.parse(pipeline, 8)


@both
def test_query_heads_that_are_packed_into_rows_are_read_as_heads(eye, registered):
    def sdpa_attention_forward(module, query, key, value, attention_mask, **_):
        folded = query.reshape(query.shape[0], key.shape[1], -1, query.shape[-1])
        return functional.scaled_dot_product_attention(folded, key, value, attention_mask)

    q, k = torch.randn(2, 4, 1, 8), torch.randn(2, 2, 7, 8)
    valid = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    valid[1, ..., :3] = False
    model = registered("sdpa", sdpa_attention_forward, True)
    call = only(run_in(eye, model, q, k, valid))
    assert call.lengths == (2, 4, 1, 7) and call.mask == Mask(valid, "dense")
    heads = torch.rand(2, 2, 2, 7, generator=torch.Generator().manual_seed(0)) < 0.5
    call = only(run_in(eye, model, q, k, heads))
    assert call.lengths == (2, 4, 1, 7) and call.mask == Mask(heads.reshape(2, 4, 1, 7), "dense")
