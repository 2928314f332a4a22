"""How far from float64 are the GPU's results, beside those of other libraries?

    python tests/peers/gpu_errors.py PROGRAM [--backend cuda|cpu]

PROGRAM is a maskctl with CUDA kernels. One line of JSON per result: the relative error (the norm of
the difference from float64 by the norm of float64) of maskctl and of the peer on the same bfloat16
arrays, and their ratio. Peers: torch's batched product, mean and scaled_dot_product_attention, and
flash-linear-attention's chunked kernels where it is installed and a GPU is there.
"""

import argparse
import json
import os
import subprocess
import tempfile

import torch
from safetensors.torch import load_file, save_file

BF16 = torch.bfloat16


def run(program, backend, operation, arrays, options, gradients):
    """Runs `maskctl attend`; returns the results by name."""
    with tempfile.TemporaryDirectory() as folder:
        given, out = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
        save_file({name: x.cpu().contiguous() for name, x in arrays.items()}, given)
        command = [program, "attend", operation, "--backend", backend, "-o", out]
        command += [f"{name}={given}:{name}" for name in arrays] + options
        subprocess.run(command + ["--gradients"] * gradients, check=True,
                       stdout=subprocess.DEVNULL)
        return load_file(out)


def error(x, exact):
    return ((x.double().cpu() - exact.cpu()).norm() / exact.cpu().norm()).item()


def with_gradients(function, d_out, arrays):
    """Runs a function of torch; returns the results by maskctl's names, with gradients if d_out is
    given."""
    leaves = {name: x.detach().clone().requires_grad_(x.is_floating_point() and d_out is not None)
              for name, x in arrays.items()}
    out = function(**leaves)
    results = {"out": out.detach()}
    if d_out is not None:
        out.backward(d_out.to(out.dtype))
        results |= {f"grad_{name}": x.grad for name, x in leaves.items() if x.grad is not None}
    return results


def doubled(arrays):
    return {name: x.double() if x.is_floating_point() else x for name, x in arrays.items()}


def compare(args, name, operation, arrays, options, exact, peers, d_out=None):
    """Prints the errors of maskctl and of the peers, relative to the result of `exact`. `exact` and
    the values of `peers` are functions that take the arrays by name."""
    if not peers:
        return
    given = dict(arrays)
    if d_out is not None:
        given["cotangent_out"] = d_out
    ours = run(args.program, args.backend, operation, given, options, d_out is not None)
    right = with_gradients(exact, None if d_out is None else d_out.double(), doubled(arrays))
    for peer, function in peers.items():
        theirs = with_gradients(function, d_out, arrays)
        for result in sorted(set(right) & set(ours) & set(theirs)):
            mine, other = error(ours[result], right[result]), error(theirs[result], right[result])
            print(json.dumps({"case": name, "result": result, "maskctl": round(mine, 6),
                              "peer": peer, "peer_error": round(other, 6),
                              "ratio": round(mine / other, 3)}), flush=True)


def decayed(query, key, value, log_decay):
    """Linear attention with one decay per head, computed from its definition."""
    t = torch.arange(query.shape[1], device=query.device)
    distance = (t[:, None] - t[None, :]).double()
    weights = torch.where(distance >= 0, torch.exp(log_decay[:, None, None] * distance), 0)
    scores = torch.einsum("bihd,bjhd->bhij", query, key) * query.shape[-1] ** -0.5
    return torch.einsum("bhij,bjhd->bihd", scores * weights, value)


def gated(query, key, value, g):
    """Linear attention with a gate per channel, computed token by token."""
    state, out = 0, []
    for t in range(query.shape[1]):
        state = state * g[:, t].exp()[..., None] + key[:, t, :, :, None] * value[:, t, :, None, :]
        out.append(torch.einsum("bhk,bhkv->bhv", query[:, t], state) * query.shape[-1] ** -0.5)
    return torch.stack(out, 1)


