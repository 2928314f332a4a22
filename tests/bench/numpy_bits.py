"""numpy's side of bench_convert: np.packbits and np.unpackbits of 16384 x 16384 cells on demand."""
import sys
import time

import numpy as np

SIZE = 16384
index = np.arange(SIZE * SIZE, dtype=np.uint32)
cells = (index * index * np.uint32(2654435761) >> np.uint32(7) & np.uint32(1)).astype(bool)
del index
bits = np.packbits(cells, bitorder="little")
print("verify open", np.count_nonzero(cells))
print("verify sum", int(bits.sum(dtype=np.int64)))
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    if line.startswith("pack"):
        result = np.packbits(cells, bitorder="little")
    else:
        result = np.unpackbits(bits, bitorder="little").view(bool)
    spent = time.perf_counter() - start
    del result
    print(spent, flush=True)
