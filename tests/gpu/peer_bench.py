#!/usr/bin/env python3
"""Softmax attention of this project beside PyTorch's on one GPU, one line of JSON for each figure.

    tests/gpu/peer_bench.py LIBRARY... [--only TEXT] [--round SECONDS] [--passes forward+backward]

LIBRARY: libmaskctl_gpu.so of a CUDA build; several take turns. bfloat16, normal random data, results
poisoned before. The sides of a case take turns in three rounds; the second half of each round counts.
TFLOP/s count open cells alone. "rms" is the error against float64 on sampled rows. Dense cases run
beside cuDNN, as PyTorch's scaled_dot_product_attention has it; at 8k tokens the masks run beside
FlexAttention. Needs the Python package torch with CUDA.
"""
import argparse
import ctypes
import json
import math
import random
import statistics

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

HIDDEN = 2048  # heads x dimensions
TOKENS = 32768  # batch x tokens of dense cases


class Kernels:
    """One build of the library."""

    def __init__(self, path, deterministic):
        self.deterministic = deterministic
        self.name = path.rsplit("/", 1)[-1].removeprefix("lib").removesuffix(".so")
        self.library = ctypes.CDLL(path)
        self.library.maskctl_call.restype = ctypes.c_void_p
        self.library.maskctl_call.argtypes = [ctypes.c_char_p, *[ctypes.c_int64] * 5, ctypes.c_int,
                                              ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_double)]

    def call(self, case):
        area = ctypes.c_double()
        stream = torch.cuda.current_stream().cuda_stream
        handle = self.library.maskctl_call(case.pipeline.encode(), case.batch, case.tokens,
                                           case.heads, case.kv_heads, case.dim, 0,
                                           self.deterministic, stream, area)
        if not handle:
            raise RuntimeError("the library refused")
        case.area = area.value
        return handle

    def run(self, what, handle, *arrays):
        pointers = [ctypes.c_void_p(a.data_ptr()) for a in arrays]
        if getattr(self.library, "maskctl_" + what)(ctypes.c_void_p(handle), *pointers):
            raise RuntimeError("the library failed")


