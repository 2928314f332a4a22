#!/usr/bin/env python3
"""PyTorch's attention on the GPU at the sizes of bench_cuda, one line of JSON for each figure.

    tests/gpu/torch_bench.py [--round SECONDS]

D 128, H * D = 2048, one batch, causal. The sides of a case take turns in three rounds of a quarter of
a second; the second half of each round counts. Needs the Python package torch with CUDA.
"""
import argparse
import json
import statistics

import torch
from torch.nn.functional import scaled_dot_product_attention

HEADS, DIM = 16, 128


def sides_of(tokens, dtype):
    """Name, call and TFLOP of one call, for each pass."""
    q, k, v, d = (torch.randn(1, HEADS, tokens, DIM, device="cuda", dtype=dtype) for _ in range(4))
    for x in (q, k, v):
        x.requires_grad_()
    out = scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward():
        with torch.no_grad():
            scaled_dot_product_attention(q, k, v, is_causal=True)

    def backward():
        torch.autograd.grad(out, (q, k, v), d, retain_graph=True)

    pair = 2e-12 * HEADS * DIM * tokens * (tokens + 1) / 2
    return [("torch sdpa forward", forward, 2 * pair), ("torch sdpa backward", backward, 5 * pair)]


def timed(call):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def run_round(call, limit):
    """Seconds of the calls that begin in the second half of a round; of one at least."""
    spent, kept = 0, []
    while spent < limit or not kept:
        counts = spent >= limit / 2
        seconds = timed(call)
        spent += seconds
        if counts:
            kept.append(seconds)
    return kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--round", type=float, default=0.25)
    limit = parser.parse_args().round
    for tokens in (8192, 16384, 32768):
        for dtype in (torch.bfloat16, torch.float32):
            sides = sides_of(tokens, dtype)
            seconds = {name: [] for name, _, _ in sides}
            for _ in range(3):
                for name, call, _ in sides:
                    seconds[name] += run_round(call, limit)
            for name, _, work in sides:
                median = statistics.median(seconds[name])
                case = f"{tokens // 1024}k causal {str(dtype).removeprefix('torch.')}"
                print(json.dumps({"figure": name, "case": case, "unit": "TFLOP/s",
                                  "value": round(work / median, 3),
                                  "median_ms": round(median * 1e3, 4)}), flush=True)


if __name__ == "__main__":
    main()
