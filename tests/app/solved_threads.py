#!/usr/bin/python3
"""Calls whose kernel applied another mask than was declared, and what `maskctl verify --solve` says:
the solved mask must be the applied one in every cell that is decided, the cause must have the words
that are given, and the drawing must be there. Each is of the kind that a public thread reports: a
window that a stack loses, or a kernel that is wrong under a mask of one's own; sizes, and of the
latter which cells are wrong, are made up here. Prints one line for each with --show, one for each
wrong answer, and "N threads, N wrong"; exits 1 when any is wrong. Run it in a folder of its own,
with maskctl on PATH.

    solved_threads.py [--show]
"""
import json
import subprocess
import sys

import numpy as np

KEYS, HEADS, DIM = 192, 4, 32
I, J = np.arange(KEYS)[:, None], np.arange(KEYS)[None, :]
CAUSAL = J <= I


def window(left):
    return CAUSAL & (I - J < left)


def with_block(mask, q, k, size=64, value=False):
    out = mask.copy()
    out[q:q + size, k:k + size] = value & CAUSAL[q:q + size, k:k + size]
    return out


def last_rows(mask, applied, first):
    out = mask.copy()
    out[first:] = applied[first:]
    return out


DOCUMENT = np.searchsorted([50, 120], np.arange(KEYS), side="right")
DOCUMENTS = CAUSAL & (DOCUMENT[:, None] == DOCUMENT)
PREFIX = CAUSAL | (J < 40)


