#!/usr/bin/python3
"""HDF5 files for the tests, written by h5py, and a check of what maskctl wrote.

    make_hdf5.py arrays   arrays.h5 of every dtype, layout and filter; each also as N.npy, with the
                          line "PATH N.npy" printed
    make_hdf5.py hostile  files that try to open others, to take memory or to run in circles
    make_hdf5.py check    written.h5 holds at /PATH what the .npy of the same name holds
"""
import os
import sys

import h5py
import numpy as np

RNG = np.random.default_rng(20)
DTYPES = ["?", "i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8",
          ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]
STORAGES = {
    "contiguous": {},
    "chunked": {"chunks": (3, 5)},
    "gzip": {"chunks": (4, 7), "compression": "gzip"},
    "gzip9_shuffle": {"chunks": (16, 2), "compression": "gzip", "compression_opts": 9, "shuffle": True},
    "lzf": {"chunks": (5, 23), "compression": "lzf"},
    "lzf_shuffle": {"chunks": (9, 9), "compression": "lzf", "shuffle": True},
    "fletcher32": {"chunks": (8, 8), "fletcher32": True},
    "all": {"chunks": (6, 6), "compression": "gzip", "shuffle": True, "fletcher32": True},
}


def values(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype == np.dtype("?"):
        return RNG.random(shape) < 0.5
    if dtype.kind == "f":
        out = RNG.normal(size=shape).astype(dtype)
        out.flat[:3] = [-np.inf, np.finfo(dtype).min, 0][:out.size]
        return out
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype.newbyteorder("="), endpoint=True).astype(dtype)


def compact(file, name, data):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple(data.shape)
    dataset = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(data.dtype, logical=True), space, plist)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, data)


