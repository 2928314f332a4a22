"""What maskctl.watch and maskctl.capture make of modules that have been read wrongly once, or could be:
every row is the mask that acts, or says why it was not read. Tested where torch is installed."""

import functools
import pathlib
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

import maskctl
from maskctl import Error, Mask
from running import CAUSAL, EYES, X, Attention, Call, applies, both, only, run_in
from torch.nn import functional


@both
@pytest.mark.parametrize("low", [float("-inf"), torch.finfo(torch.float32).min, -1e9, -10000.0, -100.0])
def test_cells_closed_by_adding_to_scores_are_found(eye, low):
    bias = torch.zeros(6, 6).masked_fill(~CAUSAL, low)
    call = only(run_in(eye, Attention(lambda scores: scores + bias), X))
    assert applies(call.mask, CAUSAL) and call.known == "weights" and call.lengths == (2, 2, 6, 6)
    call = only(run_in(eye, Call(lambda q: functional.scaled_dot_product_attention(q, q, q, attn_mask=bias)), X[:, None]))
    assert call.mask == Mask(CAUSAL) and call.known == "given"


def test_minus_10000_closes_cells_in_every_dtype():
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        bias, x = torch.zeros(6, 6, dtype=dtype).masked_fill(~CAUSAL, -10000.0), X[:, None].to(dtype)
        call = only(run_in(maskctl.capture, Call(lambda q: functional.scaled_dot_product_attention(q, q, q, bias)), x))
        assert call.mask == Mask(CAUSAL)


def test_a_bias_by_distance_is_not_read_as_a_window():
    """ALiBi's numbers pass -1000 in long rows, and close nothing."""
    n = 1500
    distance = torch.arange(n)[:, None] - torch.arange(n)
    bias = (-0.707 * distance).masked_fill(distance < 0, torch.finfo(torch.float32).min)
    call = only(run_in(maskctl.watch, Attention(lambda scores: scores + bias), torch.randn(1, n, 4)))
    assert applies(call.mask, Mask.parse("causal", n)) and not call.unread


def test_cells_that_cannot_be_decided_are_counted():
    bias = torch.zeros(6, 6)
    bias[5, 0] = -30.0
    rows = run_in(maskctl.watch, Attention(lambda scores: scores * 0.1 + bias), X)
    assert only(rows).unknown == 4 and "4 cells cannot be told" in rows.table()
    assert not rows.check() and only(rows).mask.count() == 36 * 4


def test_a_row_without_an_open_cell_is_read_as_closed():
    closed = CAUSAL.clone()
    closed[2] = False
    for low in (-1e9, torch.finfo(torch.float32).min):
        bias = torch.zeros(6, 6).masked_fill(~closed, low)
        assert applies(only(run_in(maskctl.watch, Attention(lambda scores: scores + bias), X)).mask, closed)


@both
def test_a_sink_column_is_not_read_as_a_key(eye):
    def with_sink(scores, front):
        scores = scores.masked_fill(~CAUSAL, float("-inf"))
        sink = torch.zeros(*scores.shape[:3], 1)
        return torch.cat([sink, scores] if front else [scores, sink], dim=-1)

    for front in (False, True):
        call = only(run_in(eye, Attention(functools.partial(with_sink, front=front)), X))
        assert call.lengths == (2, 2, 6, 6) and applies(call.mask, CAUSAL)


class Pieces(torch.nn.Module):
    """Attention in blocks of its queries, as in BigBird and LongT5."""

    def forward(self, x):
        q = x.unflatten(1, (3, 2))
        return ((q @ q.transpose(-1, -2)).softmax(-1) @ q).flatten(1, 2)


