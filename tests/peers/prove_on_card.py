"""What watch(prove=64) says of torch's kernels on a GPU, beside plain cells: cuDNN, Flash, efficient and math SDPA,
compiled FlexAttention, varlen_attn; and of kernels that are given another mask than the one that they are told to apply. Needs torch
and maskctl alone. A case that a kernel refuses, or that fails, does not stop the others.

    python3 tests/peers/prove_on_card.py [SEED]
"""
import collections
import inspect
import sys
import time
import types
import warnings

import torch
from prove import Layer, Solved, truth_of
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import maskctl

try:
    from torch.nn.attention import varlen
except ImportError:
    varlen = None

warnings.filterwarnings("ignore")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOKENS, WINDOW, ENDS = 768, 100, [0, 200, 201, 500, 768]
AT = torch.arange(TOKENS)
DOCUMENT = torch.searchsorted(torch.tensor(ENDS[1:]), AT, right=True)
CAUSAL = AT[:, None] >= AT
NEAR = CAUSAL & (AT[:, None] - AT <= WINDOW)
PACKED = CAUSAL & (DOCUMENT[:, None] == DOCUMENT)
NEAR_PACKED = PACKED & NEAR
EVERY = torch.ones(TOKENS, TOKENS, dtype=torch.bool)
MASKS = {"full": EVERY, "causal": CAUSAL, "window": NEAR, "documents": PACKED, "window in documents": NEAR_PACKED}
BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "Flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION,
            "math": SDPBackend.MATH}


def arrays(dtype, *shapes):
    return [torch.randn(*shape, device=DEVICE).to(dtype) for shape in shapes]


def of_sdpa(backend, kind, dtype, queries=TOKENS, gqa=False):
    q, k, v = arrays(dtype, (2, 8, queries, 64), *[(2, 2 if gqa else 8, TOKENS, 64)] * 2)
    mask = MASKS[kind][TOKENS - queries:]
    flags = {"is_causal": True} if kind == "causal" and queries == TOKENS else {} if kind == "full" else {
        "attn_mask": mask.to(DEVICE)[None, None].expand(2, 8, -1, -1)}

    def call():
        with sdpa_kernel([BACKENDS[backend]]):
            return functional.scaled_dot_product_attention(q, k, v, enable_gqa=gqa, **flags)

    return call, mask


compiled_flex = torch.compile(flex_attention, dynamic=False)


def of_flex(kind, dtype):
    q, k, v = arrays(dtype, *[(1, 4, TOKENS, 64)] * 3)
    document = DOCUMENT.to(DEVICE)
    mods = {"full": lambda b, h, i, j: j >= 0, "causal": lambda b, h, i, j: i >= j,
            "window": lambda b, h, i, j: (i >= j) & (i - j <= WINDOW),
            "documents": lambda b, h, i, j: (i >= j) & (document[i] == document[j]),
            "window in documents": lambda b, h, i, j: (i >= j) & (i - j <= WINDOW) & (document[i] == document[j])}
    block_mask = create_block_mask(mods[kind], None, None, TOKENS, TOKENS, device=DEVICE)
    return lambda: compiled_flex(q, k, v, block_mask=block_mask), MASKS[kind]


def varlen_call(q, k, v, ends, window):
    ends = torch.tensor(ends, device=DEVICE, dtype=torch.int32)
    longest = int(ends.diff().max())
    return varlen.varlen_attn(q, k, v, ends, ends, longest, longest, window_size=window)


def of_varlen(kind, dtype):
    q, k, v = arrays(dtype, *[(TOKENS, 8, 64)] * 3)
    ends = ENDS if "documents" in kind else [0, TOKENS]
    window = {"full": (-1, -1), "window": (WINDOW, 0), "window in documents": (WINDOW, 0)}.get(kind, (-1, 0))
    return lambda: varlen_call(q, k, v, ends, window), MASKS[kind]


def of_pages(dtype):
    """varlen_attn with a block_table, where this torch has one: pages of 256, in another order."""
    if "block_table" not in inspect.signature(varlen.varlen_attn).parameters:
        raise RuntimeError("varlen_attn has no block_table")
    q, k, v = arrays(dtype, (6, 8, 64), *[(7, 256, 8, 64)] * 2)
    table = torch.tensor([[5, 0, 3], [6, 2, 1]], device=DEVICE, dtype=torch.int32)
    ends_q, ends_k = (torch.tensor(one, device=DEVICE, dtype=torch.int32) for one in ([0, 1, 6], [0, 600, 1000]))
    used = ends_k.diff().to(torch.int32)
    masks = [torch.arange(768) <= torch.arange(queries)[:, None] + keys - queries for queries, keys in ((1, 600), (5, 400))]
    return lambda: varlen.varlen_attn(q, k, v, ends_q, ends_k, 5, 600, window_size=(-1, 0), seqused_k=used, block_table=table), masks


