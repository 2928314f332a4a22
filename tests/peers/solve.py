"""Does `maskctl verify --solve` find the mask of outputs that PyTorch made?

    python tests/peers/solve.py PROGRAM [COUNT [SEED]]

Draws calls of scaled_dot_product_attention (math and flash kernels of the CPU; xformers where its
kernels load) in float32, bfloat16 and float16 whose kernel applies another mask than the declared
one: a leak, a hole, a block, a window, any cells. Then q, k and v of each layer of a tiny llama that
was trained on a periodic text, so that its heads attend to few keys, with outliers of 30 in two
channels of all keys and a first key that draws all heads. A decided cell that differs from the
applied mask is wrong (where more cells are undecided than are listed, one that was changed);
"missed" are those that differ and are undecided, "light" those below rounding. The last lines are
totals.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def edited(rng, mask, kind, dim):
    out, keys = mask.copy(), len(mask)
    i, j = np.arange(keys)[:, None], np.arange(keys)[None, :]
    if kind in ("leak", "hole"):
        for row in rng.integers(1, keys, size=4):
            some = np.flatnonzero(out[row] == (kind == "hole"))
            out[row, rng.choice(some, min(len(some), dim // 8))] ^= True
    if kind == "block":
        q, k = rng.integers(0, keys // 64, size=2) * 64
        out[q:q + 64, k:k + 64] = False
    if kind == "window":
        out &= i - j < rng.integers(2, keys)
    if kind == "any":
        out = rng.random(mask.shape) < 0.5
    out[~out.any(1), 0] = True  # rows without a key differ by kernel
    return out


def outputs(q, k, v, mask):
    """Yields the name and the output [1, H, T, D] of each kernel that takes the call."""
    for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        with sdpa_kernel([backend]):
            try:
                yield backend.name, torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, attn_mask=mask)
            except RuntimeError:
                pass
    try:
        from xformers.ops import memory_efficient_attention
        bias = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -torch.inf)
        heads = [x.transpose(1, 2) for x in (q, k, v)]
        shape = (1, q.shape[1], *mask.shape)
        out = memory_efficient_attention(*heads, attn_bias=bias.expand(shape))
        yield "xformers", out.transpose(1, 2)
    except (ImportError, NotImplementedError, ValueError):
        pass


def judged(program, name, q, k, v, out, declared, applied, totals):
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for key, array in {"query": q, "key": k, "value": v, "out": out}.items():
            raw = array.detach().contiguous()
            bf16 = raw.dtype == torch.bfloat16
            # numpy has no bfloat16, so float32 holds it; maskctl sees the precision from the bits.
            np.save(f"{folder}/{key}.npy", (raw.float() if bf16 else raw).numpy())
            words.append(f"{key}={folder}/{key}.npy")
        np.save(f"{folder}/mask.npy", declared)
        done = subprocess.run(
            [program, "-q", "verify", f"{folder}/mask.npy", *words[:3], "--given",
             f"{folder}/out.npy", "--layout", "bhtd", "--solve", "--json", "-o",
             f"{folder}/solved.npy"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8", check=False)
        if not os.path.exists(f"{folder}/solved.npy"):
            totals[name]["refused"] += 1
            return
        solved = np.load(f"{folder}/solved.npy")
    report = json.loads(done.stdout)["solved"]
    got = np.broadcast_to(solved, (1, q.shape[1], *declared.shape))[0]
    shared = solved.shape[1] == 1
    got, wanted = (got[:1], applied[None]) if shared else (got, np.broadcast_to(applied, got.shape))
    lost = got != wanted
    changed = lost & (got != declared)
    missed = lost & ~changed  # undecided cells count as declared
    if report["undecided_cells"] <= len(report["undecided"]):
        undecided = np.zeros(got.shape, bool)
        for _, head, row, key in report["undecided"]:
            undecided[head, row, key] = True
        changed |= missed & ~undecided
        missed &= undecided
    total = totals[name]
    for key, value in {
            "calls": 1, "cells": got.size, "wrong": int(changed.sum()), "missed": int(missed.sum()),
            "undecided": report["undecided_cells"], "light": report["below_rounding"],
            "unsolved rows": report["unsolved_rows"]}.items():
        total[key] += value


def random_calls(program, count, seed, totals):
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        keys, heads = int(rng.integers(64, 400)), 2 ** int(rng.integers(0, 4))
        dim = int(rng.choice([32, 64, 128]))
        kind = str(rng.choice(["leak", "hole", "block", "window", "any"]))
        while kind == "any" and heads * dim < keys:
            heads *= 2
        dtype = str(rng.choice(list(DTYPES)))
        torch.manual_seed(number)
        q, k, v = (torch.randn(1, heads, keys, dim).to(DTYPES[dtype]) for _ in range(3))
        declared = np.tril(np.ones((keys, keys), bool))
        applied = edited(rng, declared, kind, dim)
        for kernel, out in outputs(q, k, v, torch.from_numpy(applied)):
            judged(program, f"{kernel} {dtype}", q, k, v, out, declared, applied, totals)


def trained():
    """A tiny llama after some steps on a periodic text, and q, k, v of each of its layers."""
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=128, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=256,
        attn_implementation="sdpa"))
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    text = torch.randint(1, 64, (8, 12)).repeat(1, 8)  # few texts, which it learns by heart
    for _ in range(80):
        loss = model(input_ids=text, labels=text).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    kept, real = [], torch.nn.functional.scaled_dot_product_attention

    def kept_call(query, key, value, *args, **kwargs):
        kept.append((query.detach(), key.detach(), value.detach()))
        return real(query, key, value, *args, **kwargs)

    torch.nn.functional.scaled_dot_product_attention = kept_call
    try:
        with torch.no_grad():
            model(input_ids=text[:1])
    finally:
        torch.nn.functional.scaled_dot_product_attention = real
    return kept, loss.item()


def real_calls(program, totals):
    layers, loss = trained()
    print(f"trained to a loss of {loss:.2f}; {len(layers)} layers", flush=True)
    for layer, (q, k, v) in enumerate(layers):
        for spice in ("as trained", "outliers", "sink"):
            k2 = k.clone()
            if spice == "outliers":
                k2[..., :2] += 30
            if spice == "sink":
                k2[:, :, 0] = 4 * q.mean(2) / q.mean(2).norm(dim=-1, keepdim=True).clamp(min=1e-3)
            for kind in ("leak", "hole", "block", "window", "any"):
                for dtype in DTYPES:
                    rng = np.random.default_rng([layer, len(kind)])
                    declared = np.tril(np.ones((q.shape[2],) * 2, bool))
                    applied = edited(rng, declared, kind, q.shape[3])
                    arrays = [x.to(DTYPES[dtype]) for x in (q, k2, v)]
                    with sdpa_kernel([SDPBackend.MATH]):
                        out = torch.nn.functional.scaled_dot_product_attention(
                            *arrays, attn_mask=torch.from_numpy(applied))
                    judged(program, f"trained, {spice}, {dtype}", *arrays, out, declared, applied,
                           totals)


def main():
    program = sys.argv[1]
    torch.set_num_threads(1)
    count, seed = (int(x) for x in [*sys.argv[2:4], *["60", "1"][len(sys.argv[2:4]):]])
    totals = collections.defaultdict(collections.Counter)
    random_calls(program, count, seed, totals)
    real_calls(program, totals)
    for name, total in sorted(totals.items()):
        print(f"{name}: " + ", ".join(f"{total[key]} {key}" for key in (
            "calls", "refused", "cells", "wrong", "missed", "undecided", "light", "unsolved rows")))
    return sum(total["wrong"] for total in totals.values()) > 0


if __name__ == "__main__":
    sys.exit(main())
