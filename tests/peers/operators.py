"""Runs what `maskctl translate` prints for operators in their real libraries on CPU, and reads calls of them back, cell
by cell: ONNX's reference, onnxruntime, OpenVINO, MLX and Keras. The cells are the weights of one-hot values.

    operators.py MASKCTL [ROUNDS [SEED]]    needs onnx, onnxruntime, openvino, mlx[cpu], keras, jax
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import types

os.environ["KERAS_BACKEND"] = "jax"

import keras
import mlx.core as mx
import numpy as np
import onnx
import onnx.reference
import onnxruntime
import openvino
import openvino.opset13 as opset

PROGRAM = sys.argv[1]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 200
random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
SIZE = 16  # of a head, as many as there are keys at most


def command(*words):
    return subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def cells_of(pipeline, queries, keys):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.npy")
        steps = ["-t", pipeline] if pipeline else []
        done = command("gen", f"full:q={queries},k={keys}", *steps, "-o", path)
        assert done.returncode == 0, done.stderr
        return np.load(path).reshape(queries, keys) != 0


def arrays(queries, keys, heads_last=False):
    """q, k and v [1, 1, S, D]: the scores are equal, and the output's element j is the weight of key j."""
    q, k, v = (np.zeros((1, 1, n, SIZE), np.float32) for n in (queries, keys, keys))
    v[0, 0, range(keys), range(keys)] = 1
    return tuple(x.swapaxes(1, 2) for x in (q, k, v)) if heads_last else (q, k, v)


def opened(out, keys):
    return np.asarray(out).reshape(-1, SIZE)[:, :keys] > 1e-6


def attend_onnx(q, k, v, attn_mask=None, **attributes):
    feeds = {"Q": q, "K": k, "V": v} | ({} if attn_mask is None else {"M": attn_mask})
    windows = any(name.endswith("window_size") for name in attributes)
    kinds = {name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.BOOL if name == "M" else 1, x.shape)
             for name, x in feeds.items()}
    node = onnx.helper.make_node("Attention", list(feeds), ["Y"], **attributes)
    graph = onnx.helper.make_graph([node], "g", list(kinds.values()), [onnx.helper.make_tensor_value_info("Y", 1, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 25 if windows else 24)])
    return onnx.reference.ReferenceEvaluator(model).run(None, feeds)[0]


def attend_ort(query, key, value, past_key, past_value, seqlens_k, total_sequence_length, **attributes):
    """One head; the first keys lie in the cache."""
    (queries, past), keys = (query.shape[2], past_key.shape[2]), past_key.shape[2] + key.shape[2]
    feeds = {"q": query[:, 0], "k": key[:, 0], "v": value[:, 0], "pk": past_key, "pv": past_value,
             "s": np.array([keys - 1], np.int32), "t": np.array(keys, np.int32)}
    infos = [onnx.helper.make_tensor_value_info(n, 6 if n in "st" else 1, x.shape) for n, x in feeds.items()]
    outs = [onnx.helper.make_tensor_value_info(n, 1, None) for n in ("y", "nk", "nv")]
    node = onnx.helper.make_node("GroupQueryAttention", list(feeds), ["y", "nk", "nv"], domain="com.microsoft", num_heads=1,
                                 kv_num_heads=1, **attributes)
    ids = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", infos, outs), opset_imports=ids, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def attend_openvino(q, k, v, attention_mask=None, causal=False):
    given = [q, k, v] if attention_mask is None else [q, k, v, attention_mask]
    inputs = [opset.parameter(x.shape, x.dtype) for x in given]
    node = opset.scaled_dot_product_attention(*inputs, causal=causal)
    return openvino.compile_model(openvino.Model([node], inputs), "CPU")(given)[0]


def run(library, code, queries, keys):
    """The cells that the printed code opens, or None where it cannot be run at this size."""
    if library == "onnxruntime":
        if queries > keys:
            return None
        q, k, v = arrays(queries, keys)
        past = keys - queries
        names = {"query": q, "key": k[:, :, past:], "value": v[:, :, past:], "past_key": k[:, :, :past], "past_value": v[:, :, :past],
                 "seqlens_k": None, "total_sequence_length": None, "GroupQueryAttention": attend_ort}
    else:
        q, k, v = arrays(queries, keys, library == "keras")
        names = {"q": q, "k": k, "v": v, "np": np, "mx": mx, "keras": keras, "op": types.SimpleNamespace(Attention=attend_onnx),
                 "scaled_dot_product_attention": attend_openvino, "x": q}
        if library == "mlx":
            names |= {"q": mx.array(q), "k": mx.array(k), "v": mx.array(v)}
            names["mx"] = types.SimpleNamespace(array=mx.array, fast=types.SimpleNamespace(
                scaled_dot_product_attention=lambda *a, **b: mx.fast.scaled_dot_product_attention(*a, **({"scale": 1.0} | b))))
    lines = list(code)
    exec("\n".join(lines[:-1] + [f"result = {lines[-1]}"]), names)
    return opened(np.array(names["result"]), keys)


