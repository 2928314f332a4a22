#!/usr/bin/python3
"""Makes the sample arrays in this folder; --check compares instead of writing. Needs numpy only."""
import io
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


def leaked_pair():
    """The first packed row with causal attention, and one pair too many: token 17 sees token 3."""
    ids = packed_ids()[0]
    q, k = np.ogrid[:24, :24]
    mask = (ids[:, None] == ids[None]) & (ids[:, None] >= 0) & (k <= q)
    mask[17, 3] = True
    return mask


SAMPLES = {
    "packed.npy": packed_ids,
    "padded.npy": padded_batch,
    "heads.npy": per_head,
    "cross.npy": cross_attention,
    "window_sinks.npy": window_with_sinks,
    "leaked.npy": leaked_pair,
}


def main():
    check = "--check" in sys.argv[1:]
    stale = []
    for name, make in SAMPLES.items():
        out = io.BytesIO()
        np.save(out, np.ascontiguousarray(make()))
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