class Expert(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.weight = torch.nn.Linear(8, 6), torch.nn.Parameter(torch.randn(8, 6))

    def forward(self, x):
        shares = functional.softmax(self.gate(x), -1) + torch.softmax(x @ self.weight, -1)
        return x * torch.softmax(x.reshape(-1, 8) @ self.weight, dim=-1).sum() + shares.sum()


@both
def test_a_softmax_over_pieces_of_the_keys_is_not_read(eye):
    call = only(run_in(eye, Pieces(), X))
    assert call.mask is None and "2x3x2x2 is not over [.., Q, K]" in call.unread


@both
def test_the_softmax_of_a_router_is_not_read_as_attention(eye):
    model = torch.nn.Sequential(Attention(), Expert())
    for guard in (torch.no_grad, torch.inference_mode):
        with guard():
            rows = run_in(eye, model, X)
        assert rows.layers == ["0"] and rows.check()
        assert rows.other == {"a softmax over 2x6x6": 2, "a softmax over 12x6": 1} and "3 softmaxes" in rows.table()


class ByHand(torch.nn.Module):
    def forward(self, x):
        scores = x @ x.transpose(-1, -2)
        return (scores - scores.logsumexp(-1, keepdim=True)).exp() @ x


class Additive(torch.nn.Module):
    """Scores that are no product."""

    def forward(self, x):
        q = x.unflatten(-1, (2, -1)).transpose(1, 2)
        weights = (q[:, :, :, None] + q[:, :, None]).tanh().sum(-1).softmax(-1)
        return (weights @ q).transpose(1, 2).flatten(2)


class ClosedAttention(torch.nn.Module):
    def forward(self, x):
        return x * 2


@both
def test_attention_that_cannot_be_watched_gets_a_row(eye):
    rows = run_in(eye, torch.nn.Sequential(Attention(), ByHand(), ClosedAttention(), Additive()), X)
    assert rows.layers == ["0"] and not rows.check()
    assert "2x2x6x6 is not of a product of queries and keys that was seen" in rows.unread["3"]
    assert "no softmax of it was seen" in rows.unread["1"] and "no attention function that is known" in rows.unread["2"]


@both
@pytest.mark.filterwarnings("ignore")
def test_attention_in_torchscript_gets_a_row(eye):
    class Scores(torch.nn.Module):
        def forward(self, x):
            return torch.softmax(torch.matmul(x, x.transpose(-1, -2)), dim=-1).matmul(x)

    scripted = torch.jit.script(Scores())
    assert "TorchScript" in run_in(eye, torch.nn.Sequential(Attention(), scripted), X).unread["1"]
    assert "TorchScript" not in str(run_in(eye, torch.nn.Sequential(Attention(), torch.jit.script(torch.nn.Linear(8, 8))), X))
    inside = Call(lambda x: torch.jit.script(Scores())(x))  # compiled while functions are exchanged
    assert "TorchScript" in str(run_in(eye, inside, X))


@both
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("trains", [True, False])
def test_multi_head_attention_is_watched(eye, weights, trains):
    model = torch.nn.MultiheadAttention(8, 2, batch_first=True, dropout=0.0).train(trains)
    layer = Call(lambda x: model(x, x, x, attn_mask=~CAUSAL, need_weights=weights)[0])
    layer.inner = model
    call = only(run_in(eye, layer, X))
    assert call.layer == "inner" and applies(call.mask, CAUSAL) and call.lengths == (2, 2, 6, 6)


@both
@pytest.mark.parametrize("more", ["add_zero_attn", "add_bias_kv"])
def test_keys_that_multi_head_attention_adds_are_read_as_keys(eye, more):
    model = torch.nn.MultiheadAttention(8, 2, batch_first=True, **{more: True})
    for weights in (True, False):
        layer = Call(lambda x: model(x, x, x, attn_mask=~CAUSAL, need_weights=weights)[0])
        call = only(run_in(eye, layer, X))
        assert call.lengths[2:] == (6, 7) and applies(call.mask, functional.pad(CAUSAL, (0, 1), value=True))


@both
def test_encoder_layers_of_torch_are_watched(eye):
    padding = torch.zeros(2, 6, dtype=torch.bool)
    padding[1, 4:] = True
    encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2,
                                          enable_nested_tensor=False).eval()
    encoder.other = Call(lambda q: functional.scaled_dot_product_attention(q, q, q))
    for guard in (torch.enable_grad, torch.no_grad):
        with guard():
            rows = run_in(eye, encoder, X, None, padding)
        assert len(rows.calls) == 2 and all(applies(mask, Mask.from_key_padding(~padding)) for mask in rows)


