#!/usr/bin/python3
"""Times maskctl's attention against PyTorch's on the CPU, in pairs within one run, and prints a table.

    torch_bench.py [--build build/release] [--pairs 15] [--threads 2]

8 heads, f32, one batch: dense, causal, and a window of 256 keys, which PyTorch takes as a boolean
mask. Each pair is the best of three calls of either; the last column is the median over the pairs of
PyTorch's time over ours. Needs the Python package torch.
"""
import argparse
import json
import os
import statistics
import subprocess
import time

import torch
from torch.nn.functional import scaled_dot_product_attention

MASKS = {"full": "full", "causal": "causal", "window 256": "window:keys=256"}


def torch_call(name, size, dim):
    q, k, v = (torch.randn(1, 8, size, dim) for _ in range(3))
    if name == "full":
        return lambda: scaled_dot_product_attention(q, k, v)
    if name == "causal":
        return lambda: scaled_dot_product_attention(q, k, v, is_causal=True)
    at = torch.arange(size)
    mask = (at[None] <= at[:, None]) & (at[None] > at[:, None] - 256)
    return lambda: scaled_dot_product_attention(q, k, v, attn_mask=mask)


def best_of_three(call):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def ours(command, name, size, dim, threads):
    axes = f"Hq=8+Hkv=8+D={dim}+Dv={dim}"
    out = subprocess.run(
        [command, "--threads", str(threads), "bench", "flash_attention", "--size", str(size), "--mask",
         MASKS[name], "--axes", axes, "--repeat", "3", "--json"],
        check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return json.loads(out.stdout)["runs"][0]["min_s"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    command = os.path.join(args.build, "app", "maskctl")
    torch.set_num_threads(args.threads)
    print(f"PyTorch {torch.__version__}, {args.threads} threads, medians of {args.pairs} pairs")
    for dim in (64, 128):
        for size in (2048, 4096):
            for name in MASKS:
                theirs = torch_call(name, size, dim)
                theirs()
                pairs = [(best_of_three(theirs), ours(command, name, size, dim, args.threads))
                         for _ in range(args.pairs)]
                a, b = (statistics.median(side) * 1e3 for side in zip(*pairs))
                ratio = statistics.median(t / o for t, o in pairs)
                print(f"D {dim:<4} S {size:<5} {name:<11} PyTorch {a:8.1f} ms  maskctl {b:8.1f} ms  {ratio:5.2f}x",
                      flush=True)


if __name__ == "__main__":
    main()
