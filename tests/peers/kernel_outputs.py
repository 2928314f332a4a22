"""Does `maskctl verify --given` judge outputs and gradients of real CPU kernels rightly?

    python tests/peers/kernel_outputs.py PROGRAM [COUNT [SEED]]

Draws calls of PyTorch's scaled_dot_product_attention (math and flash kernels) and of
jax.nn.dot_product_attention in float32, bfloat16 and float16, under causal masks, windows,
documents, sinks and prefixes. Each output is judged under the mask it was made with, and as if one
open cell had been declared closed (a leak), one closed cell open (a missing cell), a border of
documents had been moved, or the mask were one of its usual neighbours. A single cell counts where
its weight is above the rounding of the type. The last lines are totals.
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

ROUNDING = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


def draw_mask(rng, queries):
    """A random boolean mask [Q, K], and a mask that is easily taken for it."""
    i, j = np.arange(queries)[:, None], np.arange(queries)[None, :]
    causal = j <= i
    kind = rng.choice(["causal", "window", "documents", "sinks", "prefix"])
    if kind == "causal":
        return kind, causal, j <= i + 1
    if kind == "window":
        left = int(rng.integers(4, queries))
        return kind, causal & (i - j < left), causal & (i - j < left + 1)
    if kind == "sinks":
        left, n = int(rng.integers(4, queries)), int(rng.integers(1, 5))
        return kind, causal & ((i - j < left) | (j < n)), causal & ((i - j < left) | (j < n + 1))
    if kind == "prefix":
        n = int(rng.integers(2, queries))
        return kind, causal | (j < n), causal | (j < n + 1)
    borders = np.unique(rng.integers(1, queries, size=int(rng.integers(1, 6))))
    moved = borders.copy()
    at = int(rng.integers(len(borders)))
    moved[at] += int(rng.choice([-2, -1, 1, 2]))
    ids, other = (np.searchsorted(b, np.arange(queries), side="right") for b in (borders, moved))
    return kind, causal & (ids[:, None] == ids), causal & (other[:, None] == other)


def torch_call(backend, q, k, v, d_out, mask):
    arrays = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    with sdpa_kernel([backend]):
        out = torch.nn.functional.scaled_dot_product_attention(*arrays, attn_mask=mask)
    out.backward(d_out)
    return [out.detach()] + [x.grad for x in arrays]


def jax_call(q, k, v, d_out, mask):
    import jax
    import jax.numpy as jnp

    def to_jax(x):
        dtype = {torch.float32: jnp.float32, torch.bfloat16: jnp.bfloat16, torch.float16: jnp.float16}
        return jnp.asarray(x.transpose(1, 2).float().numpy()).astype(dtype[x.dtype])

    def attend(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, mask=jnp.asarray(mask.numpy())[None, None])

    out, pull = jax.vjp(attend, *map(to_jax, (q, k, v)))
    results = [out, *pull(to_jax(d_out))]
    return [torch.from_numpy(np.asarray(x.astype(jnp.float32))).transpose(1, 2).to(q.dtype) for x in results]


KERNELS = {
    "math": lambda *call: torch_call(SDPBackend.MATH, *call),
    "flash": lambda *call: torch_call(SDPBackend.FLASH_ATTENTION, *call),
    "jax": jax_call,
}


def one_cell(rng, weights, mask, least, leaks):
    """A random cell to flip whose weight is at least `least`; a closed one has the weight that it
    would leak."""
    heads = weights.shape[0]
    for _ in range(300):
        h, i = int(rng.integers(heads)), int(rng.integers(mask.shape[0]))
        row = mask[i]
        cells = np.flatnonzero(~row if leaks else row)
        if len(cells) == 0 or row.sum() < 2:
            continue
        j = int(rng.choice(cells))
        row_sum = weights[h, i][row].sum()
        weight = weights[h, i, j] / (row_sum + (weights[h, i, j] if leaks else 0))
        if weight > least and weight < 1:
            return h, i, j
    return None


class Verify:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def save(self, **arrays):
        np.savez(os.path.join(self.folder, "call.npz"), **arrays)

    def judge(self, results, cotangent):
        at = os.path.join(self.folder, "call.npz")
        words = [f"{n}={at}:{a}" for n, a in (("query", "q"), ("key", "k"), ("value", "v"))]
        if cotangent:
            words.append(f"cotangent_out={at}:d_out")
        given = [w for name in results for w in ("--given", f"{name[0]}={at}:{name[1]}")]
        mask = os.path.join(self.folder, "mask.npy")
        done = subprocess.run(
            [self.program, "verify", mask, "--as", "dense", "--layout", "bhtd", "--json", *words, *given],
            capture_output=True, text=True)
        if done.returncode not in (0, 1, 2) or not done.stdout:
            sys.exit(f"{done.args}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def under(self, mask, results, cotangent=False):
        np.save(os.path.join(self.folder, "mask.npy"), mask)
        return self.judge(results, cotangent)


FORWARD = [("out", "out")]
BACKWARD = [("grad_query", "dq"), ("grad_key", "dk"), ("grad_value", "dv")]


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    totals = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        for n in range(count):
            rng = np.random.default_rng(seed * 1000003 + n)
            torch.manual_seed(seed * 1000003 + n)
            kernel = ["math", "flash", "jax"][n % 3]
            dtype = [torch.bfloat16, torch.float16, torch.float32][n // 3 % 3]
            heads, dim = int(rng.choice([1, 2])), int(rng.choice([64, 128]))
            tokens = int(np.exp(rng.uniform(np.log(24), np.log(900))))
            kind, mask, neighbour = draw_mask(rng, tokens)
            q, k, v, d_out = (torch.randn(1, heads, tokens, dim).to(dtype) for _ in range(4))
            if rng.random() < 0.2:
                q = (q * 3).to(dtype)
            out, dq, dk, dv = KERNELS[kernel](q, k, v, d_out, torch.from_numpy(mask))
            wide = lambda x: x.float().numpy()
            arrays = dict(q=wide(q), k=wide(k), v=wide(v), d_out=wide(d_out), out=wide(out), dq=wide(dq),
                          dk=wide(dk), dv=wide(dv))
            verify = Verify(program, folder)
            verify.save(**arrays)

            def tally(what, report, right):
                verdict = report["verdict"]
                good = verdict == "obeys" if right else verdict in ("another", "none")
                totals[what][verdict if not good else "good"] += 1
                totals["all " + what.split(",")[0]]["good" if good else verdict] += 1
                if not good:
                    print(n, kernel, dtype, kind, tokens, dim, what, verdict, report["text"], report["rows"])

            name = f"{kernel} {str(dtype)[6:]}"
            tally(f"right output, {name}", verify.under(mask, FORWARD), True)
            tally(f"right gradients, {name}", verify.under(mask, BACKWARD, True), True)
            tally(f"right all, {name}", verify.under(mask, FORWARD + BACKWARD, True), True)
            if (neighbour != mask).any():
                report = verify.under(neighbour, FORWARD)
                tally(f"neighbour, {name}", report, False)
                if kind == "documents":
                    totals["moved borders, " + ("named" if report["verdict"] == "another" else "not named")]["n"] += 1
                tally(f"neighbour gradients, {name}", verify.under(neighbour, BACKWARD, True), False)
            logits = (wide(q)[0] @ wide(k)[0].transpose(0, 2, 1)) / np.sqrt(dim)
            weights = np.exp(logits - logits.max(-1, keepdims=True)).astype(np.float64)
            for leaks in (True, False):
                cell = one_cell(rng, weights, mask, ROUNDING[dtype], not leaks)
                if cell is None:
                    continue
                h, i, j = cell
                declared = np.broadcast_to(mask, (1, heads, tokens, tokens)).copy()
                declared[0, h, i, j] = not declared[0, h, i, j]
                what = "leaked" if leaks else "missing"
                tally(f"one {what} cell, {name}", verify.under(declared, FORWARD), False)
    for what in sorted(totals):
        print(f"{what}:", *(f"{verdict} {n}" for verdict, n in sorted(totals[what].items())))


if __name__ == "__main__":
    main()