@both
def test_a_mask_per_head_is_read_per_head(eye):
    heads = torch.rand(3, 5, 5, generator=torch.Generator().manual_seed(0)) < 0.5
    call = only(run_in(eye, Call(lambda q: functional.scaled_dot_product_attention(q, q, q, heads)), torch.randn(2, 3, 5, 8)))
    assert call.mask == Mask(heads[None], "dense")


@both
def test_a_causal_bias_has_no_elements(eye):
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    q, k = torch.randn(1, 2, 3, 8), torch.randn(1, 2, 5, 8)
    for bias, align in ((causal_lower_right(3, 5), "bottom-right"), (causal_upper_left(3, 5), "top-left")):
        call = only(run_in(eye, Call(lambda q, k: functional.scaled_dot_product_attention(q, k, k, bias)), q, k))
        assert call.mask == Mask.parse(f"causal:align={align}", (3, 5))


class ByClass(torch.nn.Module):
    attend = functional.scaled_dot_product_attention

    def forward(self, q):
        return self.attend(q, q, q, CAUSAL)


@both
def test_a_function_is_found_under_any_name(eye):
    q, attend = torch.randn(1, 2, 6, 8), functional.scaled_dot_product_attention
    partly = Call(functools.partial(attend, attn_mask=CAUSAL))
    space = {"attend": attend, "torch": torch}
    exec("def does(q): return attend(q, q, q, is_causal=True)", space)
    for layer, arguments in ((partly, (q, q, q)), (Call(lambda q: attend(q, q, q, CAUSAL)), (q,)),
                             (ByClass(), (q,)), (Call(space["does"]), (q,))):
        does = vars(layer).get("does")
        assert only(run_in(eye, layer, *arguments)).mask == Mask(CAUSAL)
        assert vars(layer).get("does") is does and space["attend"] is attend
    assert vars(ByClass)["attend"] is attend


@both
def test_query_rows_that_are_not_tokens_are_reported(eye):
    """The layer packs several query heads into the rows of each query."""
    def packs(x):
        q = x.unflatten(-1, (2, 2, -1)).flatten(1, 2).transpose(1, 2)  # [B, 2, 2, D] of one token
        return functional.scaled_dot_product_attention(q, q, q)

    call = only(run_in(eye, Call(packs), torch.randn(3, 1, 8)))
    assert call.lengths[2] == 2 and call.given["rows"] == "2 for 1 tokens of the layer"
    assert "rows" not in only(run_in(eye, Attention(), X)).given


@both
@pytest.mark.parametrize("call, words", [
    (lambda q: functional.scaled_dot_product_attention(q[None], q[None], q[None], torch.ones(1, 1, 1, 6, 6).bool()), "5 axes"),
    (lambda q: torch.vmap(lambda q, m: functional.scaled_dot_product_attention(q, q, q, m))(q, torch.ones(2, 6, 6).bool()), "Batched"),
    (lambda q: torch.vmap(lambda q: (q @ q.transpose(-1, -2)).softmax(-1))(q), "is not over"),
    (lambda q: torch.softmax(input=q @ q.transpose(-1, -2), dim=-2), "over axis -2"),
])
def test_a_call_that_cannot_be_read_gets_a_row(eye, call, words):
    rows = run_in(eye, Call(call), torch.randn(2, 3, 6, 8))
    assert words in only(rows).unread and not rows.check()


@both
def test_rows_of_nested_tensors_are_read(eye):
    rows = torch.nested.nested_tensor([torch.randn(2, 3, 8), torch.randn(2, 5, 8)])
    model = Call(lambda q: functional.scaled_dot_product_attention(q, q, q).to_padded_tensor(0.0))
    assert only(run_in(eye, model, rows)).mask == Mask.from_padding(torch.arange(5) < torch.tensor([[3], [5]]))


