"""torch's varlen_attn on a GPU, whose mask shows in the output of one-hot values, beside plain cells: the last query of a
document is aligned to its last key, as the row of translate says. Needs torch alone.

    python3 tests/peers/varlen.py
"""
import inspect
import itertools
import sys

import numpy as np
import torch
from torch.nn.attention.varlen import varlen_attn

CHANNELS, HEADS = 64, 2
DOCUMENTS = [([0, 3, 7], [0, 4, 9]), ([0, 5, 7], [0, 2, 9]), ([0, 7], [0, 9])]
WINDOWS = [(-1, -1), (-1, 0), (3, 1), (2, 0), (-1, 2), (0, 0)]


def cells(queries, keys, left, right):
    at, key, every = np.arange(queries)[:, None] + keys - queries, np.arange(keys)[None], queries + keys
    return (key >= at - (left if left >= 0 else every)) & (key <= at + (right if right >= 0 else every))


def applied(ends_q, ends_k, window, used):
    longest = [int(max(np.diff(ends))) for ends in (ends_q, ends_k)]
    ends = [torch.tensor(one, device="cuda", dtype=torch.int32) for one in (ends_q, ends_k)]
    query, key = (torch.zeros(n[-1], HEADS, CHANNELS, device="cuda", dtype=torch.bfloat16) for n in (ends_q, ends_k))
    value = torch.zeros_like(key)
    value[torch.arange(len(key)), :, torch.arange(len(key))] = 1
    more = {} if used is None else {"seqused_k": torch.tensor(used, device="cuda", dtype=torch.int32)}
    out = varlen_attn(query, key, value, *ends, *longest, window_size=window, **more)
    return (out[:, 0, :len(key)] > 0).cpu().numpy()


def main():
    calls = wrong = 0
    takes_used = "seqused_k" in inspect.signature(varlen_attn).parameters
    for (ends_q, ends_k), window, shorter in itertools.product(DOCUMENTS, WINDOWS, [0, 1] if takes_used else [0]):
        used = [max(0, int(n) - shorter) for n in np.diff(ends_k)]
        expected = np.zeros((ends_q[-1], ends_k[-1]), bool)
        for q, end, k, n in zip(ends_q, ends_q[1:], ends_k, used):
            expected[q:end, k:k + n] = cells(end - q, n, *window)
        calls += 1
        wrong += not np.array_equal(applied(ends_q, ends_k, window, used if shorter else None), expected)
    print(f"torch {torch.__version__}: {calls} calls, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
