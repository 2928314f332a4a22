"""maskctl.capture, tested where torch is installed; tests/peers/capture.py tests it with
transformers."""

import sys
import types

import flash_attn_calls
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import maskctl
from maskctl import Error, Mask


class Attention(torch.nn.Module):
    def forward(self, x, **flags):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, **flags)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Attention(), Attention(), Attention()])

    def forward(self, x, flags):
        for layer, flag in zip(self.layers, flags):
            x = layer(x, **flag)
        return x


NEAR = torch.ones(12, 12).tril().triu(-3).bool()
FLAGS = [{"is_causal": True}, {"attn_mask": NEAR}, {"is_causal": True}]


@pytest.fixture
def x():
    return torch.randn(2, 4, 12, 8)


def test_capture_records_layers_and_masks(x, tmp_path):
    model = Model()
    expected = model(x, FLAGS)
    original = torch.nn.functional.scaled_dot_product_attention
    with maskctl.capture(model) as run:
        assert torch.equal(model(x, FLAGS), expected)
    assert torch.nn.functional.scaled_dot_product_attention is original
    assert run.layers == ["layers.0", "layers.1", "layers.2"]
    assert run["layers.0"] == Mask.parse("causal", 12)
    assert [mask.name for mask in run] == ["layers.0,2", "layers.1"]
    assert [(call.module, call.lengths, call.dtype, call.times) for call in run.calls] == [
        ("Attention", (2, 4, 12, 12), "float32", 1)] * 3
    assert "layers.1" in run.table() and "window:keys=4" in run.table()
    assert run.check() and not run.check(expect="window:keys=4")
    run.save(tmp_path / "run.npz")
    assert Mask.read(f"{tmp_path}/run.npz:layers.1") == Mask(NEAR)
    with pytest.raises(Error, match="exists .* force="):
        run.save(tmp_path / "run.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_equal_calls_are_recorded_once_and_changed_masks_again(x):
    model, mask = Model(), NEAR.clone()
    with maskctl.capture(model) as run:
        for _ in range(3):
            model(x, [{"attn_mask": mask}])
        mask[5, 4] = False
        model(x, [{"attn_mask": mask}])
    assert [call.times for call in run.calls] == [3, 1]
    assert len(run) == 2 and run["layers.0"].why(5, 4).status == 1


def test_after_an_exception_records_are_kept_and_functions_restored(x):
    model, original = Model(), torch.nn.Module.__call__
    with pytest.raises(KeyError), maskctl.capture(model) as run:
        model(x, FLAGS)
        raise KeyError
    assert len(run.calls) == 3 and torch.nn.Module.__call__ is original
    with pytest.raises(Error, match="^capture: no softmax .* and no attention function that is known ran inside"):
        with maskctl.capture(model):
            pass
    with pytest.raises(Error, match="a list is no torch.nn.Module"):
        maskctl.capture([])


def test_a_mask_that_does_not_fit_is_reported(x):
    model = Model()
    with maskctl.capture(model) as run, pytest.raises(RuntimeError):
        model(x, [{"attn_mask": torch.ones(5, 5).bool()}])
    assert run.calls[0].mask is None and "not read" in run.table() and not run.check()


def test_a_bias_closes_only_cells_of_minus_infinity(x):
    model, cells = Model(), np.tri(12, dtype=bool)
    bias = torch.rand(12, 12).masked_fill(~torch.from_numpy(cells), -torch.inf)
    with maskctl.capture(model) as run:
        model(x, [{"attn_mask": bias}])
    assert run["layers.0"] == Mask(cells)


@pytest.fixture
def flash_attn():
    """A function that puts the stand-ins of one version of flash-attn where the real ones would be."""
    def put(version):
        module_name = flash_attn_calls.SIGNATURES[version][0]
        module = sys.modules[module_name] = types.ModuleType(module_name)
        for of, name, function in flash_attn_calls.functions():
            if of == version:
                setattr(module, name.rpartition(".")[2], function)
        return module

    yield put
    for module_name, _ in flash_attn_calls.SIGNATURES.values():
        sys.modules.pop(module_name, None)


class Other(torch.nn.Module):
    def forward(self, function, *arguments, **keywords):
        return function(*arguments, **keywords)


def captured(function, *arguments, **keywords):
    with maskctl.capture(Other()) as run:
        Other()(getattr(*function), *arguments, **keywords)
    return run


def test_calls_of_flash_attn_are_read_as_translate_reads_them(flash_attn):
    x = torch.zeros(1, 8, 2, 16)
    run = captured((flash_attn("3"), "flash_attn_func"), x, x, x, causal=True, attention_chunk=4)
    assert "chunk:size=4 | causal" in run.table() and "attention_chunk=4" in run.table()
    ends = torch.tensor([0, 4, 8], dtype=torch.int32)
    run = captured((flash_attn("3"), "flash_attn_varlen_func"), *[x[0]] * 3, ends, ends, 4, 4, causal=True,
                   seqused_k=torch.tensor([2, 4], dtype=torch.int32))
    assert next(iter(run)).count() == 13
    run = captured((flash_attn("2"), "flash_attn_qkvpacked_func"), torch.zeros(1, 8, 3, 2, 16), causal=True)
    assert next(iter(run)) == Mask.parse("causal", 8)
    run = captured((flash_attn("3"), "flash_attn_qkvpacked_func"), torch.zeros(1, 8, 6, 16), causal=True, num_heads_q=2)
    assert next(iter(run)) == Mask.parse("causal", 8)


def test_unread_arguments_of_flash_attn_are_reported(flash_attn):
    x = torch.zeros(1, 8, 2, 16)
    run = captured((flash_attn("4"), "flash_attn_func"), x, x, x, mask_mod=lambda *_: True)
    assert run.table().endswith("not read: mask_mod") and not len(run)
    run = captured((flash_attn("4"), "flash_attn_func"), x, x, x, gather_kv_indices=torch.ones(1, 8, 4, dtype=torch.int32))
    assert run.table().endswith("not read: gather_kv_indices") and "not read: gather_kv_indices" in str(run.check())


def test_lengths_that_change_in_place_are_read_again(flash_attn):
    x, used, module = torch.zeros(1, 8, 2, 16), torch.tensor([3], dtype=torch.int32), flash_attn("2")
    with maskctl.capture(Other()) as run:
        for _ in range(2):
            Other()(module.flash_attn_with_kvcache, x, x, x, cache_seqlens=used)
            used += 1
    assert [mask.count() for mask in run] == [8 * 3, 8 * 4]


def test_an_unknown_argument_of_sdpa_is_reported(x):
    model = Other()
    with maskctl.capture(model) as run, pytest.raises(TypeError):
        model(lambda: torch.nn.functional.scaled_dot_product_attention(x, x, x, window=4))
    assert "not read: window=4" in run.table()
    with maskctl.capture(model) as run, pytest.raises(TypeError):
        model(lambda: torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=NEAR, window=4))
    assert "not read: window=4" in run.table()
