"""maskctl.watch: its list of masks without torch, the rest where torch is installed."""

import re
import threading

import numpy as np
import pytest

import maskctl
from maskctl import Error, Mask
from maskctl._seen import Seen, joined


def test_names_of_layers_are_joined_at_their_first_number():
    assert joined(["layers.0.a", "layers.1.a", "layers.2.a", "layers.4.a"]) == "layers.0-2,4.a"
    assert joined(["a", "a", "b", "a1", "a3"]) == "a, b, a1,3"
    assert joined(["a", "a"]) == "a"


def test_a_mask_is_listed_once_and_an_unread_layer_with_the_reason():
    seen = Seen()
    for layer in ("layers.0", "layers.1"):
        seen._add(layer, np.ones((5, 7), bool))  # which would fit several kinds
    seen.unread["layers.2"] = "no elements"
    assert str(seen) == "layers.0-1: 1x1x5x7, every cell open\nlayers.2: not read: no elements"
    assert len(seen) == 1 and seen.layers == ["layers.0", "layers.1"]


torch = pytest.importorskip("torch")


class Attention(torch.nn.Module):
    def forward(self, q, k=None, mask=None):
        k = q if k is None else k
        return torch.nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=mask)


QUERY, KEY = torch.rand(1, 2, 5, 8), torch.rand(1, 2, 7, 8)


def hooks_of(model):
    return [len(module._forward_pre_hooks) + len(module._forward_hooks) for module in model.modules()]


@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (2, 5, 7), (1, 2, 5, 7), (1, 1, 1, 7)])
def test_masks_of_every_shape_are_read(shape):
    model = Attention()
    expected = model(QUERY, KEY, torch.ones(shape).bool())
    with maskctl.watch(model) as masks:
        assert torch.equal(model(QUERY, KEY, torch.ones(shape).bool()), expected)
    assert masks["Attention"].shape[2:] == (5, 7) and not masks.unread


@pytest.mark.parametrize("number", [-1e9, -1e4, torch.finfo(torch.float32).min])
def test_a_row_that_is_closed_as_a_whole_sees_nothing(number):
    class Eager(torch.nn.Module):
        def forward(self, q, bias):
            return torch.nn.functional.softmax(q @ q.transpose(-1, -2) + bias, dim=-1)

    bias = torch.where(torch.ones(4, 4).tril().bool(), 0.0, number)
    bias[2] = number
    model = Eager()
    with maskctl.watch(model) as masks:
        model(torch.rand(1, 2, 4, 4), bias)
    assert masks["Eager"].count() == 2 * (1 + 2 + 4)  # of both heads


@pytest.mark.parametrize("ctx", [maskctl.watch, maskctl.capture])
@pytest.mark.parametrize("device", ["fake", "meta"])
def test_tensors_without_elements_do_not_stop_a_model(ctx, device, recwarn):
    from torch._subclasses.fake_tensor import FakeTensorMode

    model = Attention()
    with FakeTensorMode() if device == "fake" else torch.device("meta"):
        q, mask = torch.rand(1, 2, 5, 8), torch.ones(5, 5, dtype=torch.bool)
        with ctx(model) as seen:
            assert model(q, None, mask).shape == (1, 2, 5, 8)
    assert re.search(f"not read: .*a {device} tensor has no elements", str(seen))
    assert not [warning for warning in recwarn if "data pointer" in str(warning.message)]


def test_a_model_fails_with_its_own_exception_and_keeps_no_hook():
    model = torch.nn.Sequential(Attention())
    with pytest.raises(RuntimeError, match="must match"), maskctl.watch(model):
        model[0](QUERY, KEY, torch.ones(5, 6).bool())
    assert not any(hooks_of(model))
    with pytest.raises(Error, match="a int is no torch.nn.Module"), maskctl.watch(5):
        pass
    scripted = torch.nn.Sequential(Attention(), torch.jit.script(torch.nn.Linear(8, 8)))
    with maskctl.watch(scripted) as masks:
        scripted(QUERY)
    assert masks.layers == ["0"] and not any(hooks_of(scripted))


def test_layers_of_different_threads_are_kept_apart():
    model = torch.nn.ModuleDict({"a": Attention(), "b": Attention()})
    near = {name: torch.ones(5, 5).tril().triu(-n).bool() for name, n in (("a", 1), ("b", 3))}
    ends = threading.Event()

    def run():
        for name, layer in model.items():
            layer(QUERY, None, near[name])

    def others():
        while not ends.is_set():
            run()

    threads = [threading.Thread(target=others) for _ in range(3)]
    with maskctl.watch(model) as masks:
        for thread in threads:
            thread.start()
        for _ in range(50):
            run()
        ends.set()
        for thread in threads:
            thread.join()
    assert {mask.name: mask for mask in masks} == {name: Mask(cells) for name, cells in near.items()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ctx", [maskctl.watch, maskctl.capture])
def test_torch_jit_trace_inside_watch_still_gives_a_table(ctx):
    model = Attention()
    with ctx(model) as seen:
        torch.jit.trace(model, (QUERY, QUERY, torch.ones(5, 5).bool()))
    assert str(seen)


def test_storage_that_was_freed_is_an_error():
    freed = torch.ones(64, 64, dtype=torch.bool)
    freed.untyped_storage().resize_(0)
    with pytest.raises(Error, match="without memory"):
        Mask(freed)


def test_a_block_mask_is_compared_with_a_mask():
    from torch.nn.attention.flex_attention import create_block_mask

    block_mask = create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 256, 256, device="cpu")
    mask = Mask.parse("causal", 256)
    assert mask.diff(block_mask) and mask == block_mask and block_mask == mask
    assert "window left" in mask.apply("window:keys=16").diff(block_mask).text