def threads():
    """Name, declared, applied [Q, K] or [1, H, Q, K], words of the cause."""
    # Issue threads about projects that lose a sliding window or get its size wrong.
    yield "sglang#26516: the window's size is passed as its reach", window(32), window(33), "32 instead of 31"
    yield "sglang#30050: the window is not passed on", window(48), CAUSAL, "window left none instead of 47"
    yield ("nanochat#456: rows of the decoder see all keys", window(64),
           last_rows(window(64), CAUSAL, 160), "160-191")
    yield "tract#2323: an exported model has lost its window", window(100), CAUSAL, "window left none instead of 99"
    heads = np.stack([window(32)] * 2 + [CAUSAL] * 2)[None]
    yield ("mobius#371: half of the heads have no window", np.stack([window(32)] * HEADS)[None], heads,
           "head 2; head 3")
    # Issue threads about kernels that apply masks other than sliding windows wrongly.
    # Which is a tree of a prompt and two answers, too.
    sparse = CAUSAL & ((I // 64 == J // 64) | (J < 64))
    yield ("pytorch#141126: a block of a sparse mask is left out", sparse,
           with_block(sparse, 128, 0), "chunk size 128 added")
    yield ("pytorch#158212: a block that is empty is read", sparse,
           with_block(sparse, 128, 64, value=True), "causal instead of tree")
    yield ("pytorch#153799: a partial block is taken for a full one", PREFIX,
           PREFIX | ((I // 64 == 0) & (J // 64 == 0)), "prefix 64 instead of 40")
    yield ("flash-attention#2623: documents are ignored from one query on", DOCUMENTS,
           last_rows(DOCUMENTS, CAUSAL, 128), "128-191")
    holes = DOCUMENTS.copy()
    holes[70, 55] = holes[100, 64] = holes[150, 130] = False
    yield "diffusers#14341: single keys are lost", DOCUMENTS, holes, "query 70, key 55 closed"


def attention(q, k, v, mask):
    s = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(DIM)
    w = np.where(mask, np.exp(s - s.max(-1, keepdims=True)), 0)
    return np.einsum("hqk,khd->qhd", w / np.maximum(w.sum(-1, keepdims=True), 1e-30), v)


def solve(number, declared, applied, dtype, sharp=1):
    """A run of the kernel, and what the command says of it as JSON and as text."""
    rng = np.random.default_rng(number)
    q, k, v = (rng.standard_normal((KEYS, HEADS, DIM)) for _ in range(3))
    q, k, v = (x.astype(dtype) for x in (sharp * q, k, v))
    weights = applied.reshape(-1, KEYS, KEYS)
    out = attention(*(x.astype(np.float64) for x in (q, k, v)), weights).astype(dtype)
    for key, array in {"mask": declared, "q": q[None], "k": k[None], "v": v[None],
                       "out": out[None]}.items():
        np.save(f"{key}.npy", array)
    call = ["maskctl", "-q", "verify", "mask.npy", "query=q.npy", "key=k.npy", "value=v.npy",
            "--given", "out.npy", "--solve", "--force", "-o", "solved.npy"]
    asked = subprocess.run([*call, "--json"], stdout=subprocess.PIPE, timeout=600, encoding="utf-8")
    text = subprocess.run(call, stdout=subprocess.PIPE, timeout=600, encoding="utf-8").stdout
    return asked.returncode, json.loads(asked.stdout)["solved"], text


def faults_of(declared, applied, words, status, solved, text):
    got = np.broadcast_to(np.load("solved.npy"), (1, HEADS, KEYS, KEYS))[0]
    differing = int((got != np.broadcast_to(applied.reshape(-1, KEYS, KEYS), got.shape)).sum())
    cause = (solved["cause"] or {}).get("text", "")
    if status != 1:
        yield f"exit {status}"
    if differing or solved["undecided_cells"] or solved["undecided"]:
        yield f"{differing} cells differ, {solved['undecided_cells']} are undecided"
    if not cause or words not in cause:
        yield f"the cause is {cause!r}, not {words!r}"
    if "A: declared\nB: applied\n" not in text or cause not in text:
        yield "nothing is drawn, or the text has another cause"


def light_faults():
    """Of keys whose weight lies below rounding: counted, listed, and no reason to doubt the rest."""
    status, solved, text = solve(99, CAUSAL, CAUSAL, np.float16, sharp=6)
    cells = [tuple(cell) for cell in solved["undecided"]]
    if status != 0 or solved["cause"] is not None:
        yield f"exit {status}, cause {solved['cause']}"
    if not cells or len(cells) != min(64, solved["undecided_cells"]) or cells != sorted(set(cells)):
        yield f"{len(cells)} cells are listed of {solved['undecided_cells']}"
    if solved["undecided_cells"] != solved["below_rounding"] or "below the rounding" not in text:
        yield f"only {solved['below_rounding']} of {solved['undecided_cells']} are below rounding"
    if (np.load("solved.npy") != CAUSAL).any():
        yield "undecided cells are not as declared"


def light_cause_faults():
    """A block or a window, many of whose keys are light: the cause names all of it."""
    for applied, words in ((with_block(CAUSAL, 128, 0), "queries 128-191, keys 0-63 closed"),
                           (window(48), "window left 47 instead of none")):
        status, solved, _ = solve(98, CAUSAL, applied, np.float16, sharp=3)
        cause = (solved["cause"] or {}).get("text", "")
        if status != 1 or not cause.endswith(words) or not solved["below_rounding"]:
            yield f"exit {status}, {solved['below_rounding']} light, the cause is {cause!r}, not {words!r}"
        solved = np.load("solved.npy")
        if ((solved != applied) & (solved != CAUSAL)).any():
            yield f"decided cells are wrong where {words}"


def main(show):
    wrong = count = 0
    for number, (name, declared, applied, words) in enumerate(threads()):
        found = solve(number, declared, applied, np.float16 if number % 2 else np.float32)
        faults = list(faults_of(declared, applied, words, *found))
        count, wrong = count + 1, wrong + bool(faults)
        for fault in faults:
            print(f"{name}: {fault}")
        if show:
            print(f"{name}: {found[1]['cause']['text']}")
    for fault in [*light_faults(), *light_cause_faults()]:
        wrong += 1
        print(f"light keys: {fault}")
    print(f"{count} threads, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main("--show" in sys.argv))
