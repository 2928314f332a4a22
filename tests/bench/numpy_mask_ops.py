#!/usr/bin/python3
"""numpy's side of bench_ops: answers the same questions about the same masks, as bool arrays."""
import sys
import time

import numpy as np

SIZE, TILE, DOCUMENT = 16384, 128, 1000


def scrambled(x):
    """Mixes the bits of x: splitmix64's finaliser."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def irregular(seed):
    words = SIZE // 64
    x = scrambled(np.arange(SIZE * words, dtype=np.uint64) + np.uint64(seed << 32))
    bits = np.unpackbits(x.view(np.uint8), bitorder="little").reshape(SIZE, SIZE).view(bool)
    tiles = np.arange(SIZE // TILE)
    kind = (tiles[:, None] * 7 + tiles[None] * 3) % 4
    blocks = bits.reshape(SIZE // TILE, TILE, SIZE // TILE, TILE).transpose(0, 2, 1, 3)
    blocks[kind == 0] = False
    blocks[kind == 1] = True
    return bits


def structured():
    ids = np.arange(SIZE) // DOCUMENT
    return ids[:, None] == ids[None], np.tri(SIZE, dtype=bool)


def classify(mask):
    """Counts the tiles by any() and all() of their cells. Reducing the eight cells of a word at
    once is the fastest way in numpy; a plain any(axis=(1, 3)) takes several times as long."""
    words = mask.view(np.uint64).reshape(SIZE // TILE, TILE, SIZE // 8)
    some = np.bitwise_or.reduce(words, axis=1).reshape(SIZE // TILE, -1, TILE // 8)
    every = np.bitwise_and.reduce(words, axis=1).reshape(SIZE // TILE, -1, TILE // 8)
    ones = np.uint64(0x0101010101010101)
    return some.any(axis=2), (every == ones).all(axis=2)


def main():
    kinds = {"structured": structured(), "packed": (irregular(1), irregular(2))}
    out = np.ones((SIZE, SIZE), bool)  # written once, so that its memory exists
    both = {}
    for kind, (a, b) in kinds.items():
        both[kind] = np.logical_and(a, b)
        some, every = classify(both[kind])
        tiled = both[kind].reshape(SIZE // TILE, TILE, SIZE // TILE, TILE)
        assert (some == tiled.any(axis=(1, 3))).all() and (every == tiled.all(axis=(1, 3))).all()
        print(f"verify open-{kind} {np.count_nonzero(both[kind])}")
        print(f"verify full-{kind} {np.count_nonzero(every)}")
        print(f"verify empty-{kind} {np.count_nonzero(~some)}")
    print("ready", flush=True)
    for line in sys.stdin:
        name, kind = line.split()
        start = time.perf_counter()
        if name == "and":
            np.logical_and(*kinds[kind], out=out)
        elif name == "count":
            np.count_nonzero(both[kind])
        else:
            classify(both[kind])
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