def linear_cases(args, normal):
    peers = ({}, {})
    if args.device == "cuda":
        try:
            from fla.ops.gla import chunk_gla
            from fla.ops.lightning_attn import chunk_lightning_attn
            peers = ({"fla": lambda query, key, value: chunk_lightning_attn(query, key, value, 3, 12)[0]},
                     {"fla": lambda query, key, value, g: chunk_gla(query, key, value, g)[0]})
        except ImportError as missing:
            print(json.dumps({"not compared": str(missing)}))
    b, t, h, d = 1, 2048, 16, 128
    qkv = {name: normal(b, t, h, d) for name in ("query", "key", "value")}
    log_decay = -8 / h * (1 - 3 / 12) * torch.arange(h, device=args.device).double()
    compare(args, "lightning", "lightning_attention", qkv, ["layer_idx=3", "num_layers=12"],
            lambda query, key, value: decayed(query, key, value, log_decay), peers[0],
            normal(b, t, h, d))
    qkv = {name: x[:, :512] for name, x in qkv.items()}
    gate = torch.nn.functional.logsigmoid(normal(b, 512, h, d).float()).to(BF16)
    compare(args, "gla", "gla_attention", qkv | {"g": gate}, [], gated, peers[1],
            normal(b, 512, h, d))


def grouped_case(args, normal):
    groups, rows, inner, columns = 4, 512, 768, 512
    arrays = {"lhs": normal(groups * rows, inner), "rhs": normal(groups, inner, columns)}
    sizes = torch.full((groups,), rows, dtype=torch.int32)

    def product(lhs, rhs):
        return torch.bmm(lhs.reshape(groups, rows, inner), rhs).reshape(groups * rows, columns)

    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "sizes.safetensors")
        save_file({"sizes": sizes}, file)
        compare(args, "grouped", "grouped_matmul", arrays, [f"group_sizes={file}:sizes"], product,
                {"torch.bmm": product}, normal(groups * rows, columns))


def pooling_case(args, normal):
    b, t, c = 8, 4001, 512
    compare(args, "pooling", "mean_pooling", {"x": normal(b, t, c)}, [], lambda x: x.mean(1),
            {"torch.mean": lambda x: x.mean(1)}, normal(b, c))


def paged_case(args, normal):
    n, pages_each, page, heads, kv_heads, d = 4, 64, 16, 32, 8, 128
    tables = torch.randperm(n * pages_each).reshape(n, pages_each).to(torch.int32)
    lengths = torch.full((n,), pages_each * page, dtype=torch.int32)
    arrays = {"query": normal(n, heads, d),
              "key_cache": normal(n * pages_each, kv_heads, page, d),
              "value_cache": normal(n * pages_each, kv_heads, page, d)}

    def dense(cache):
        rows = cache[tables.long().to(cache.device)]  # [n, pages, kv_heads, page, d]
        rows = rows.permute(0, 2, 1, 3, 4).reshape(n, kv_heads, pages_each * page, d)
        return rows.repeat_interleave(heads // kv_heads, 1)

    def attend(query, key_cache, value_cache):
        return torch.nn.functional.scaled_dot_product_attention(
            query[:, :, None], dense(key_cache), dense(value_cache))[:, :, 0]

    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "tables.safetensors")
        save_file({"tables": tables, "lengths": lengths}, file)
        options = [f"block_tables={file}:tables", f"context_lens={file}:lengths"]
        compare(args, "paged", "page_attention", arrays, options, attend, {"torch.sdpa": attend})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--backend", choices=["cuda", "cpu"], default="cuda")
    args = parser.parse_args()
    args.device = "cuda" if args.backend == "cuda" else "cpu"
    torch.manual_seed(1)

    def normal(*shape):
        return torch.randn(*shape, device=args.device).to(BF16)

    grouped_case(args, normal)
    pooling_case(args, normal)
    paged_case(args, normal)
    linear_cases(args, normal)


if __name__ == "__main__":
    main()