@both
def test_operators_of_torch_are_read_and_others_are_reported(eye):
    attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    q, bias = torch.randn(1, 2, 6, 8), torch.zeros(6, 6).masked_fill(CAUSAL.T, -torch.inf).fill_diagonal_(0)
    for operator in (attend, attend.default):
        causal = only(run_in(eye, Call(lambda q: operator(q, q, q, 0.0, True)[0]), q))
        assert causal.mask == Mask(CAUSAL) and "_scaled_dot_product" in causal.function
        call = only(run_in(eye, Call(lambda q: operator(q, q, q, attn_mask=bias)[0]), q))
        assert call.mask == Mask(bias == 0)
    with torch.library._scoped_library("a_library", "FRAGMENT") as library:
        library.define("paged_attention(Tensor q, Tensor table) -> Tensor")
        library.impl("paged_attention", lambda q, table: q * 2, "CPU")
        rows = run_in(eye, Call(lambda q: torch.ops.a_library.paged_attention(q, q)), q)
    assert only(rows).unread == "the operator a_library::paged_attention" and not rows.check()


@both
@pytest.mark.parametrize("name, is_attention", [
    ("xformers::efficient_attention_forward_cutlass", True), ("xformers_flash::flash_fwd", True), ("vllm::unified_attention", True),
    ("flashinfer::single_prefill_with_kv_cache", True), ("flashinfer::paged_run", True), ("_vllm_fa3_C::fwd", True),
    ("flashinfer::rmsnorm", False), ("vllm::moe_forward", False), ("xformers::efficient_attention_backward_cutlass", False)])
def test_operators_of_other_libraries_are_told_apart(eye, name, is_attention):
    space, short = name.split("::")
    with torch.library._scoped_library(space, "FRAGMENT") as library:
        library.define(f"{short}(Tensor q) -> Tensor")
        library.impl(short, lambda q: q * 2, "CPU")
        packet = getattr(getattr(torch.ops, space), short)
        for operator in (packet, packet.default):
            rows = run_in(eye, torch.nn.Sequential(Call(operator), Attention()), X)
            assert ("0" in rows.unread) == is_attention and bool(rows.check()) != is_attention
            assert not is_attention or rows.unread["0"] == f"the operator {name}"


class Odd(torch.Tensor):
    """A tensor that answers no question of ours."""

    @classmethod
    def __torch_function__(cls, function, kinds, arguments=(), keywords=None):
        if "softmax" in str(function) or "matmul" in str(function):
            return torch.zeros(1, 2, 6, 6)
        raise ValueError("odd")


@both
def test_an_error_inside_maskctl_gets_a_row(eye, monkeypatch):
    from maskctl import _scores

    odd = torch.zeros(1, 2, 6, 6).as_subclass(Odd)
    assert run_in(eye, torch.nn.Sequential(Attention(), Call(lambda x: x + torch.softmax(odd, -1).sum())), X).other
    for broken in ("note_product", "take_product", "axes_of"):
        monkeypatch.setattr(_scores, broken, lambda *_: {}["a mistake"])
        rows = run_in(eye, Attention(), X)
        assert any("a mistake" in call.unread for call in rows.calls) and not rows.check()


def test_capture_and_watch_can_be_nested():
    model = torch.nn.Sequential(Attention(lambda scores: scores.masked_fill(~CAUSAL, -1e9)),
                                Call(lambda x: functional.scaled_dot_product_attention(x, x, x, CAUSAL)))
    for outer, inner in [(one, other) for one in EYES for other in EYES]:
        with outer(model) as around:
            with inner(model) as inside:
                model(X)
            model(X)
        for rows, times in ((around, 2), (inside, 1)):
            assert [call.times for call in rows.calls] == [times] * 2 and all(applies(mask, CAUSAL) for mask in rows)