def arrays():
    kept = {}
    with h5py.File("arrays.h5", "w") as f:
        def add(path, data, **options):
            f.create_dataset(path, data=data, **options)
            kept[path] = data
        for i, dtype in enumerate(DTYPES):
            for storage, options in STORAGES.items():
                add(f"/{storage}/d{i}", values(dtype, (37, 23)), **options)
            data = values(dtype, (5, 4))
            compact(f, f"/compact_d{i}", data)
            kept[f"/compact_d{i}"] = data
        add("/rank/0", np.int64(-7))
        add("/rank/0b", np.bool_(True))
        add("/rank/1", values("?", (100,)), chunks=(7,))
        add("/rank/4", values("?", (2, 3, 19, 17)), chunks=(1, 2, 5, 17))
        add("/rank/5", values("f4", (2, 3, 4, 5, 6)), chunks=(2, 1, 3, 2, 5), compression="gzip")
        add("/rank/8", values("u1", (2, 1, 2, 1, 2, 1, 2, 3)))
        add("/empty/a", np.zeros((0, 7), "f4"))
        add("/empty/b", np.zeros((5, 0), "?"), chunks=(2, 2), maxshape=(None, None))
        # For lzf: matches that overlap themselves, long literals and long matches.
        add("/lzf_long", np.tile(values("?", (3, 1000)), (90, 3)), chunks=(64, 640), compression="lzf")
        f.create_dataset("/never_written", (6, 9), ">i4", fillvalue=3)
        kept["/never_written"] = np.full((6, 9), 3, ">i4")
        f.create_dataset("/never_chunked", (600, 900), "?", chunks=(50, 70))
        kept["/never_chunked"] = np.zeros((600, 900), "?")
        # A name with characters that break lines or control terminals.
        add("/odd/tab\tnewline\n100% \x1b[31m", values("i4", (2, 2)))
        f["/soft"] = h5py.SoftLink("/gzip/d0")
        kept["/soft"] = kept["/gzip/d0"]
        f["/hard"] = f["/gzip/d7"]
        kept["/hard"] = kept["/gzip/d7"]
    for i, (path, data) in enumerate(kept.items()):
        np.save(f"{i}.npy", np.asarray(data).astype(np.asarray(data).dtype.newbyteorder("=")))
        print(path.encode("unicode_escape").decode() + "|" + f"{i}.npy")
    with h5py.File("bf16.h5", "w") as f:
        bits = np.array([0x3F80, 0, 0xFF80], np.uint16)
        f["v2"] = bits.view("V2").reshape(1, 3)
        typed = h5py.h5t.IEEE_F32LE.copy()
        typed.set_fields(15, 7, 8, 0, 7)
        typed.set_size(2)
        typed.set_ebias(127)
        dataset = h5py.h5d.create(f.id, b"float", typed, h5py.h5s.create_simple((1, 3)))
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, bits.reshape(1, 3), mtype=typed)
        b8 = h5py.h5d.create(f.id, b"b8", h5py.h5t.STD_B8LE, h5py.h5s.create_simple((1, 3)))
        b8.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([[1, 0, 1]], "u1"), mtype=h5py.h5t.STD_B8LE)
    with h5py.File("block.h5", "w", userblock_size=512) as f:
        f["mask"] = np.tri(5, dtype="?")
        f["lengths"] = np.arange(3)
    with open("block.h5", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file")
    with h5py.File("unread.h5", "w") as f:
        f["string"] = "text"
        f["compound"] = np.zeros(2, [("a", "i4"), ("b", "f8")])
        f["complex"] = np.zeros((2, 2), "c8")
        f["null"] = h5py.Empty("f4")
        f.create_dataset("colour", (2, 2), h5py.enum_dtype({"RED": 0, "GREEN": 1}, "i1"))
        f.create_dataset("liar", (2, 2), h5py.enum_dtype({"FALSE": 1, "TRUE": 0}, "i1"))
        f.attrs["text"] = "a\tb\n100%"
        f["null"].attrs["numbers"] = [1, 2, 3]
        f["null"].attrs["half"] = 0.5
        f["null"].attrs["flag"] = np.bool_(True)
        f["null"].attrs["fixed"] = np.bytes_("fixed")


def hostile():
    mask = np.tri(8, dtype="?")
    # Opening a FIFO waits for its other end: whoever opens these hangs.
    for name in ("raw", "other.h5"):
        os.mkfifo(name)
    with h5py.File("hostile.h5", "w") as f:
        f["mask"] = mask
        f["g/up"] = f["/"]
        f["g/again"] = f["g"]
        f["g/mask_again"] = f["mask"]
        f["self"] = h5py.SoftLink("/self")
        f["a"] = h5py.SoftLink("/b")
        f["b"] = h5py.SoftLink("/a")
        f["link"] = h5py.ExternalLink("other.h5", "/mask")
        f["to_link"] = h5py.SoftLink("/link")
        f["g/link"] = h5py.ExternalLink("other.h5", "/")
        f.create_dataset("external", (8, 8), "?", external=[("raw", 0, 64)])
        layout = h5py.VirtualLayout((8, 8), "?")
        layout[:] = h5py.VirtualSource("other.h5", "mask", (8, 8))
        f.create_virtual_dataset("virtual", layout)
        f.create_dataset("chunk_bomb", (8, 8), "?", chunks=(40000, 50000), maxshape=(None, None), compression="gzip")
        f.create_dataset("shape_bomb", (2**40, 2**20), "?", chunks=(64, 64))
        f.create_dataset("overflow", (2**62, 2**20), "f8", chunks=(64, 64))
    with h5py.File("deep.h5", "w") as f:
        group = f
        for _ in range(100):
            group = group.create_group("g")
        group["mask"] = mask
    with h5py.File("many.h5", "w") as f:
        for n in range(10001):
            f[f"link{n}"] = h5py.SoftLink("/nothing")
    with h5py.File("plugin.h5", "w") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((8, 8))
        plist.set_filter(32004, h5py.h5z.FLAG_OPTIONAL, (1,))
        h5py.h5d.create(f.id, b"mask", h5py.h5t.STD_I8LE, h5py.h5s.create_simple((8, 8)), plist)
    with h5py.File("seed.h5", "w", libver="earliest") as f:
        f.create_dataset("mask", data=mask, chunks=(3, 3), compression="gzip", shuffle=True)
        f["g/plain"] = mask
        f["g/plain"].attrs["note"] = "text"
        f["half"] = mask.astype("f2")
        f["link"] = h5py.SoftLink("/g/plain")


def check():
    with h5py.File("written.h5") as f:
        names = []
        f.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        for name in names:
            expected = np.load(name.replace("/", "_") + ".npy")
            got = f[name][()]
            assert got.dtype == expected.dtype.newbyteorder("="), (name, got.dtype, expected.dtype)
            assert got.shape == expected.shape, (name, got.shape)
            assert got.tobytes() == expected.tobytes(), name
        print(len(names), *sorted(f"{k}={v}" for k, v in f.attrs.items()))


if __name__ == "__main__":
    {"arrays": arrays, "hostile": hostile, "check": check}[sys.argv[1]]()
