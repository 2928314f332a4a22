"""page_cells.py PAGE MASK.npy: whether the runs in a page, and what its JSON says of them, are the cells of a
mask [B,H,Q,K] (or [Q,K]). Prints the number of planes, bytes and cells, or what differs."""
import base64
import json
import re
import sys
import zlib

import numpy as np

page = open(sys.argv[1], encoding="utf-8").read()
mask = np.load(sys.argv[2])
mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape).astype(bool)
data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])
runs = zlib.decompress(base64.b64decode(re.search(r'<script id="runs" type="text/plain">(.*?)</script>', page, re.S)[1]))


def cells(at, shape):
    def number():
        nonlocal at
        out = shift = 0
        while True:
            byte = runs[at]
            at += 1
            out |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return out

    out, row = np.zeros(shape, bool), 0
    while n := number():
        edges = np.cumsum([number() for _ in range(2 * number())]).astype(int)
        zigzag = [number() for _ in edges] if n > 1 else [0] * len(edges)
        slopes = np.array([(z >> 1) ^ -(z & 1) for z in zigzag], int)
        for i in range(n):
            for begin, end in (edges + i * slopes).reshape(-1, 2):
                out[row, begin:end] = True
            row += 1
    assert row == shape[0], (row, shape)
    return out


seen = np.zeros(mask.shape[:2], int)
for plane in data["planes"]:
    shown = cells(data["lists"][plane["layers"][0]], mask.shape[2:])
    for b, h in plane["members"]:
        seen[b, h] += 1
        if not np.array_equal(shown, mask[b, h]):
            sys.exit(f"batch {b}, head {h}: {(shown != mask[b, h]).sum()} cells differ")
if not (seen == 1).all():
    sys.exit(f"batches and heads shown {seen.tolist()} times")
print(f"{len(data['planes'])} planes, {len(page)} bytes, {int(mask.sum())} cells")