def step(aligned):
    text = random.choice(["causal", f"window:keys={random.randint(1, 4)}", f"window:both={random.randint(0, 3)}", "chunk:size=3",
                          f"window:left={random.randint(0, 3)}", f"window:right={random.randint(0, 3)}", "prefix:n=2",
                          f"window:left={random.randint(0, 3)},right={random.randint(0, 3)}", "dilated:stride=2"])
    if not aligned or text.split(":")[0] not in ("causal", "window"):
        return text
    return text + ("," if ":" in text else ":") + "align=" + aligned


def written(library):
    counts = [0, 0]
    for _ in range(ROUNDS):
        queries, keys = random.randint(1, 8), random.randint(1, 8)
        aligned = random.choice(["top-left", "bottom-right"])
        pipeline = " | ".join(step(aligned) for _ in range(random.randint(1, 2)))
        said = json.loads(command("translate", "-t", pipeline, "--to", library, "--json").stdout)["masks"][0]["libraries"][0]
        if not said["ok"]:
            continue
        want, code = cells_of(pipeline, queries, keys), said["code"]
        if not want.any(1).all():
            continue  # what a row without keys gives is another question
        have = run(library, code, queries, keys)
        if have is not None:
            counts[0] += 1
            counts[1] += not np.array_equal(have, want)
            if not np.array_equal(have, want):
                print(library, pipeline, queries, keys, code, have.astype(int), want.astype(int), sep="\n")
    return counts


CALLS = {
    "onnx": lambda: f"op.Attention(q, k, v, is_causal={random.randint(0, 1)}, left_window_size={random.randint(-1, 3)}, "
                    f"right_window_size={random.randint(-1, 3)})",
    "onnxruntime": lambda: "GroupQueryAttention(query, key, value, past_key, past_value, seqlens_k, total_sequence_length, "
                           f"local_window_size={random.choice([-1, 1, 2, 3, 4])})",
    "mlx": lambda: "mx.fast.scaled_dot_product_attention(q, k, v" + random.choice([')', ', mask="causal")']),
    "openvino": lambda: f"scaled_dot_product_attention(q, k, v, causal={random.choice(['True', 'False'])})",
    "keras": lambda: random.choice([
        f"keras.ops.dot_product_attention(q, k, v, is_causal={random.choice(['True', 'False'])})",
        *([f"layer = keras.layers.GroupQueryAttention(1, 1, 1, sliding_window={random.randint(1, 4)})\n"
           f"layer(x, x, use_causal_mask={random.choice(['True', 'False'])})"] if LAYERS else [])]),
}
LAYERS = "sliding_window" in keras.layers.GroupQueryAttention.__init__.__code__.co_varnames


def of_layer(text, queries, keys):
    """The mask that a layer of Keras makes, by its own method."""
    names = {"keras": keras}
    first, second = text.split("\n")
    exec(first, names)
    causal = "use_causal_mask=True" in second
    made = names["layer"]._compute_attention_mask(np.zeros((1, queries, 1)), np.zeros((1, keys, 1)), use_causal_mask=causal)
    return np.asarray(made).reshape(queries, keys)


def read(library):
    counts = [0, 0]
    for _ in range(ROUNDS):
        queries, keys, text = random.randint(1, 8), random.randint(1, 8), CALLS[library]()
        said = command("translate", "--from", library, text, "--to", "flex", "--json")
        assert said.returncode == 0, (text, said.stderr)
        want = cells_of(json.loads(said.stdout)["masks"][0]["pipeline"], queries, keys)
        if not want.any(1).all():
            continue
        have = of_layer(text, queries, keys) if "\n" in text else run(library, [text], queries, keys)
        if have is not None:
            counts[0] += 1
            counts[1] += not np.array_equal(have, want)
            if not np.array_equal(have, want):
                print(library, text, queries, keys, have.astype(int), want.astype(int), sep="\n")
    return counts


def main():
    failed = 0
    for library in CALLS:
        for what, (count, wrong) in {"written": written(library), "read": read(library)}.items():
            print(f"{library:12} {what:8} {count:5} compared, {wrong} differ")
            failed += wrong
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
