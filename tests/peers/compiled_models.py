"""maskctl.watch and maskctl.capture on what torch.compile has compiled, with inductor, and on operators that other
libraries register. Each row has to be true or to say that it was not read; outputs are, bit for bit, those of the
code as it is written, and of compiled FlexAttention those of the kernel; what was compiled before still is
afterwards, and gives the same bits.

    peers/bin/python tests/peers/compiled_models.py [models|flex|operators...]
"""
import collections
import functools
import sys
import types
import warnings

warnings.filterwarnings("ignore")

import torch
import torch._dynamo
from tiny_models import made
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

import maskctl
from maskctl import Mask

EYES = (maskctl.watch, maskctl.capture)
TOKENS = 24


def tensor_of(output):
    return output if isinstance(output, torch.Tensor) else output[0]


def graphs():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def agrees(call, wanted):
    """"true" or "FALSE" of a row, or "not read"."""
    if call.mask is None or call.unread:
        return "not read"
    one, other = (torch.from_dlpack(each).bool().reshape(each.shape) for each in (call.mask, wanted))
    batch, heads = (max(each.shape[axis] for each in (one, other)) for axis in (0, 1))
    same = one.shape[2:] == other.shape[2:] and torch.equal(one.expand(batch, heads, -1, -1), other.expand(batch, heads, -1, -1))
    return "true" if same else "FALSE"


def report(tally, what, eye, rows, wanted, layers, expected, inside, kept, extra=""):
    found = collections.Counter(agrees(call, wanted) for call in rows.calls)
    tally.update(found)
    tally["rows"] += len(rows.calls)
    tally["runs"] += 1
    is_same = torch.equal(inside, expected)
    omitted = len({call.layer for call in rows.calls}) < layers
    for bad, word in ((not is_same, "DISTURBED"), (not kept, "NOT KEPT"), (omitted, "OMITTED")):
        if bad:
            tally[word] += 1
    bad = found["FALSE"] or not is_same or not kept or omitted
    print(f"{what}, {eye.__name__}: {dict(found)}{extra}{'  <-- WRONG' if bad else ''}", flush=True)
    if bad:
        print(rows)


def models(tally):
    ids = torch.randint(3, 60, (2, TOKENS), generator=torch.Generator().manual_seed(1))
    valid = torch.ones_like(ids)
    valid[1, :9] = 0
    ways = {"compiled": lambda model: torch.compile(model), "fullgraph": lambda model: torch.compile(model, fullgraph=True),
            "dynamic": lambda model: torch.compile(model, dynamic=True), "in place": lambda model: model.compile() or model}
    for model_type, layers in (("llama", 3), ("bert", 3), ("qwen3", 3)):
        causal = model_type != "bert"
        for implementation in ("sdpa", "eager"):
            for way, compiled in ways.items():
                torch._dynamo.reset()
                model, _ = made(model_type, layers, {})
                model.set_attn_implementation(implementation)
                batch = {"input_ids": ids, "attention_mask": valid, **({"use_cache": False} if causal else {})}
                wanted = Mask.from_key_padding(valid, queries=TOKENS)
                if causal:
                    wanted = wanted.apply("causal")
                with torch.no_grad():
                    written = tensor_of(model(**batch))
                    job = compiled(model)
                    try:
                        before = tensor_of(job(**batch))
                    except Exception as error:
                        tally["ways that torch refuses"] += 1
                        print(f"{model_type}, {implementation}, {way}: refused: {str(error).splitlines()[0][:80]}")
                        continue
                    count = graphs()
                    for eye in EYES:
                        with eye(job) as rows:
                            inside = tensor_of(job(**batch))
                        after = tensor_of(job(**batch))
                        kept = torch.equal(before, after) and graphs() == count
                        rows_valid = Rows(rows, valid)
                        report(tally, f"{model_type}, {implementation}, {way}", eye, rows_valid, rows_valid.only(wanted), layers,
                               written, inside, kept)


class Rows:
    """Rows whose masks are compared for queries that are no padding."""

    def __init__(self, rows, valid):
        self.keep = valid.bool()[:, None, :, None]
        self.rows = rows
        self.calls = [types.SimpleNamespace(layer=call.layer, unread=call.unread,
                                            mask=None if call.mask is None else self.only(call.mask)) for call in rows.calls]

    def only(self, mask):
        cells = torch.from_dlpack(mask).bool().reshape(mask.shape)
        return Mask(cells.expand(len(self.keep), -1, -1, -1) & self.keep, "dense")

    def __str__(self):
        return str(self.rows)


