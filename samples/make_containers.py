#!/usr/bin/python3
"""Makes the samples that hold several arrays: batch.npz, batch.h5 and batch.safetensors; --check
compares their arrays instead of writing. Needs numpy and h5py."""
import json
import os
import sys

import h5py
import numpy as np

from make_samples import FOLDER, leaked_pair, packed_ids, padded_batch, per_head, window_with_sinks


def arrays():
    """The same arrays in every container, as a training run would dump them."""
    ids = packed_ids()
    return {
        "segment_ids": ids,
        "attention_mask": leaked_pair()[None, None],
        "padding": padded_batch(),
        "heads": per_head(),
        "cu_seqlens": np.array([0, 9, 15, 22], np.int32),
        "bias": np.where(window_with_sinks(), np.float16(0), np.finfo(np.float16).min),
    }


def write_npz(path):
    np.savez_compressed(path, **arrays())


def write_h5(path):
    """A group per kind of array; chunked, packed and plain datasets, and attributes."""
    with h5py.File(path, "w") as f:
        for name, array in arrays().items():
            options = {"compression": "gzip", "shuffle": True} if array.ndim > 2 else {}
            data = f.create_dataset("train/" + name, data=array, **options)
            data.attrs["written_by"] = "samples/make_containers.py"


def write_safetensors(path):
    """8 bytes of header length, a JSON header padded with blanks to 8 bytes, the data."""
    names = {"bool": "BOOL", "int32": "I32", "float16": "F16"}
    header, data = {}, b""
    for name, array in arrays().items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": names[array.dtype.name], "shape": array.shape,
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def read_h5(path):
    with h5py.File(path) as f:
        return {name: f["train"][name][()] for name in f["train"]}


def read_safetensors(path):
    types = {"BOOL": bool, "I32": np.int32, "F16": np.float16}
    raw = open(path, "rb").read()
    start = 8 + int.from_bytes(raw[:8], "little")
    return {name: np.frombuffer(raw[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]],
                                types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in json.loads(raw[8:start]).items()}


CONTAINERS = {
    "batch.npz": (write_npz, np.load),
    "batch.h5": (write_h5, read_h5),
    "batch.safetensors": (write_safetensors, read_safetensors),
}


def main():
    check = "--check" in sys.argv[1:]
    stale = []
    for name, (write, read) in CONTAINERS.items():
        path = os.path.join(FOLDER, name)
        if not check:
            write(path)
        found, expected = read(path), arrays()
        same = sorted(found) == sorted(expected) and all(
            found[key].dtype == array.dtype and np.array_equal(found[key], array)
            for key, array in expected.items())
        if not same:
            stale.append(name)
    if stale:
        sys.exit("not what make_containers.py makes: " + ", ".join(stale))


if __name__ == "__main__":
    main()
