"""Writes arrays of every dtype and layout for numpy_exchange_test.cc, or checks what it wrote.

    numpy_exchange.py write    arrays as numpy saves them, and what masks they are
    numpy_exchange.py check    the files of write, as maskctl has copied them, must hold equal arrays
"""
import glob
import json
import os
import struct
import sys

import numpy as np

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
SHAPES = [(), (0,), (0, 4), (4, 0), (5,), (3, 4), (2, 3, 4), (2, 2, 3, 5)]
SAFETENSORS = {"?": "BOOL", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64", "u1": "U8",
               "u2": "U16", "u4": "U32", "u8": "U64", "f2": "F16", "f4": "F32", "f8": "F64"}


def arrays():
    """Yields names and arrays of every dtype, shape and order; their values fit every dtype."""
    for dtype in DTYPES:
        for shape in SHAPES:
            for order in "CF":
                for endian in "<>":
                    if endian == ">" and np.dtype(dtype).itemsize == 1:
                        continue
                    size = int(np.prod(shape))
                    values = (np.arange(size) * 7 + 1) % (2 if dtype == "?" else 113)
                    array = np.asarray(values.reshape(shape).astype(endian + dtype), order=order)
                    text = "x".join(map(str, shape)) or "scalar"
                    kind = "bool" if dtype == "?" else dtype
                    yield f"{kind}_{text}_{order}_{'big' if endian == '>' else 'little'}", array


def save_safetensors(path, array, code):
    array = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    header = json.dumps({"a": {"dtype": SAFETENSORS[code], "shape": list(array.shape),
                               "data_offsets": [0, array.nbytes]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + array.tobytes())


def load_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    (entry,) = [value for name, value in header.items() if name != "__metadata__"]
    begin, end = entry["data_offsets"]
    code = {v: k for k, v in SAFETENSORS.items()}[entry["dtype"]]
    raw = data[8 + length + begin:8 + length + end]
    assert 8 + length + end == len(data) and length % 8 == 0
    return np.frombuffer(raw, np.dtype(code).newbyteorder("<")).reshape(entry["shape"])


def write():
    for name, array in arrays():
        np.save(f"{name}.npy", array)
        np.savez(f"{name}.npz", a=array)
        np.savez_compressed(f"{name}.z.npz", a=array)
        code = "?" if array.dtype == bool else array.dtype.str[1:]
        save_safetensors(f"{name}.safetensors", array, code)
        # The copy that maskctl must write: C order, little endian, byte for byte as numpy.
        plain = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        np.save(f"{name}.expected.npy", plain)
        np.savez(f"{name}.expected.npz", a=plain)
    print(len(list(arrays())))


def equal(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)


def check():
    count = 0
    for name, array in arrays():
        plain = array.astype(array.dtype.newbyteorder("="))
        for source in ("npy", "npz", "z.npz", "safetensors"):
            base = f"out/{name}.from.{source}"
            assert equal(np.load(base + ".npy"), plain), base
            assert equal(np.load(base + ".npz")["a"], plain), base
            assert equal(load_safetensors(base + ".safetensors"), plain), base
            for suffix in ("npy", "npz"):
                with open(f"{base}.{suffix}", "rb") as ours, \
                        open(f"{name}.expected.{suffix}", "rb") as theirs:
                    assert ours.read() == theirs.read(), f"{base}.{suffix}: other bytes"
            count += 1
    print(count)


def kinds():
    """Checks that numpy makes the original mask of each array that maskctl wrote."""
    mask = np.load("mask.npy")
    batch, heads, queries, keys = mask.shape
    assert np.array_equal(np.load("dense.npy"), mask)
    bits = np.load("bits.npy")
    assert np.array_equal(bits, np.packbits(mask, bitorder="little"))
    for path in glob.glob("bias_*.npy"):
        bias = np.load(path)
        if bias.dtype.kind == "V":  # V: bfloat16
            bias = (bias.view("<u2").astype("<u4") << 16).view("<f4")
        assert np.array_equal(bias == 0, mask) and (bias[~mask] < -6e4).all(), path
    runs = np.load("runs.npz")
    built = np.zeros((batch * heads * queries, keys), bool)
    for row in range(len(built)):
        for i in range(runs["indptr"][row], runs["indptr"][row + 1]):
            built[row, runs["begin"][i]:runs["end"][i]] = True
    assert np.array_equal(built.reshape(mask.shape), mask)
    assert list(runs["shape"]) == list(mask.shape)
    blocks = np.load("blockmap.npy")
    for i in range(blocks.shape[2]):
        for j in range(blocks.shape[3]):
            tile = mask[:, :, i * 2:i * 2 + 2, j * 3:j * 3 + 3]
            expected = tile.any((2, 3)).astype(int) + tile.all((2, 3))
            assert np.array_equal(blocks[:, :, i, j], expected)
    key_padding = np.load("key-padding.npy")
    assert np.array_equal(key_padding, mask.any((1, 2)))
    padding = np.load("padding.npy")
    assert np.array_equal(padding, mask.any((1, 2)) | mask.any((1, 3)))
    segments = np.load("segments.npz")
    q, kv = segments["q"], segments["kv"]
    meant = (q[:, :, None] == kv[:, None, :]) & (q[:, :, None] >= 0)
    documents = np.load("documents.npy")[:, 0]
    assert np.array_equal(meant, documents)
    cu = np.load("cu_seqlens.npz")
    meant = np.zeros(documents.shape[1:], bool)
    for i in range(len(cu["q"]) - 1):
        meant[cu["q"][i]:cu["q"][i + 1], cu["kv"][i]:cu["kv"][i + 1]] = True
    assert np.array_equal(meant, documents[0])
    print("equal")


if __name__ == "__main__":
    {"write": write, "check": check, "kinds": kinds}[sys.argv[1]]()
    sys.stdout.flush()
    os._exit(0)