def wrong(kind, dtype):
    """A flash_attn_func that is told one mask, and lets Flash apply another."""
    q, k, v = arrays(dtype, *[(1, TOKENS, 8, 64)] * 3)
    told = {"a window of one key more": {"causal": True, "window_size": (WINDOW - 1, 0)}, "no causal": {"causal": True},
            "documents joined": {"causal": True}}[kind]
    does = {"a window of one key more": ([0, TOKENS], (WINDOW, 0)), "no causal": ([0, TOKENS], (-1, -1)),
            "documents joined": ([0, TOKENS], (-1, 0))}[kind]
    applied = {"a window of one key more": NEAR, "no causal": EVERY, "documents joined": CAUSAL}[kind]

    def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1)):
        return varlen_call(q[0], k[0], v[0], *does)[None]

    def flash_attn_varlen_func(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, causal=False, window_size=(-1, -1)):
        return varlen_call(q, k, v, *does)

    home = sys.modules["flash_attn"] = types.ModuleType("flash_attn")
    home.flash_attn_func, home.flash_attn_varlen_func = flash_attn_func, flash_attn_varlen_func
    if kind == "documents joined":
        ends = torch.tensor(ENDS, device=DEVICE, dtype=torch.int32)
        return lambda: home.flash_attn_varlen_func(q[0], k[0], v[0], ends, ends, 299, 299, **told), applied
    return lambda: home.flash_attn_func(q, k, v, **told), applied


def cells(found, applied):
    """(cells that were decided, cells that were decided wrongly)"""
    decided = bad = 0
    for sample, solved, answer in found:
        if solved is None:
            continue
        truth, data = truth_of(sample, applied), answer.data["solved"]
        lost = solved != truth
        invented = int((lost & (solved != sample.cells)).sum())
        missed = int(lost.sum()) - invented
        decided += truth.numel() - data["undecided_cells"]
        bad += invented + max(0, missed - data["undecided_cells"])
    return decided, bad


def judged(make, arguments, faulty):
    """(the words of a case: its state, what the row says, decided cells, wrong cells)"""
    call, applied = make(*arguments)
    try:
        with warnings.catch_warnings():
            call()
    except Exception as error:
        return "refused", str(error).splitlines()[0][:90], 0, 0
    layer = Layer(call)
    with Solved() as solved:
        with maskctl.watch(layer, prove=64) as run:
            layer()
    row, = run.calls
    if len(solved.calls()) != 1:
        return "FAIL", f"{row.applied} {row.unread}", 0, 0
    decided, bad = cells(solved.calls()[0], applied)
    right = row.obeys is (False if faulty else True) and not bad and not row.unread
    line = run.table().splitlines()[1]
    said = line[line.index("applied: "):] if "applied: " in line else row.unread
    return "pass" if right else "FAIL", said, decided, bad


def cases():
    dtypes = (torch.bfloat16, torch.float16)
    for dtype in dtypes:
        for backend in BACKENDS:
            for kind in MASKS:
                yield f"SDPA {backend}", kind, dtype, of_sdpa, (backend, kind, dtype), False
            yield f"SDPA {backend}", "1 query", dtype, of_sdpa, (backend, "full", dtype, 1), False
            yield f"SDPA {backend}", "causal, 4 heads a key head", dtype, of_sdpa, (backend, "causal", dtype, TOKENS, True), False
        for kind in MASKS:
            if varlen is not None:
                yield "varlen_attn", kind, dtype, of_varlen, (kind, dtype), False
        if varlen is not None:
            yield "varlen_attn", "pages", dtype, of_pages, (dtype,), False
            for kind in ("a window of one key more", "no causal", "documents joined"):
                yield "wrong kernel", kind, dtype, wrong, (kind, dtype), True
    for dtype in dtypes:
        for kind in MASKS:
            yield "FlexAttention, compiled", kind, dtype, of_flex, (kind, dtype), False


def main():
    torch.manual_seed(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "no GPU"
    print(f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {name}", flush=True)
    states, decided, bad, began = collections.Counter(), 0, 0, time.time()
    for kernel, kind, dtype, make, arguments, faulty in cases():
        try:
            state, said, some, wrongly = judged(make, arguments, faulty)
        except Exception as error:
            state, said, some, wrongly = "FAIL", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", 0, 0
        finally:
            sys.modules.pop("flash_attn", None)
        states[state], decided, bad = states[state] + 1, decided + some, bad + wrongly
        print(f"{state:7} {kernel:24} {kind:27} {str(dtype)[6:]:9} {wrongly:2} wrong  {said[:170]}", flush=True)
    print(f"{states['pass']} pass, {states['FAIL']} FAIL, {states['refused']} refused; {bad} of {decided} decided cells wrong; "
          f"{time.time() - began:.0f} s")
    return states["FAIL"] > 0 or bad > 0


if __name__ == "__main__":
    sys.exit(main())
