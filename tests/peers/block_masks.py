"""maskctl.flex beside torch: the arrays of create_block_mask for random chains of steps, BlockMasks read
back, and how long documents of 806,662 tokens take.

    peers/bin/pip install a wheel of maskctl, then
    peers/bin/python tests/peers/block_masks.py [CHAINS [SEED]]
"""
import random
import statistics
import sys
import time

import numpy as np
import torch
from torch.nn.attention.flex_attention import create_block_mask

from maskctl import Error, Mask, flex

LISTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
         "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")
SIZES = (16, 32, 64, 128, 256)
TOKENS, DOCUMENTS = 806_662, 200  # the sizes of attention-gym#149


def random_ids(draw, batch, tokens):
    """Random document ids, with padding at the end."""
    rows = []
    for _ in range(batch):
        row = []
        while len(row) < tokens:
            row += [len(row)] * draw.randint(1, max(1, tokens // 2))
        padding = draw.randint(0, tokens // 4)
        rows.append(row[:tokens - padding] + [-1] * padding)
    return np.array(rows, np.int32)


class Chain:
    """A random chain of steps, as text for maskctl and as a mask_mod for torch."""

    def __init__(self, draw):
        self.batch, self.heads = draw.choice([(1, 1), (1, 1), (2, 1), (1, 3), (2, 2)])
        self.queries = draw.randint(1, 500)
        self.keys = self.queries if draw.random() < 0.7 else draw.randint(1, 500)
        self.arrays, self.texts = {}, []
        steps = [self.causal, self.window, self.chunk, self.documents, self.cells, self.opened]
        mods = []
        for _ in range(draw.randint(1, 3)):
            text, mod = draw.choice(steps)(draw)
            self.texts.append(text)
            mods.append((text.startswith("or:"), mod))

        def mask_mod(b, h, q, k):
            made = q >= 0
            for opens, mod in mods:
                cells = mod(b, h, q, k)
                made = made | cells if opens else made & cells
            return made

        self.mask_mod = mask_mod  # torch takes only plain functions

    def causal(self, draw):
        shift = draw.choice([0, self.keys - self.queries])
        align = "bottom-right" if shift else "top-left"
        return f"causal:align={align}", lambda b, h, q, k: k <= q + shift

    def window(self, draw):
        left, right = draw.randint(0, 300), draw.randint(0, 300)
        return (f"window:left={left},right={right},align=top-left",
                lambda b, h, q, k: (q - k <= left) & (k - q <= right))

    def chunk(self, draw):
        size = draw.randint(1, 300)
        return f"chunk:size={size},align=top-left", lambda b, h, q, k: q // size == k // size

    def documents(self, draw):
        if self.queries != self.keys:
            return self.cells(draw)
        ids = random_ids(draw, self.batch, self.queries)
        table, name = torch.from_numpy(ids), self.named(ids)
        return f"doc:{name}", lambda b, h, q, k: (table[b, q] == table[b, k]) & (table[b, q] != -1)

    def cells(self, draw):
        array, table = self.rectangles(draw)
        return f"and:{self.named(array)}", lambda b, h, q, k: table[b, h, q, k]

    def opened(self, draw):
        array, table = self.rectangles(draw)
        return f"or:{self.named(~array)}", lambda b, h, q, k: ~table[b, h, q, k]

    def rectangles(self, draw):
        """Closes a few random rectangles of each batch entry and head."""
        array = np.ones((self.batch, self.heads, self.queries, self.keys), bool)
        for plane in array.reshape(-1, self.queries, self.keys):
            for _ in range(draw.randint(0, 3)):
                q, k = draw.randint(0, self.queries), draw.randint(0, self.keys)
                plane[q:q + draw.randint(0, 300), k:k + draw.randint(0, 300)] = False
        return array, torch.from_numpy(array)

    def named(self, array):
        name = f"array{len(self.arrays)}"
        self.arrays[name] = Mask(array, "dense") if array.ndim == 4 else array
        return name


def check_chain(draw):
    chain = Chain(draw)
    size = (draw.choice(SIZES), draw.choice(SIZES))
    extents = (chain.batch, chain.heads, chain.queries, chain.keys)
    mask = Mask.parse(" | ".join(chain.texts), extents, **chain.arrays)
    made = flex.block_mask(mask, block_size=size, mask_mod=chain.mask_mod)
    torchs = create_block_mask(chain.mask_mod, *extents, device="cpu", BLOCK_SIZE=size)
    for key in LISTS:
        ours, theirs = getattr(made, key), getattr(torchs, key)
        assert ours.dtype == theirs.dtype and torch.equal(ours, theirs), (chain.texts, extents, size, key)
    assert made.seq_lengths == torchs.seq_lengths and made.BLOCK_SIZE == torchs.BLOCK_SIZE
    assert made.shape == torchs.shape
    assert flex.mask(torchs, evaluate=True) == mask, (chain.texts, extents, size)
    assert (mask - flex.mask(torchs)).count() == 0
    return mask


def check_documents(draw):
    """Checks the mask_mod that comes with lengths and ids, in all that torch does with it."""
    tokens = draw.randint(1, 500)
    ids = random_ids(draw, draw.choice([1, 2]), tokens)
    made = flex.block_mask(ids=ids, pipeline="causal", block_size=64)
    assert Mask(made) == Mask.from_segments(ids).apply("causal")
    cu = torch.tensor(sorted({0, tokens, *(draw.randint(0, tokens) for _ in range(3))}), dtype=torch.int32)
    made = flex.block_mask(cu_seqlens=cu, block_size=32)
    assert Mask(made) == Mask.from_cu_seqlens(cu) == flex.mask(made, evaluate=True)


def refused(call, words):
    try:
        call()
    except Error as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)


def check_bad_input():
    def causal(b, h, q, k):
        return q >= k

    def broken(b, h, q, k):
        raise RuntimeError("no table")

    made = create_block_mask(causal, 1, 1, 300, 300, device="cpu")
    made.seq_lengths = (300, 500)
    refused(lambda: flex.mask(made), "500 keys are 4 blocks of 128, but the lists have 3")
    made.seq_lengths = (700, 300)
    refused(lambda: flex.mask(made), "700 queries are 6 blocks of 128, but the lists have 3")
    made = create_block_mask(causal, 1, 1, 300, 300, device="cpu")
    made.mask_mod = broken
    refused(lambda: flex.mask(made, evaluate=True), "its mask_mod raised RuntimeError: no table")
    refused(lambda: Mask(made), "its mask_mod raised RuntimeError: no table")
    assert flex.mask(made).count() == 300 * 300 - 128 * (300 - 128) - 128 * (300 - 256)
    made.kv_indices[0, 0, 2, 1] = 7
    refused(lambda: flex.mask(made), "row 2")
    refused(lambda: flex.block_mask(Mask.parse("window:keys=4", 300)), "need a mask_mod")
    refused(lambda: flex.block_mask(np.ones((4, 4), bool)), "a ndarray is no Mask")
    refused(lambda: flex.fa4(), "which mask is meant")


def times(*calls, rounds=7):
    """The median milliseconds of each call, by the clock and of the processor; the calls take
    turns."""
    taken = [[] for _ in calls]
    for _ in range(rounds):
        for call, into in zip(calls, taken):
            begin, busy = time.perf_counter(), time.process_time()
            call()
            into.append((time.perf_counter() - begin, time.process_time() - busy))
    return [tuple(1000 * statistics.median(one) for one in zip(*into)) for into in taken]


def measure(draw):
    cuts = sorted(draw.sample(range(1, TOKENS), DOCUMENTS - 1))
    cu = torch.tensor([0, *cuts, TOKENS], dtype=torch.int32)
    rows = -(-TOKENS // 128)

    def fill():
        for _ in range(4):
            torch.full((1, 1, rows, rows), 7, dtype=torch.int32)

    def fill_huge():
        for _ in range(4):
            np.full((1, 1, rows, rows), 7, np.int32)

    names = ["fa4", "bsr", "block_mask", "torch.full of as much", "np.full of as much (huge pages)"]
    calls = [lambda: flex.fa4(cu_seqlens=cu, pipeline="causal"), lambda: flex.bsr(cu_seqlens=cu, pipeline="causal"),
             lambda: flex.block_mask(cu_seqlens=cu, pipeline="causal"), fill, fill_huge]
    made = times(*calls)
    print(f"{TOKENS} tokens, {DOCUMENTS} documents, causal, blocks of 128:")
    for name, (wall, busy) in zip(names, made):
        print(f"  {name}: {wall:.1f} ms, {busy:.1f} ms of processor time")
    filled = [made[2][0] / wall for wall, _ in made[3:]]
    print("  block_mask is {:.2f} times torch.full, {:.2f} times np.full".format(*filled))


def main():
    chains, seed = (int(word) for word in (sys.argv[1:] + ["1000", "1"][len(sys.argv) - 1:]))
    draw = random.Random(seed)
    check_bad_input()
    for _ in range(chains):
        check_chain(draw)
    for _ in range(max(1, chains // 10)):
        check_documents(draw)
    print(f"torch {torch.__version__}: {chains} chains, all eight arrays are create_block_mask's")
    measure(draw)


if __name__ == "__main__":
    main()
