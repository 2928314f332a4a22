#!/usr/bin/python3
"""Masks as training and serving stacks hold them, in random sizes: `maskctl check` must have no
warning for the valid ones, and the finding that is named for each planted fault. Prints
"N masks, N wrong"; exits 1 when any is wrong. Run it in a folder of its own, with maskctl on PATH.

    check_faults.py [--rounds N] [--seed N]
"""
import argparse
import json
import subprocess
import sys

import numpy as np


def tokens(rows, columns):
    return np.arange(rows)[:, None], np.arange(columns)[None]


def causal(n):
    q, k = tokens(n, n)
    return k <= q


def lengths(rng, n, least=4):
    out = []
    while sum(out) < n:
        out.append(min(int(rng.integers(least, max(least + 1, n // 2))), n - sum(out)))
    return out


def same_document(parts):
    ids = np.repeat(np.arange(len(parts)), parts)
    return ids[:, None] == ids[None]


def decode_rows(rng, n):
    valid = rng.integers(1, n + 1, size=int(rng.integers(2, 6)))
    return (np.arange(n)[None] < valid[:, None])[:, None, None]


def static_prefill(rng, n):
    q, k = tokens(int(rng.integers(2, n - 1)), n)
    return (k <= q)[None, None]


def chunked_prefill(rng, n):
    """The second part of a prompt, into a cache that has more room."""
    rows = int(rng.integers(2, n // 3))
    start = int(rng.integers(1, n - rows))
    q, k = tokens(rows, n)
    return (k <= q + start)[None, None]


def speculative(rng, n):
    """A few drafted tokens behind a cache with free slots."""
    drafts = int(rng.integers(2, 6))
    past = int(rng.integers(1, n - drafts))
    q, k = tokens(drafts, n)
    return (k <= q + past)[None, None]


def zigzag_rank(rng, n):
    """Rank r of a context-parallel ring: parts r and 2R - 1 - r of the queries, all keys."""
    ranks = int(rng.integers(2, 5))
    part = n // (2 * ranks)
    rank = int(rng.integers(0, ranks))
    last = 2 * ranks - 1 - rank
    q = np.concatenate([np.arange(rank * part, (rank + 1) * part),
                        np.arange(last * part, (last + 1) * part)])
    return (np.arange(2 * ranks * part)[None] <= q[:, None])[None, None]


def packed(rng, n):
    return (same_document(lengths(rng, n)) & causal(n))[None, None]


def prefix_lm(rng, n):
    return (causal(n) | (np.arange(n)[None] < rng.integers(2, n // 2)))[None, None]


def right_padded(rng, n):
    return np.stack([causal(n) & (np.arange(n)[None] < v) for v in [n, *rng.integers(1, n, 2)]])[:, None]


def window(rng, n):
    q, k = tokens(n, n)
    return (causal(n) & (q - k < rng.integers(2, n)))[None, None]


def encoder(rng, n):
    q, k = tokens(n, n)
    return ((abs(q - k) <= rng.integers(1, n // 3)) & (k < rng.integers(n // 2, n)))[None, None]


VALID = [decode_rows, static_prefill, chunked_prefill, speculative, zigzag_rank, packed, prefix_lm,
         right_padded, window, encoder]


def left_padded(rng, n):
    return np.stack([causal(n) & (np.arange(n)[None] >= v)
                     for v in [0, *rng.integers(1, n // 2, 2)]])[:, None]


def opened(rng, n):
    mask = left_padded(rng, n)
    dead = ~mask.any(-1)
    mask[dead] = True
    return mask


def one_cell(rng, n):
    """A leak or a hole in a packed batch."""
    mask = packed(rng, n)
    q = int(rng.integers(n // 2, n - 1))
    k = int(rng.integers(0, q - 1))
    mask[0, 0, q, k] ^= True
    return mask


def closed_entry(rng, n):
    mask = right_padded(rng, n)
    mask[1] = False
    return mask


# The fault, and the findings of which one must be there.
FAULTS = [
    (lambda rng, n: np.swapaxes(packed(rng, n), -1, -2), {"anti-causal"}, "transposed documents"),
    (lambda rng, n: np.swapaxes(left_padded(rng, n), -1, -2), {"anti-causal"}, "transposed padding"),
    (lambda rng, n: np.swapaxes(prefix_lm(rng, n), -1, -2), {"anti-causal"}, "transposed prefix"),
    (lambda rng, n: ~causal(n)[None, None] | np.eye(n, dtype=bool), {"anti-causal"}, "anti-causal"),
    (lambda rng, n: ~causal(n)[None, None], {"polarity"}, "inverted causal"),
    (lambda rng, n: ~right_padded(rng, n), {"polarity"}, "inverted, padded on the right"),
    (lambda rng, n: ~left_padded(rng, n), {"polarity"}, "inverted, padded on the left"),
    (lambda rng, n: ~packed(rng, n), {"polarity"}, "inverted documents"),
    (lambda rng, n: ~window(rng, n), {"polarity"}, "inverted window"),
    (left_padded, {"left-padding-nan"}, "rows of left padding without keys"),
    (opened, {"padding-rows-opened"}, "rows of padding opened"),
    (closed_entry, {"plane-empty"}, "an entry that sees nothing"),
    (one_cell, {"nearly", "empty-rows"}, "one cell"),
    (lambda rng, n: tokens(1, n)[1][None, None] <= 0, {"decode-first-key"}, "top-left decoding"),
]


def findings(mask):
    np.save("mask.npy", mask)
    done = subprocess.run(["maskctl", "-q", "check", "mask.npy", "--as", "dense", "--json"],
                          stdout=subprocess.PIPE, timeout=60, encoding="utf-8")
    report = json.loads(done.stdout)
    return {one["id"]: one["severity"] for one in report["findings"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    masks = wrong = 0
    for _ in range(args.rounds):
        n = int(rng.integers(24, 97))
        cases = [(make, set(), make.__name__) for make in VALID] + FAULTS
        for make, wanted, what in cases:
            state = rng.bit_generator.state["state"]["state"]
            found = findings(make(rng, n))
            alarms = {name for name, severity in found.items() if severity != "note"}
            masks += 1
            if (wanted and not wanted & found.keys()) or (not wanted and alarms):
                wrong += 1
                print(f"{what}, {n} tokens, state {state}: {found}")
    print(f"{masks} masks, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