def flex(tally):
    """FlexAttention that is compiled, under a global name, as an attribute, in a closure, a tuple and a partial."""
    compiled = torch.compile(flex_attention)
    near = lambda b, h, q, k: (q >= k) & (q - k < 100)
    sound = create_block_mask(near, 1, 1, 256, 256, device="cpu")
    lost = BlockMask.from_kv_blocks(sound.kv_num_blocks.clamp(max=1), sound.kv_indices, BLOCK_SIZE=128, mask_mod=near, seq_lengths=(256, 256))
    q, k, v = (torch.randn(1, 2, 256, 32, generator=torch.Generator().manual_seed(seed)) for seed in range(3))
    globals()["COMPILED"] = compiled

    class Layer(torch.nn.Module):
        held = (("flex", compiled),)

        def __init__(self, way):
            super().__init__()
            self.way, self.own, self.partly = way, compiled, functools.partial(compiled, enable_gqa=False)
            self.closed = (lambda attend: lambda *given, **more: attend(*given, **more))(compiled)

        def forward(self, q, k, v, block_mask):
            attend = {"global": lambda: COMPILED, "attribute": lambda: self.own, "closure": lambda: self.closed,  # noqa: F821
                      "tuple": lambda: self.held[0][1], "partial": lambda: self.partly}[self.way]()
            return attend(q, k, v, block_mask=block_mask)

    for name, block_mask in (("sound lists", sound), ("lists that lost a block", lost)):
        wanted = maskctl.flex.mask(block_mask, evaluate=True)
        for way in ("global", "attribute", "closure", "tuple", "partial"):
            layer = Layer(way)
            with torch.no_grad():
                before = layer(q, k, v, block_mask)
                for eye in EYES:
                    with eye(layer) as rows:
                        inside = layer(q, k, v, block_mask)
                    kept = layer.own is compiled and torch.equal(before, layer(q, k, v, block_mask))
                    report(tally, f"compiled flex_attention, {way}, {name}", eye, rows, wanted, 1, before, inside, kept)
    whole = torch.compile(Layer("global"))
    with torch.no_grad():
        written = flex_attention(q, k, v, block_mask=sound)
        whole(q, k, v, sound)
        for eye in EYES:
            with eye(whole) as rows:
                inside = whole(q, k, v, sound)
            print(f"a compiled module that calls it, {eye.__name__}: off by {float((inside - written).abs().max()):.1e}")
            report(tally, "compiled module", eye, rows, maskctl.flex.mask(sound, evaluate=True), 1, inside, inside, True)


OPERATORS = ["xformers::efficient_attention_forward_cutlass", "xformers::efficient_attention_forward_ck", "xformers_flash::flash_fwd",
             "xformers_flash3::flash_fwd", "flashinfer::single_prefill_with_kv_cache", "flashinfer::batch_decode_run",
             "flashinfer::paged_run", "flashinfer::ragged_run", "vllm::unified_attention", "vllm::unified_attention_with_output",
             "vllm::unified_mla_attention", "_vllm_fa2_C::varlen_fwd", "_vllm_fa3_C::fwd", "_C::paged_attention_v1",
             "flash_attn::_flash_attn_forward", "flash_attn_3::fwd", "sgl_kernel::fwd", "aiter::mha_attn_fwd"]
OTHERS = ["flashinfer::rmsnorm", "flashinfer::top_k_sampling", "vllm::moe_forward", "vllm::all_reduce", "_C::rotary_embedding",
          "xformers::index_select", "sgl_kernel::silu_and_mul", "flash_attn::_flash_attn_backward", "_C::merge_attn_states"]


def operators(tally):
    """Stand-ins for closed kernels, called as operators, their overloads, custom_op objects, and by compiled code."""
    kept = []
    q = torch.randn(1, 2, 16, 8, generator=torch.Generator().manual_seed(4))
    for name in OPERATORS + OTHERS:
        torch._dynamo.reset()
        space, short = name.split("::")
        library = torch.library.Library(space, "FRAGMENT")
        library.define(f"{short}(Tensor q, Tensor k, Tensor v) -> Tensor")
        library.impl(short, lambda q, k, v: q + k + v.cumsum(-2), "CPU")
        library._register_fake(short, lambda q, k, v: torch.empty_like(q))
        kept.append(library)
        packet = getattr(getattr(torch.ops, space), short)
        made_by_hand = torch.library.custom_op(f"{space}::{short}_by_hand", lambda q, k, v: q * 1 + k * 0 + v * 0, mutates_args=(),
                                               schema="(Tensor q, Tensor k, Tensor v) -> Tensor")
        made_by_hand.register_fake(lambda q, k, v: torch.empty_like(q))
        for way, call in (("packet", packet), ("overload", packet.default), ("custom_op", made_by_hand),
                          ("compiled", torch.compile(lambda q, k, v, packet=packet: packet(q, k, v), backend="aot_eager"))):
            class Layer(torch.nn.Module):
                def forward(self, q, call=call):
                    return call(q, q, q)
            model = torch.nn.Sequential(Layer(), Sdpa())
            expected = model(q)
            for eye in EYES:
                with eye(model) as rows:
                    inside = model(q)
                tally["operators called"] += 1
                if not torch.equal(inside, expected):
                    tally["DISTURBED"] += 1
                is_row = any(call.layer == "0" for call in rows.calls)
                told = not is_row if name in OTHERS else is_row and bool(rows.unread.get("0")) and not rows.check()
                tally["told" if told else "NOT TOLD"] += 1
                if not told:
                    print(f"{name}, {way}, {eye.__name__}: <-- WRONG\n{rows}")


class Sdpa(torch.nn.Module):
    def forward(self, q):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)


def main():
    tally = collections.Counter()
    jobs = {"operators": operators, "models": models, "flex": flex}
    for name in [word for word in sys.argv[1:] if word in jobs] or jobs:
        jobs[name](tally)
    print(f"torch {torch.__version__}: {dict(tally)}")
    sys.exit(any(tally[word] for word in ("FALSE", "DISTURBED", "NOT KEPT", "OMITTED", "NOT TOLD")))


if __name__ == "__main__":
    main()