class Case:
    """Arrays [B,T,H,D] and a mask, as a pipeline and as a function of rows."""

    def __init__(self, name, batch, tokens, dim, pipeline, allowed, causal=None, group=1):
        self.name, self.batch, self.tokens, self.dim = name, batch, tokens, dim
        self.heads = HIDDEN // dim
        self.kv_heads = self.heads // group
        self.pipeline, self.allowed, self.causal = pipeline, allowed, causal
        self.area = 0.0

    def make(self):
        def normal(heads):
            return torch.randn(self.batch, self.tokens, heads, self.dim, device="cuda",
                               dtype=torch.bfloat16)
        self.q, self.d_out = normal(self.heads), normal(self.heads)
        self.k, self.v = normal(self.kv_heads), normal(self.kv_heads)
        rows = sorted(random.sample(range(self.tokens), 24)) + [0, self.tokens - 1]
        self.rows = torch.tensor(rows, device="cuda")
        self.expected = self.reference() if self.allowed else None

    def reference(self):
        """The sampled rows of batch 0 in float64."""
        group = self.heads // self.kv_heads
        columns = torch.arange(self.tokens, device="cuda")
        is_open = self.allowed(self.rows[:, None], columns[None, :])
        out = []
        for h in range(self.heads):
            q = self.q[0, self.rows, h].double()
            k, v = self.k[0, :, h // group].double(), self.v[0, :, h // group].double()
            s = (q @ k.T / math.sqrt(self.dim)).masked_fill(~is_open, -math.inf)
            out.append(torch.softmax(s, -1) @ v)
        return torch.stack(out, 1)

    def rms(self, out):
        """Of [B,T,H,D]; None where the mask is not known here."""
        if self.expected is None:
            return None
        error = (out[0, self.rows].double() - self.expected).square().mean().sqrt()
        return error.item()


def timed(call, runs):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(runs):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3 / runs


def run_round(call, limit):
    """The median of the second half of a round."""
    once = max(timed(call, 1), 2e-5)
    runs = max(1, min(50, int(limit / 20 / once)))
    spent, kept = 0.0, []
    while spent < limit or len(kept) < 2:
        counts = spent >= limit / 2
        seconds = timed(call, runs)
        spent += seconds * runs
        if counts:
            kept.append(seconds)
    return statistics.median(kept)


def ours(case, kernels, passes):
    handle = kernels.call(case)
    out = torch.full_like(case.q, math.nan)
    lse = torch.full((case.batch, case.heads, case.tokens), math.nan, device="cuda")
    gradients = [torch.full_like(x, math.nan) for x in (case.q, case.k, case.v)]
    sides = []

    def forward():
        kernels.run("forward", handle, case.q, case.k, case.v, out, lse)

    def backward():
        kernels.run("backward", handle, case.q, case.k, case.v, out, lse, case.d_out, *gradients)

    forward()
    note = {"rms": case.rms(out), "nan": bool(out.isnan().any() or lse.isnan().any())}
    if "forward" in passes:
        sides.append((kernels.name, "forward", forward, note))
    if "backward" in passes:
        backward()
        case.gradients = gradients
        sides.append((kernels.name, "backward", backward,
                      {"nan": any(bool(g.isnan().any()) for g in gradients)}))
    return sides


def torch_sides(case, name, attend, passes):
    q, k, v = (x.transpose(1, 2).detach().requires_grad_() for x in (case.q, case.k, case.v))
    out = attend(q, k, v)
    cotangent = case.d_out.transpose(1, 2)

    def forward():
        with torch.no_grad():
            attend(q, k, v)

    def backward():
        return torch.autograd.grad(out, (q, k, v), cotangent, retain_graph=True)

    sides = []
    if "forward" in passes:
        sides.append((name, "forward", forward, {"rms": case.rms(out.detach().transpose(1, 2))}))
    if "backward" in passes:
        theirs = [g.transpose(1, 2) for g in backward()]
        apart = [((a.float() - b.float()).square().mean().sqrt() / b.float().square().mean().sqrt()).item()
                 for a, b in zip(case.gradients, theirs)]
        sides.append((name, "backward", backward, {"gradients_apart": [round(x, 5) for x in apart]}))
    return sides


def cudnn(case, passes):
    def attend(q, k, v):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return scaled_dot_product_attention(q, k, v, is_causal=case.causal,
                                                enable_gqa=case.kv_heads < case.heads)
    return torch_sides(case, "cudnn", attend, passes)


def flex(case, passes):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    block_mask = create_block_mask(lambda b, h, i, j: case.allowed(i, j), None, None, case.tokens,
                                   case.tokens, device="cuda")
    compiled = torch.compile(flex_attention)
    return torch_sides(case, "flex", lambda q, k, v: compiled(q, k, v, block_mask=block_mask), passes)


def measure(case, passes, libraries, limit):
    case.make()
    sides = [side for kernels in libraries for side in ours(case, kernels, passes)]
    try:
        if case.causal is not None:
            sides += cudnn(case, passes)
        elif case.tokens == 8192 and case.allowed:
            sides += flex(case, passes)
    except Exception as error:  # a peer that cannot run is no failure of ours
        print(json.dumps({"case": case.name, "peer": str(error)[:200]}), flush=True)
    seconds = {side[:2]: [] for side in sides}
    for _ in range(3):
        for name, which, call, _ in sides:
            seconds[name, which].append(run_round(call, limit))
    peers = {which: statistics.median(seconds[name, which]) for name, which, _, _ in sides
             if name in ("cudnn", "flex")}
    for name, which, _, note in sides:
        median = statistics.median(seconds[name, which])
        work = (4 if which == "forward" else 10) * case.area * case.dim * 1e-12
        line = {"case": case.name, "side": name, "pass": which, "tflops": round(work / median, 1),
                "ms": round(median * 1e3, 4)}
        if which in peers:
            line["ratio"] = round(peers[which] / median, 3)
        print(json.dumps(line | {k: float(f"{v:.4g}") if isinstance(v, float) else v
                                 for k, v in note.items()}), flush=True)


def rms_apart(seen, expected):
    return (seen.double() - expected).square().mean().sqrt().item()


def accuracy(dim, causal, kernels, tokens=2048):
    """Errors of all results against float64, ours and cuDNN's, on fresh numbers."""
    case = Case(f"accuracy D{dim} {'causal' if causal else 'full'}", 1, tokens, dim,
                "causal" if causal else "", None, causal)
    case.make()
    exact = [x.double().transpose(1, 2).detach().requires_grad_() for x in (case.q, case.k, case.v)]
    s = exact[0] @ exact[1].mT / math.sqrt(dim)
    if causal:
        s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), -math.inf)
    out = torch.softmax(s, -1) @ exact[2]
    wanted = [out.detach(), torch.logsumexp(s, -1).detach(),
              *torch.autograd.grad(out, exact, case.d_out.double().transpose(1, 2))]
    handle = kernels.call(case)
    ours_out, lse = torch.full_like(case.q, math.nan), torch.full(
        (1, case.heads, tokens), math.nan, device="cuda")
    gradients = [torch.full_like(x, math.nan) for x in (case.q, case.k, case.v)]
    kernels.run("forward", handle, case.q, case.k, case.v, ours_out, lse)
    kernels.run("backward", handle, case.q, case.k, case.v, ours_out, lse, case.d_out, *gradients)
    ours_all = [ours_out.transpose(1, 2), lse, *(g.transpose(1, 2) for g in gradients)]
    half = [x.transpose(1, 2).detach().requires_grad_() for x in (case.q, case.k, case.v)]
    theirs = torch.ops.aten._scaled_dot_product_cudnn_attention(*half, None, True, 0.0, causal)
    theirs_all = [theirs[0], theirs[1].reshape(lse.shape),
                  *torch.autograd.grad(theirs[0], half, case.d_out.transpose(1, 2))]
    for name, a, b, c in zip(("out", "lse", "d_query", "d_key", "d_value"), ours_all, theirs_all,
                             wanted):
        errors = rms_apart(a, c), rms_apart(b.detach(), c)
        print(json.dumps({"case": case.name, "result": name, "rms": float(f"{errors[0]:.4g}"),
                          "cudnn": float(f"{errors[1]:.4g}"),
                          "ratio": round(errors[0] / errors[1], 3)}), flush=True)


