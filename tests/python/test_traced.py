"""Scores that are followed from their product to the softmax: the mask is that which acts on the numbers, whatever
is done to them on the way. Tested where torch is installed."""

import gc
import random
import weakref

import pytest

torch = pytest.importorskip("torch")

import maskctl
from running import Call, applies, only, run_in
from torch.nn import functional

N, LOW, FAR = 32, torch.finfo(torch.float32).min, -1e8  # no score is as low as FAR
CAUSAL = torch.ones(N, N).tril().bool()
BIAS = torch.zeros(N, N).masked_fill(~CAUSAL, LOW)
Q = torch.randn(2, 2, N, 3, generator=torch.Generator().manual_seed(2))


def scores_in(change):
    """A layer that makes scores, changes them and takes their softmax."""
    return Call(lambda q: functional.softmax(change(q @ q.transpose(-1, -2)), dim=-1) @ q)


def filled(scores):
    scores.masked_fill_(~CAUSAL, LOW)
    return scores


def added(scores):
    scores += BIAS
    return scores


@pytest.mark.parametrize("change", [
    lambda s: s + BIAS, lambda s: BIAS + s, added, filled, lambda s: s.masked_fill(~CAUSAL, float("-inf")),
    lambda s: 0.5 * s / 3 * 2 + BIAS[None, None], lambda s: s + torch.where(CAUSAL, 0.0, -torch.inf), lambda s: s + BIAS + BIAS])
def test_operations_on_scores_are_traced(change):
    call = only(run_in(maskctl.watch, scores_in(change), Q))
    assert call.known == "traced" and applies(call.mask, CAUSAL) and call.lengths == (2, 2, N, N) and not call.unread
    assert call.given in ({"added": "float32 1x1x32x32"}, {"filled": "bool 1x1x32x32"},
                          {"added": "float32 1x1x32x32 and float32 1x1x32x32"})


def test_traced_scores_without_a_mask_are_open():
    call = only(run_in(maskctl.watch, scores_in(lambda s: s * 0.5), Q))
    assert call.known == "traced" and applies(call.mask, torch.ones(N, N).bool())


def test_one_mask_of_many_layers_is_read_once(monkeypatch):
    from maskctl import _traced

    reads = []
    monkeypatch.setattr(_traced, "Mask", lambda *arguments: reads.append(1) or maskctl.Mask(*arguments))
    model = torch.nn.Sequential(*(scores_in(lambda s: s + BIAS[:, :N]) for _ in range(5)))
    rows = run_in(maskctl.watch, model, Q)
    assert len(rows.calls) == 5 and len(rows) == 1 and len(reads) == 1


def one_cell(scores, low=LOW):
    scores = scores + BIAS
    scores[0, 1, 9, 4] = low
    return scores


def late(scores):
    bias = BIAS.clone()
    scores = scores + bias
    bias[9, 4] = LOW  # after it was added: acts on nothing
    return scores


def past_torch(scores):
    scores = scores + BIAS
    scores.data[:, :, :, 4] = LOW
    return scores


@pytest.mark.parametrize("change", [
    one_cell, late, past_torch, lambda s: (s + BIAS) * 2, lambda s: (s + BIAS).clone(), lambda s: (s + BIAS).clamp(min=-1e30),
    lambda s: s + BIAS * 1e-30, lambda s: s + BIAS + torch.rand(N, N), lambda s: s + ~CAUSAL, lambda s: s * BIAS.exp() + BIAS,
    lambda s: s.masked_fill(~CAUSAL, 5.0), lambda s: s * float("nan") + BIAS, lambda s: s[:, :1] + BIAS,
    lambda s: torch.zeros_like(s) + BIAS])
def test_operations_that_cannot_be_traced_are_read_from_the_weights(change):
    rows = maskctl.watch(scores_in(change))
    with rows as seen:
        torch.manual_seed(0)
        rows._model(Q)
    torch.manual_seed(0)
    numbers = change(Q @ Q.transpose(-1, -2))
    for call in seen.calls:
        assert call.known != "traced"
        if call.mask is not None:
            assert applies_to(call.mask, ~(numbers <= FAR))


def applies_to(mask, cells):
    return torch.equal(torch.from_dlpack(mask).bool().reshape(mask.shape).expand(cells.shape), cells)


STEPS = [lambda s: s + BIAS, lambda s: s * 0.3, lambda s: s / -2, lambda s: s.masked_fill(~CAUSAL, LOW), filled, added,
         one_cell, lambda s: s + BIAS.flip(1), lambda s: s.masked_fill(CAUSAL.flip(0), LOW), torch.clone, torch.tanh]


def test_random_operations_give_the_mask_of_the_weights():
    """The twin looks at every number of every head."""
    draw, known = random.Random(60), set()
    for _ in range(60):
        steps = [draw.choice(STEPS) for _ in range(draw.randrange(4))]

        def change(scores, steps=steps):
            for step in steps:
                scores = step(scores)
            return scores
        call = only(run_in(maskctl.watch, scores_in(change), Q))
        numbers = change(Q @ Q.transpose(-1, -2))
        assert call.mask is not None and applies_to(call.mask, ~(numbers <= FAR)), steps
        known.add(call.known)
    assert known == {"traced", "weights"}


def test_scores_as_large_as_the_closing_number_are_not_traced():
    assert only(run_in(maskctl.watch, scores_in(lambda s: s * 1e37 + BIAS), Q)).known == "weights"


def test_in_inference_mode_the_weights_are_read():
    with torch.inference_mode():
        call = only(run_in(maskctl.watch, scores_in(lambda s: s + BIAS), Q))
    assert call.known == "weights" and applies(call.mask, CAUSAL)


def test_half_precision_is_traced_unless_scores_are_too_large():
    for dtype, scale, known in ((torch.bfloat16, 1, "traced"), (torch.float16, 1, "traced"), (torch.float16, 60, "weights")):
        bias = torch.zeros(N, N, dtype=dtype).masked_fill(~CAUSAL, torch.finfo(dtype).min)
        call = only(run_in(maskctl.watch, scores_in(lambda s, bias=bias: s + bias), Q.to(dtype) * scale))
        assert call.known == known and call.dtype == str(dtype)[6:]
        assert known == "weights" or applies(call.mask, CAUSAL)


def test_tracing_keeps_no_tensor_alive():
    held = []

    def change(scores):
        bias = BIAS.clone()
        held.extend(weakref.ref(one) for one in (bias, scores))
        return scores + bias

    model = scores_in(change)
    with maskctl.watch(model):
        model(Q)
    gc.collect()
    assert [one() for one in held] == [None, None]


def test_torch_modes_of_the_user_see_the_same_calls():
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Functions(TorchFunctionMode):
        def __torch_function__(self, function, kinds, arguments=(), keywords=None):
            self.seen.append(getattr(function, "__name__", str(function)))
            return function(*arguments, **(keywords or {}))

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(self, function, kinds, arguments=(), keywords=None):
            self.seen.append(str(function))
            return function(*arguments, **(keywords or {}))

    model = scores_in(lambda s: s * 0.5 + BIAS)

    def run_under(kind):
        mode = kind()
        mode.seen = []
        with mode:
            model(Q)
        return mode.seen

    for kind in (Functions, Operators):
        before = run_under(kind)
        with maskctl.watch(model) as rows:
            assert run_under(kind) == before and before
        assert applies(only(rows).mask, CAUSAL)
