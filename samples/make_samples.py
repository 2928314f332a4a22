#!/usr/bin/python3
"""Makes the sample arrays in this folder; --check compares instead of writing. Needs numpy only."""
import io
import json
import os
import sys

import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))


def packed_ids():
    """Two rows of 24 tokens; documents 0, 1, 2 of 9, 6, 7 tokens and 2 of padding; 0, 1 of 12, 12."""
    lengths = [[(0, 9), (1, 6), (2, 7), (-1, 2)], [(0, 12), (1, 12)]]
    return np.array([np.concatenate([np.full(n, i) for i, n in row]) for row in lengths], np.int32)


def padded_batch():
    """Three rows of 16 tokens of which the first 16, 11 and 5 are real."""
    return np.arange(16) < np.array([[16], [11], [5]])


def per_head():
    """Four heads over 16 tokens, each with a pattern of its own."""
    q, k = np.ogrid[:16, :16]
    causal = k <= q
    heads = [causal, causal & (q - k < 4), causal & ((q - k) % 3 == 0), (k == 0) | (k == q)]
    return np.stack(heads)[None]


def cross_attention():
    """Two batches of 6 decoder tokens that read 10 encoder tokens, of which 10 and 7 are real."""
    valid = np.arange(10) < np.array([[10], [7]])
    return np.broadcast_to(valid[:, None, None, :], (2, 1, 6, 10))


def window_with_sinks():
    """32 tokens; each sees the last 8 (itself included) and the first 2."""
    q, k = np.ogrid[:32, :32]
    return (k <= q) & ((q - k < 8) | (k < 2))


def alibi():
    """Two heads over 8 tokens: causal, and 1/4 or 1/16 less for each token of distance."""
    q, k = np.ogrid[:8, :8]
    slopes = np.array([1 / 4, 1 / 16])[None, :, None, None]
    return np.where(k <= q, -slopes * (q - k), -np.inf).astype(np.float32)


def leaked_ids():
    """The documents of the first packed row."""
    return packed_ids()[0]


def leaked_tokens():
    """The tokens of that row as text, a line each: three documents, and padding."""
    rows = ["The cat sat on the mat and slept .", "A dog barked at it .",
            "Rain fell on the roof again .", "<pad> <pad>"]
    return "\n".join(" ".join(rows).split()) + "\n"


def leaked_pair():
    """The first packed row with causal attention, and one pair too many: token 17 sees token 3."""
    ids = leaked_ids()
    q, k = np.ogrid[:24, :24]
    mask = (ids[:, None] == ids[None]) & (ids[:, None] >= 0) & (k <= q)
    mask[17, 3] = True
    return mask


def window(tokens, keys):
    """Causal window of so many keys including the query's own."""
    q, k = np.ogrid[:tokens, :tokens]
    return (k <= q) & (q - k < keys)


def diagonal(queries, keys, shift):
    q, k = np.ogrid[:queries, :keys]
    return k <= q + shift


def blocks_by_first_key(tokens, q_size, k_size, left, right):
    """The blocks of a kernel that keeps a block when its first key (it should be its last) is inside
    the left side of the first row's window, and its last key inside the right side of the last
    row's."""
    q, k = np.ogrid[:tokens:q_size, :tokens:k_size]
    q_last, k_last = q + q_size - 1, k + k_size - 1
    return (k <= q_last) & (k >= q - left) & (k_last <= q_last + right)