@both
def test_calls_on_every_thread_are_watched(eye):
    near = {n: torch.ones(6, 6).tril().triu(-n).bool() for n in (1, 3)}
    model = torch.nn.Sequential(*(Attention(lambda scores, n=n: scores.masked_fill(~near[n], -1e9)) for n in near))
    with eye(model) as rows:
        threads = [threading.Thread(target=lambda: [model(X) for _ in range(20)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [(call.layer, call.times) for call in rows.calls] in ([("0", 60), ("1", 60)], [("1", 60), ("0", 60)])
    assert applies(rows["0"], near[1]) and applies(rows["1"], near[3])


def test_recomputed_and_mixed_layers_are_watched():
    from torch.utils.checkpoint import checkpoint

    attention = Attention(lambda scores: scores.masked_fill(~CAUSAL, -1e9))
    model = Call(lambda x: checkpoint(attention, x, use_reentrant=False))
    model.inner = attention
    with maskctl.watch(model) as rows:
        model(X.clone().requires_grad_()).sum().backward()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            model(X)
    assert {call.layer for call in rows.calls} == {"inner"} and applies(rows["inner"], CAUSAL) and len(rows) == 1
    assert {(call.dtype, call.times) for call in rows.calls} == {("float32", 2), ("bfloat16", 1)}


@both
@pytest.mark.parametrize("compiled", ["submodule", "model", "in place"])
def test_compiled_modules_are_run_uncompiled_and_watched(eye, compiled):
    model = torch.nn.Sequential(Attention(), Attention(lambda scores: scores.masked_fill(~CAUSAL, -1e9)))
    if compiled == "submodule":
        model[1] = torch.compile(model[1])
    elif compiled == "in place":
        model[1].compile()
    whole = torch.compile(model) if compiled == "model" else model
    expected = model[0](X)
    with eye(whole) as rows:
        whole(X)
    assert torch.equal(model[0](X), expected) and rows.layers == ["0", "1"] and applies(rows["1"], CAUSAL)
    assert "ran as they are written" in rows.table()


FIRST_COMPILED_INSIDE = """
import sys, torch, maskctl
from running import Attention, X
assert "torch._dynamo" not in sys.modules
model = torch.nn.Sequential(Attention(), Attention())
with maskctl.watch(model) as rows:
    torch.compile(model, backend="eager")(X)
assert rows.layers == ["0", "1"], rows
torch.compile(model, backend="eager")(X)
print("seen")
"""


def test_a_module_that_is_compiled_while_watched_is_seen():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FIRST_COMPILED_INSIDE], capture_output=True, text=True,
                          cwd=pathlib.Path(__file__).parent)
    assert done.stdout == "seen\n", done.stderr


def test_only_some_calls_of_a_loop_are_watched(monkeypatch):
    model = torch.nn.Sequential(Attention())
    seen = []
    for _ in range(5):
        with maskctl.watch(model, every=2) as rows:
            model(X)
        seen.append(len(rows))
    assert seen == [1, 0, 1, 0, 1]
    monkeypatch.setenv("RANK", "1")
    for rank, count in ((0, 0), (1, 1)):
        with maskctl.capture(model, rank=rank) as rows:
            model(X)
        assert len(rows) == count
    for layer in (ByHand(), Attention(lambda scores: scores.masked_fill(CAUSAL, -1e9))):
        broken = torch.nn.Sequential(layer)
        with pytest.raises(Error, match="^0: not read|polarity"), maskctl.watch(broken, fail=True):
            broken(X)
    packed = torch.nn.Sequential(Attention(lambda scores: scores.masked_fill(~CAUSAL, -torch.inf)))
    with maskctl.watch(packed, fail=True):  # which documents there are is not known
        packed(X)
    ids = [1, *[2] * (X.shape[1] - 1)]
    with pytest.raises(Error, match="document-leak"), maskctl.watch(packed, fail=True, segments=ids):
        packed(X)
    with pytest.raises(Error, match=r"watch: segments= is for fail=True"):
        maskctl.watch(model, segments=[0])
    with pytest.raises(Error, match="every=0: expected a whole number"):
        maskctl.watch(model, every=0)
