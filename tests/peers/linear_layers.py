"""Are `gated_delta_rule` and `short_convolution` those of the libraries, and are faults named?

    python tests/peers/linear_layers.py PROGRAM [COUNT [SEED]]

Draws packed and batched calls, and compares outputs, final states and gradients of both backends
with fla-core's naive_recurrent_gated_delta_rule and naive_chunk_gated_delta_rule, with the
fallback of transformers' qwen3_next, and with torch's conv1d, sequence by sequence, all with
torch's autograd. (fla-core has no naive convolution. Its naive file is loaded alone, as the package
needs a GPU.) Outputs of the same code that ignores the borders, drops the initial state or, of the
delta rule, the decay are then judged by `verify --given`, which has to name what was done.
The last lines are totals.
"""

import collections
import importlib.util
import os
import subprocess
import sys
import tempfile
import types

import numpy as np
import torch

TOLERANCE = 1e-5


def naive():
    """fla-core's naive file without its package; absent: None."""
    package = importlib.util.find_spec("fla")
    if package is None:
        return None
    if importlib.util.find_spec("einops") is None:  # for the pattern of the chunked form alone
        einops = types.ModuleType("einops")
        einops.rearrange = rearranged
        sys.modules["einops"] = einops
    path = os.path.join(list(package.submodule_search_locations)[0], "ops/gated_delta_rule/naive.py")
    spec = importlib.util.spec_from_file_location("naive_gated_delta_rule", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rearranged(x, pattern, c=None):
    if pattern == "b h (n c) d -> b h n c d":
        return x.reshape(*x.shape[:2], -1, c, x.shape[3])
    if pattern == "b h n c d -> b h (n c) d":
        return x.reshape(*x.shape[:2], -1, x.shape[4])
    raise ValueError(pattern)


def delta_rules():
    """Functions of q, k, v, beta, g and a state, by name; heads of q and k are those of v."""
    rules = {}
    fla = naive()
    if fla:
        rules["fla recurrent"] = lambda q, k, v, beta, g, state: (
            fla.naive_recurrent_gated_delta_rule(
                q, k, v, beta, g, initial_state=state, output_final_state=True))
        rules["fla chunk"] = lambda q, k, v, beta, g, state: fla.naive_chunk_gated_delta_rule(
            q, k, v, g, beta, chunk_size=4, initial_state=state, output_final_state=True)
    from transformers.models.qwen3_next import modeling_qwen3_next as qwen
    rules["qwen3_next"] = lambda q, k, v, beta, g, state: qwen.torch_recurrent_gated_delta_rule(
        q, k, v, g, beta, initial_state=state, output_final_state=True)
    return rules


def convolved(x, weight, bias, state, silu):
    """Torch's conv1d over [T,C] after a state [C,W-1]."""
    line = torch.cat([state.T, x]).T[None]
    out = torch.nn.functional.conv1d(line, weight[:, None], bias, groups=len(weight))[0].T
    last = line[0, :, line.shape[2] - state.shape[1]:]
    return torch.nn.functional.silu(out) if silu else out, last


def draw_delta(rng):
    packed = rng.random() < 0.6
    batch, tokens, heads = 1 if packed else int(rng.integers(1, 3)), int(rng.integers(3, 70)), 2
    values = heads * int(rng.integers(1, 3))
    keys, width = int(rng.integers(2, 33)), int(rng.integers(2, 33))
    call = {"query": rng.standard_normal((batch, tokens, heads, keys)),
            "key": rng.standard_normal((batch, tokens, heads, keys)),
            "value": rng.standard_normal((batch, tokens, values, width)),
            "beta": rng.random((batch, tokens, values)),
            "g": -rng.random((batch, tokens, values)) / 2}
    call["key"] /= np.linalg.norm(call["key"], axis=-1, keepdims=True)
    lengths = cut(rng, tokens) if packed else [tokens] * batch
    call["initial_state"] = rng.standard_normal((len(lengths), values, keys, width))
    return call, lengths, packed


def draw_convolution(rng):
    packed = rng.random() < 0.6
    batch, tokens = 1 if packed else int(rng.integers(1, 3)), int(rng.integers(3, 70))
    channels, width = int(rng.integers(1, 100)), int(rng.integers(2, 6))
    lengths = cut(rng, tokens) if packed else [tokens] * batch
    return {"x": rng.standard_normal((batch, tokens, channels)),
            "weight": rng.standard_normal((channels, width)),
            "bias": rng.standard_normal(channels),
            "initial_state": rng.standard_normal((len(lengths), channels, width - 1))
            }, lengths, packed


def cut(rng, tokens):
    borders = np.unique(rng.integers(1, tokens, size=int(rng.integers(1, 4))))
    return np.diff([0, *borders, tokens]).tolist()


def delta_results(rule, call, lengths, packed):
    """Output and final states of a rule, one sequence after the other."""
    q, k, v, beta, g = (call[n] for n in ("query", "key", "value", "beta", "g"))
    group = v.shape[2] // q.shape[2]
    q, k = q.repeat_interleave(group, 2), k.repeat_interleave(group, 2)
    outs, states, first = [], [], 0
    for n, length in enumerate(lengths):
        rows = (slice(0, 1), slice(first, first + length)) if packed else (slice(n, n + 1),)
        out, state = rule(*(x[rows] for x in (q, k, v, beta, g)), call["initial_state"][n:n + 1])
        outs.append(out)
        states.append(state)
        first += length
    return torch.cat(outs, 1 if packed else 0), torch.cat(states)


def convolution_results(silu, call, lengths, packed):
    outs, states, first = [], [], 0
    for n, length in enumerate(lengths):
        x = call["x"][0, first:first + length] if packed else call["x"][n]
        out, state = convolved(x, call["weight"], call["bias"], call["initial_state"][n], silu)
        outs.append(out)
        states.append(state)
        first += length
    return torch.cat(outs)[None] if packed else torch.stack(outs), torch.stack(states)


def with_gradients(results, call, cotangents):
    arrays = {n: torch.tensor(a, requires_grad=True) for n, a in call.items()}
    out, state = results(arrays)
    torch.autograd.backward([out, state], [torch.tensor(c) for c in cotangents])
    found = {"out": out.detach().numpy(), "final_state": state.detach().numpy()}
    return found | {"grad_" + n: a.grad.numpy() for n, a in arrays.items()}


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def run(self, *words):
        return subprocess.run([self.path, *words], capture_output=True, text=True)

    def words(self, call, lengths, packed, options):
        words = [f"{name}={value}" for name, value in options.items()]
        arrays = dict(call)
        if packed:
            arrays["cu_seqlens"] = np.cumsum([0, *lengths]).astype(np.int32)
        for name, array in arrays.items():
            file = f"{self.folder}/{name}.npy"
            np.save(file, array)
            words.append(f"{name}={file}")
        return words

    def attend(self, operation, words, cotangents, backend):
        for name, array in zip(("out", "final_state"), cotangents):
            np.save(f"{self.folder}/d_{name}.npy", array)
        out = f"{self.folder}/results.npz"
        done = self.run("attend", operation, *words, "return_state=true", "--gradients",
                        "--backend", backend, "-o", out, "--force",
                        *(f"cotangent_{n}={self.folder}/d_{n}.npy" for n in ("out", "final_state")))
        if done.returncode:
            sys.exit(done.stderr)
        return dict(np.load(out))

    def verdict(self, operation, words, out):
        np.save(f"{self.folder}/given.npy", out)
        done = self.run("verify", "none", "--op", operation, *words, "--given",
                        f"{self.folder}/given.npy")
        return done.stdout.splitlines()[-1] if done.stdout else done.stderr


def farthest(seen, expected):
    return max(float(np.abs(seen[n] - expected[n]).max() / max(1, np.abs(expected[n]).max()))
               for n in expected if expected[n].size)


def faults(call, lengths, packed, over):
    """Changed calls, their lengths, and the words that name what was changed."""
    if packed and len(lengths) > 1:
        yield (call | {"initial_state": call["initial_state"][:1]}, [sum(lengths)],
               f"without cu_seqlens: borders ignored, {over}")
    yield (call | {"initial_state": 0 * call["initial_state"]}, lengths, "without initial_state")
    if "g" in call:
        yield call | {"g": 0 * call["g"]}, lengths, "without g: its decay not applied"


def ask(program, operation, results, drawn, over, options, totals):
    call, lengths, packed = drawn
    call = {n: a.astype(np.float32) for n, a in call.items()}
    words = program.words(call, lengths, packed, options)
    wide = {n: a.astype(np.float64) for n, a in call.items()}
    rng = np.random.default_rng(1)
    for name, of in results.items():
        shown = of({n: torch.tensor(a) for n, a in wide.items()}, lengths, packed)
        cotangents = [rng.standard_normal(tuple(x.shape)).astype(np.float32) for x in shown]
        same = [c.astype(shown[0].numpy().dtype) for c in cotangents]
        expected = with_gradients(lambda c: of(c, lengths, packed), wide, same)
        for backend in ("reference", "cpu"):
            seen = program.attend(operation, words, cotangents, backend)
            key = f"{operation} {backend} beside {name}"
            totals[key] = max(totals.get(key, 0), farthest(seen, expected))
    asked = list(results.values())[0]
    for changed, others, told in [(call, lengths, "obeys it"), *faults(call, lengths, packed, over)]:
        arrays = {n: torch.tensor(a.astype(np.float64)) for n, a in changed.items()}
        out = asked(arrays, others, packed)[0].numpy().astype(np.float32)
        line = program.verdict(operation, words, out)
        totals["verdicts"] += 1
        if told in line:
            totals["named"] += 1
        else:
            print(f"{operation}: expected '{told}', said '{line}'")


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    rng = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    totals = collections.Counter()
    rules = delta_rules()
    with tempfile.TemporaryDirectory() as folder:
        program = Program(sys.argv[1], folder)
        for _ in range(count):
            delta = {name: lambda c, n, p, rule=rule: delta_results(rule, c, n, p)
                     for name, rule in rules.items()}
            ask(program, "gated_delta_rule", delta, draw_delta(rng), "the state not reset", {},
                totals)
            silu = bool(rng.random() < 0.5)
            conv = {"torch": lambda c, n, p: convolution_results(silu, c, n, p)}
            ask(program, "short_convolution", conv, draw_convolution(rng),
                "the convolution reaches over", {"activation": "silu" if silu else "none"}, totals)
    named, verdicts = totals.pop("named"), totals.pop("verdicts")
    for key, far in totals.items():
        print(f"{key}: {far:.1e} apart at most")
    print(f"{named} of {verdicts} outputs named")
    if named < verdicts or max(totals.values()) > TOLERANCE:
        sys.exit(1)


if __name__ == "__main__":
    main()