def chunked_without_offset():
    """Causal in chunks of 4 with an offset of 2 that only the causal part uses."""
    q, k = np.ogrid[:12, :12]
    return (k <= q + 2) & (q // 4 == k // 4)


def prefill_cut():
    """A window of 4 back over 16 tokens, of which a prefill keeps the last 4 columns for all rows."""
    q, k = np.ogrid[:16, :16]
    return ((k <= q) & (q - k <= 4))[:, -4:]


def heads_apart():
    """Two heads over 8 tokens: two documents of 4 tokens, and causal."""
    documents = np.arange(8) // 4
    return np.stack([documents[:, None] == documents, window(8, 8)])[None]


def kernel_run(name):
    """q, k, v and the output of a kernel with two heads over 64 tokens, in float16, whose window has
    33 keys though 32 were meant."""
    rng = np.random.default_rng(15)
    run = {key: rng.standard_normal((1, 64, 2, 8)).astype(np.float16) for key in "qkv"}
    q, k, v = (run[key].astype(np.float64) for key in "qkv")
    logits = np.where(window(64, 33), np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(8), -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    out = np.einsum("bhij,bjhd->bihd", weights / weights.sum(-1, keepdims=True), v)
    return dict(run, out=out.astype(np.float16))[name]


def layers_config():
    """The keys of a Hugging Face config.json that say what each layer attends."""
    full, sliding = "full_attention", "sliding_attention"
    return json.dumps({"model_type": "gemma3_text", "num_hidden_layers": 8, "sliding_window": 512,
                       "layer_types": [full if i % 4 == 3 else sliding for i in range(8)]}) + "\n"


SAMPLES = {
    "packed.npy": packed_ids,
    "padded.npy": padded_batch,
    "heads.npy": per_head,
    "cross.npy": cross_attention,
    "window_sinks.npy": window_with_sinks,
    "leaked.npy": leaked_pair,
    "leaked_ids.npy": leaked_ids,
    "leaked_tokens.txt": leaked_tokens,
    "alibi.npy": alibi,
    "hf_config.json": layers_config,
    "bugs/window_train.npy": lambda: window(32, 9),
    "bugs/window_decode.npy": lambda: window(32, 8),
    "bugs/top_left.npy": lambda: diagonal(6, 10, 0),
    "bugs/bottom_right.npy": lambda: diagonal(6, 10, 4),
    "bugs/zero_declared.npy": lambda: window(12, 1),
    "bugs/zero_applied.npy": lambda: window(12, 12),
    "bugs/blocks_w100.npy": lambda: blocks_by_first_key(512, 64, 64, 100, 100),
    "bugs/blocks_w127.npy": lambda: blocks_by_first_key(512, 64, 64, 127, 127),
    "bugs/blocks_w128.npy": lambda: blocks_by_first_key(512, 64, 64, 128, 128),
    "bugs/blocks_w1023.npy": lambda: blocks_by_first_key(4096, 64, 64, 1023, 1023),
    "bugs/blocks_wide.npy": lambda: blocks_by_first_key(512, 64, 128, 128, 128),
    "bugs/blocks_pair.npy": lambda: blocks_by_first_key(512, 64, 128, 128, 0),
    "bugs/chunk_offset.npy": chunked_without_offset,
    "bugs/prefill.npy": prefill_cut,
    "bugs/documents.npy": lambda: np.repeat([1, 2, -1], [6, 8, 2]).astype(np.int32)[None],
    "bugs/types.npy": lambda: np.array([[0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0]], np.int32),
    "bugs/labels.npy": lambda: np.repeat([1, 101], [6, 6]).astype(np.int32)[None],
    "bugs/heads.npy": heads_apart,
    "bugs/kernel_q.npy": lambda: kernel_run("q"),
    "bugs/kernel_k.npy": lambda: kernel_run("k"),
    "bugs/kernel_v.npy": lambda: kernel_run("v"),
    "bugs/kernel_out.npy": lambda: kernel_run("out"),
}


def main():
    check = "--check" in sys.argv[1:]
    stale = []
    for name, make in SAMPLES.items():
        made = make()
        out = io.BytesIO(made.encode() if isinstance(made, str) else b"")
        if not isinstance(made, str):
            np.save(out, np.ascontiguousarray(made))
        path = os.path.join(FOLDER, name)
        if not check:
            with open(path, "wb") as f:
                f.write(out.getvalue())
        elif open(path, "rb").read() != out.getvalue():
            stale.append(name)
    if stale:
        sys.exit("not what make_samples.py makes: " + ", ".join(stale))


if __name__ == "__main__":
    main()