def documents(tokens, count=16, seed=7):
    cuts = sorted(random.Random(seed).sample(range(1, tokens), count - 1))
    lengths = [b - a for a, b in zip([0, *cuts], [*cuts, tokens])]
    ids = torch.repeat_interleave(torch.arange(count), torch.tensor(lengths)).cuda()
    first = torch.tensor([0, *cuts]).cuda()[ids]
    step = "doc:'gen:segments:lens=" + "+".join(map(str, lengths)) + "'"
    return step, ids, first


def cases():
    for dim in (128, 64, 256):
        for tokens in (4096, 16384):
            for causal in (False, True):
                yield Case(f"D{dim} {tokens // 1024}k {'causal' if causal else 'full'}",
                           TOKENS // tokens, tokens, dim, "causal" if causal else "",
                           (lambda i, j: j <= i) if causal else (lambda i, j: i == i + 0 * j),
                           causal)
    for tokens in (8192, 32768):
        step, ids, first = documents(tokens)
        name = f"D128 {tokens // 1024}k "

        def inside(i, j, ids=ids):
            return (ids[i] == ids[j]) & (j <= i)
        yield Case(name + "window 1024", 1, tokens, 128, "causal|window:left=1023",
                   lambda i, j: (j <= i) & (i - j < 1024))
        yield Case(name + "documents", 1, tokens, 128, step + "|causal", inside)
        yield Case(name + "sink_window", 1, tokens, 128, "causal|window:left=1023|sinks:n=64|causal",
                   lambda i, j: (j <= i) & ((i - j < 1024) | (j < 64)))

        def whole_chunks(i, j, ids=ids, first=first):
            return (ids[i] == ids[j]) & (j < first[i] + ((i - first[i]) // 1000 + 1) * 1000)
        lengths = step.split("'")[1].split(":")[-1]
        yield Case(name + "chunks in documents", 1, tokens, 128,
                   f"causal|or:'within:{lengths}{{chunk:size=1000}}'|{step}", whole_chunks)
    for size in (128, 64):
        blocks = f"block:'blocks:{size}:10',size={size}x{size}"
        yield Case(f"D128 32k blocks of {size}", 1, 32768, 128, blocks, None)
        yield Case(f"D128 32k blocks of {size}, random cells", 1, 32768, 128,
                   blocks + "|random:sparsity=0.5", None)
    yield Case("D256 16k blocks of 128", 1, 16384, 256, "block:'blocks:128:10',size=128x128", None)
    yield Case("D128 16k blocks of 128, 4 queries a key head", 1, 16384, 128,
               "block:'blocks:128:10',size=128x128", None, group=4)
    yield Case("D128 32k causal", 1, 32768, 128, "causal", lambda i, j: j <= i, True)
    yield Case("D128 16k causal, 4 queries a key head", 2, 16384, 128, "causal",
               lambda i, j: j <= i, True, group=4)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="+")
    parser.add_argument("--only", default="", help="cases whose names hold one of these, by comma")
    parser.add_argument("--round", type=float, default=0.25)
    parser.add_argument("--passes", default="forward+backward")
    parser.add_argument("--accuracy", action="store_true",
                        help="errors of all results against float64 beside cuDNN's, no times")
    parser.add_argument("--deterministic", action="store_true",
                        help="gradients with equal bits in every run")
    options = parser.parse_args()
    libraries = [Kernels(path, options.deterministic) for path in options.library]
    if options.accuracy:
        for dim in (64, 128, 256):
            for causal in (False, True):
                accuracy(dim, causal, libraries[0])
        return
    for case in cases():
        if any(text in case.name for text in options.only.split(",")):
            measure(case, options.passes.split("+"), libraries, options.round)


if __name__ == "__main__":
    main()
