#!/usr/bin/python3
"""Writes tests/fuzz/corpus: the small files that fuzz targets start from. With --check it compares."""
import hashlib
import io
import json
import pathlib
import struct
import sys
import zipfile

import numpy as np

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
files = {}


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(array), version=version)
    return out.getvalue()


def npz(packed=False, **arrays):
    out = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(out, **arrays)
    return out.getvalue()


def safetensors(tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def runs(mask):
    """Returns the arrays of kind "runs" for a boolean mask [Q, K]."""
    indptr, begin, end = [0], [], []
    for row in mask:
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
        begin += list(edges[0::2])
        end += list(edges[1::2])
        indptr.append(len(begin))
    return dict(indptr=np.array(indptr, np.int64), begin=np.array(begin, np.int32),
                end=np.array(end, np.int32), shape=np.array([1, 1, *mask.shape], np.int64))


causal = np.tril(np.ones((12, 16), bool), 4)
ids = np.array([[1, 1, 1, 2, 2, 2, 2, 3, 3, -1, -1, -1]], np.int32)
bias = np.where(causal, np.float32(0), np.float32(-np.inf))


alibi = np.where(causal, np.float32(-0.25) * np.abs(np.arange(12)[:, None] - np.arange(16)),
                 np.float32(-np.inf))[None, None]


def add(target, name, data):
    files[f"{target}/{name}"] = data


def add_npy():
    for dtype in "?bBhHiIlLefd":
        kind = np.dtype(dtype)
        add("npy", f"{kind.name}.npy", npy(np.arange(12).reshape(3, 4).astype(kind)))
    add("npy", "fortran.npy", npy(np.asfortranarray(causal)))
    add("npy", "big_endian.npy", npy(ids.astype(">i4")))
    add("npy", "scalar.npy", npy(np.array(True)))
    add("npy", "empty.npy", npy(np.zeros((0, 4), np.float16)))
    add("npy", "version2.npy", npy(causal, (2, 0)))
    add("npy", "version3.npy", npy(causal, (3, 0)))
    add("npy", "bf16.npy", npy(np.zeros((2, 3), "V2")))
    add("npy", "records.npy", npy(np.zeros(2, "i4,f8")))
    add("npy", "complex.npy", npy(np.zeros((2, 3), np.complex64)))
    add("npy", "alibi.npy", npy(alibi))
    add("npy", "table.npy", npy(np.array([[1, 2], [3, 1]], np.float16)))
    odd = b"{ \"shape\":(3L,4,) ,\"fortran_order\" : False, 'descr':'?' }\n"
    add("npy", "odd.npy", b"\x93NUMPY\1\0" + len(odd).to_bytes(2, "little") + odd + bytes(12))


def add_npz():
    both = dict(mask=causal, ids=ids)
    add("npz", "stored.npz", npz(**both))
    add("npz", "packed.npz", npz(True, **both))
    add("npz", "runs.npz", npz(True, **runs(causal)))
    add("npz", "member.npy", npy(causal))
    add("npz", "empty.npz", npz())
    torch = io.BytesIO()
    with zipfile.ZipFile(torch, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("t/data.pkl"), b"\x80\2N.")
    add("npz", "torch.npz", torch.getvalue())
    out = io.BytesIO()

    class Pipe(io.RawIOBase):
        """A stream that cannot seek: sizes in the archive then stand behind the data (flag bit
        3)."""

        def writable(self):
            return True

        def write(self, data):
            return out.write(data)

    with zipfile.ZipFile(Pipe(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mask.npy"), npy(causal), zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo("notes.txt"), b"text", zipfile.ZIP_STORED)
    add("npz", "streamed.npz", out.getvalue())


def add_safetensors():
    add("safetensors", "one.safetensors", safetensors({"mask": ("BOOL", causal)}))
    several = {"mask": ("BOOL", causal), "ids": ("I32", ids), "bias": ("F32", bias),
               "half": ("BF16", np.zeros((2, 2), np.uint16)), "empty": ("F64", np.zeros((0, 3)))}
    add("safetensors", "several.safetensors", safetensors(several, {"format": "pt", "k\"": "\u00e9"}))
    add("safetensors", "none.safetensors", safetensors({}))


# The position of a kind in KINDS is its number in fuzz_mask.cc; len(KINDS) leaves the kind to
# detection.
KINDS = ["dense", "padding", "key-padding", "segments", "positions", "cu_seqlens", "pairs", "bias",
         "blockmap", "flex", "fa4", "bsr", "bits", "runs", "mask-info", "token-types", "index-lists",
         "flashmask", "flashmask-causal", "intervals", "slices", "request-bits", "tree-bits",
         "cu_seqlens-padded", "ragged-offsets", "mask"]


def lists(mask):
    """Returns the keys of each query, then -1."""
    out = np.full((len(mask), mask.sum(1).max() + 1), -1, np.int32)
    for row, keys in zip(out, mask):
        row[:keys.sum()] = np.flatnonzero(keys)
    return out


def i32(*values):
    return np.array(values, np.int32)


def add_mask():
    """Two bytes of options (see fuzz_mask.cc), then a file."""
    dense = {"bool": npy(causal), "heads": npy(np.stack([causal, ~causal])[None]),
             "float": npy(causal.astype(np.float16)), "fortran": npy(np.asfortranarray(causal)),
             "big": npy(causal.astype(">i8")), "safetensors": safetensors({"mask": ("BOOL", causal)})}
    valid = {"bool": npy(ids >= 0), "flat": npy((ids >= 0)[0].astype(np.int8))}
    two = {"i32": npy(ids), "flat": npy(ids[0].astype(np.int64)), "two": npz(q=ids, kv=ids)}
    positions = np.array([[0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4]], np.int64)
    arrays = {
        "dense": dense, "padding": valid, "key-padding": valid, "segments": two,
        "positions": {"i64": npy(positions), "u8": npy(positions.astype(np.uint8))},
        "cu_seqlens": {"i32": npy(np.array([0, 3, 7, 7, 9, 12], np.int32)),
                       "two": npz(q=np.array([0, 3, 7]), kv=np.array([0, 4, 16]))},
        "pairs": {"i64": npy(np.array([0, 5, 2, 12], np.int64))},
        "bias": {"f32": npy(bias), "f16": npy(bias.astype(np.float16)),
                 "alibi": npy(alibi), "bert": npy(bias[:2, None, None, :12]),
                 "least": npy(np.where(causal, 0, np.finfo(np.float64).min))},
        "blockmap": {"i8": npy(np.array([[1, 0], [2, 1], [2, 2]], np.int8)),
                     "bool": npy(np.array([[1, 0], [1, 1], [1, 1]], bool))},
        "bits": {"u8": npy(np.packbits(causal.ravel(), bitorder="little"))},
        "runs": {"packed": npz(True, **runs(causal)), "stored": npz(**runs(causal))},
        "token-types": {"i32": npy(ids)},
        "flex": {"lists": npz(kv_num_blocks=i32(1, 2, 2), kv_indices=i32([0, 1], [0, 1], [1, 0]))},
        "fa4": {"lists": npz(mask_block_cnt=i32(1, 2, 2), mask_block_idx=i32([0, 0], [0, 1], [0, 1]),
                             block_size=i32(4, 8), seq_lengths=i32(12, 16))},
        "bsr": {"rows": npz(indptr=i32(0, 1, 3, 5), indices=i32(0, 0, 1, 0, 1))},
        "index-lists": {"i32": npy(lists(causal)), "i64": npy(lists(causal)[None, :, ::-1].astype(np.int64)),
                        "blocks": npy(i32([0, -1], [1, 0], [0, 0]))},
        "flashmask": {"two": npy(np.stack([np.full(16, 12), np.arange(16)], 1)[None, None]),
                      "four": npy(i32(*[[k, 12, 0, k // 2] for k in range(16)])[None, None])},
        "flashmask-causal": {"one": npy(np.full((1, 2, 12, 1), 9, np.int32)),
                             "two": npy(i32(*[[k, k + 3] for k in range(12)])[None, None])},
        "intervals": {"three": npy(i32(*[[[n] * 12 for n in (2, 5, 9)]]))},
        "slices": {"four": npz(q_ranges=i32([0, 4], [4, 8], [8, 10], [9, 12]),
                               k_ranges=i32([0, 4], [0, 8], [3, 9], [0, 16]), attn_type_map=i32(0, 1, 2, 3))},
        "request-bits": {"two": npz(packed_custom_mask=np.arange(12, dtype=np.uint8), qo_indptr=i32(0, 5, 12),
                                    kv_indptr=i32(0, 8, 16), mask_indptr=i32(0, 5, 12))},
        "tree-bits": {"two": npz(tree_mask=np.array([1, 3, 5, 1, 3], np.uint64), tree_mask_lens=i32(0, 3, 5)),
                      "prefix": npz(tree_mask=np.array([1, 3, 1], np.uint64), tree_mask_lens=i32(0, 2, 3),
                                    prefix_len=i32(7))},
        "cu_seqlens-padded": {"four": npz(cu_seqlens_q=i32(0, 3, 8), cu_seqlens_kv=i32(0, 5, 9),
                                          cu_seqlens_q_padded=i32(0, 4, 12), cu_seqlens_kv_padded=i32(0, 8, 16))},
        "ragged-offsets": {"two": npz(seq_len_q=i32(3, 5), seq_len_kv=i32(5, 4), q_ragged_offset=i32(0, 8, 24),
                                      k_ragged_offset=i32(0, 8, 16), token_elements=i32(2, 1))},
    }
    more = {"bias": [0, 1], "padding": [0, 32], "key-padding": [1, 0], "cu_seqlens": [0, 1], "pairs": [1, 2],
            "blockmap": [5, 4, 8], "bits": [1], "segments": [0, 16], "flex": [4, 5], "bsr": [5],
            "index-lists": [0, 1, 4, 5], "flashmask": [0, 1], "intervals": [1], "slices": [0, 1],
            "request-bits": [0, 1], "cu_seqlens-padded": [0, 1]}
    for number, kind in enumerate(KINDS):
        for name, data in arrays.get(kind, {}).items():
            for option in more.get(kind, [0]):
                add("mask", f"{kind}_{name}_{option}", bytes([number, option]) + data)
            if kind in ("dense", "segments", "runs", "bias", "slices", "request-bits"):
                add("mask", f"any_{kind}_{name}", bytes([len(KINDS), 0]) + data)
            if kind == "bias":  # +64 sets a limit below which biases are closed
                add("mask", f"{kind}_{name}_below", bytes([number + 64, 0]) + data)
            if kind in ("dense", "padding"):
                add("mask", f"{kind}_{name}_inverse", bytes([number + 128, 0]) + data)


def add_manifest():
    read = ('[[golden]]\nname = "a"\nsource = "a.npy"\nas = "segments"\ntransforms = ["causal"]\n'
            'pad_id = 0\nkeep_value = 0\nclosed_below = -1e4\nshape = [1, 1, 8, 8]\n'
            f'expect = {{ sha256 = "{"0" * 64}" }}\n')
    more = ('[[golden]]\nname = "k"\nsource = "gen:causal:n=8"\n'
            'kernel = { q = "r.npz:q", causal = true, softmax_scale = 0.5, ring_size = 2 }\n'
            'expect.verdict = "obeys"\n\n'
            '[[golden]]\nname = "h"\nsource = "x"\nexpect = { holds = ["causal", "no-empty-rows"] }\n\n'
            '[[golden]]\nname = "d"\nsource = "x"\nbatch = 1\nexpect.drawing = "d.txt"\n')
    add("manifest", "digest.toml", read.encode())
    add("manifest", "others.toml", more.encode())


def add_pipeline():
    texts = [
        "causal", "causal:align=bottom-right,offset=2 | window:keys=4", "window:left=3,right=none",
        "chunk:size=4,offset=1|causal", "doc:b|pad:c,side=left,of=both", "doc:lens=3+4+5",
        "doc:q=b,kv='b c'", "pad:lens=a,side=right", "dilated:stride=2", "block:f,size=4x3",
        "random:sparsity=0.5,seed=7", "and:m | or:m | xor:m | sub:m", "prefix:n=3 | sinks:n=2",
        "global:tokens=0-3+7", "tokens:b,combine=intersect,zero=both", "not | not",
        "slice:b=0,h=0,q=2:9,k=0:12", "kv-lengths:a,q_len=1,window=4,end=b",
        "heads:0{ causal | batch:0{not} }", "# words\n causal # more\n | not\n",
        "segments:n=32,docs=4,seed=1,b=2,pad=3,interleave=token", "full:n=8", "empty:q=3,k=4,b=2",
        "gen:causal:n=16,h=2", "segments:lens=3+5,pad=2", "ck:t:4,0", "ck:xb:8",
        "or_masks(causal, and_masks(window, doc))", "window:both=3 | causal:offset=a",
    ]
    for number, text in enumerate(texts):
        add("pipeline", f"{number:02}", text.encode())


def digest(mask):
    """The digest of a boolean mask [Q, K], as docs/formats.md defines it."""
    arrays = runs(mask)
    plane = hashlib.sha256()
    for first, last in zip(arrays["indptr"], arrays["indptr"][1:]):
        for begin, end in zip(arrays["begin"][first:last], arrays["end"][first:last]):
            plane.update(struct.pack("<ii", begin, end))
        plane.update(b"\xff" * 4)
    return hashlib.sha256(b"maskctl mask 1\n" + struct.pack("<4q", 1, 1, *mask.shape) + plane.digest()).hexdigest()


def add_mask_file():
    def mask_file(pipeline, mask, tensors, **more):
        return safetensors(tensors, {"format": "maskctl.mask/1", "shape": str([1, 1, *mask.shape]),
                                     "pipeline": pipeline, "digest": digest(mask), "writer": "made", **more})

    bits = {"x/bits": ("U8", np.packbits(causal.ravel(), bitorder="little")), "x/shape": ("I64", np.array([1, 1, 12, 16]))}
    lists = {f"x/{key}": ("I64" if array.dtype == np.int64 else "I32", array) for key, array in runs(causal).items()}
    documents = (ids.T == ids) & (ids >= 0) & np.tri(12, dtype=bool)
    add("mask_file", "steps.safetensors", mask_file("causal:align=bottom-right", causal, {}))
    add("mask_file", "ids.safetensors", mask_file("doc:ids1 | causal", documents, {"ids1": ("I32", ids)}))
    add("mask_file", "bits.safetensors", mask_file("and:x", causal, bits))
    add("mask_file", "runs.safetensors", mask_file("and:x | or:x", causal, lists))
    add("mask_file", "dense.safetensors", mask_file("and:x", causal, {"x": ("BOOL", causal)}))
    add("mask_file", "sliced.safetensors",
        mask_file("and:x | slice:q=2:9,k=0:12", causal[2:9, :12], bits, start="[1, 1, 12, 16]"))


def text_array(text):
    return np.frombuffer(text, np.uint8)


def add_mask_info():
    common = dict(maskinfo=np.array([1], np.int32), baked_in=np.array([True, False, False, True]))
    axes = {"axes.kind": np.array([2, 1, 0, 1], np.int32), "axes.count": np.array([2, 1, 0, 1], np.int32),
            "axes.names": text_array(b"dp\0fsdp\0tp\0sp\0")}
    packed = {f"attention_mask.{k}": v for k, v in runs(causal).items()}
    packed |= {"attention_mask.rank": np.array([4], np.int32), "attention_mask.dtype": text_array(b"bool")}
    add("mask_info", "ids.npz", npz(**common, **axes, q_segment_ids=ids, kv_segment_ids=ids))
    add("mask_info", "dense.npz", npz(**common, **axes, attention_mask=causal[None, None]))
    add("mask_info", "runs.npz", npz(True, **common, **axes, **packed))
    cu = np.array([0, 3, 12], np.int32)
    add("mask_info", "lengths.npz",
        npz(**common, **axes, cu_seqlens_q=cu, cu_seqlens_kv=cu, q_positions=ids, kv_positions=ids))
    add("mask_info", "bare.npz", npz(**common))


def add_hdf5():
    def reply(out, errors=b"", status=0):
        tail = b"\0" + errors if errors else b""
        return out + tail + bytes([status])

    listing = (b"group\t/a\nlink\t/s\tsoft\nattribute\t/\tkind\tdense%0A\n"
               b"dataset\t/a/mask\t|b1\t12,16\tchunked 4,4\tgzip 4\tshuffle\n"
               b"dataset\t/v\tcompound\tnull\tvirtual\n"
               b"unreadable\t/n\tbad version number\n")
    data = b"array\t/mask\t<i4\t1,12\ndata\n" + ids.tobytes()
    # fuzz_hdf5.cc reads an input of odd size as an array, and one of even size as a listing.
    for pad in range(2):
        blank = b"\n" * pad
        add("hdf5", f"list{pad}", reply(blank + listing))
        add("hdf5", f"data{pad}", reply(data + blank))
        add("hdf5", f"at{pad}", reply(b"array\t/mask\t|b1\t2,3\nat\t4\n" + blank))
        add("hdf5", f"failed{pad}", reply(b"", b"format\tx.h5: a message%21\n" + blank, 1))
        add("hdf5", f"died{pad}", reply(b"array\t/mask\t<f8\t2,3" + blank, b"x", 3))


def add_hdf5_file():
    import h5py

    def make(name, fill, **options):
        out = io.BytesIO()
        with h5py.File(out, "w", **options) as file:
            fill(file)
        add("hdf5_file", name, out.getvalue())

    def several(file):
        group = file.create_group("g", track_order=False)
        file.create_dataset("mask", data=causal, track_times=False)
        group.create_dataset("ids", data=ids, track_times=False)
        group.create_dataset("half", data=bias.astype(np.float16), track_times=False)
        group.attrs["kind"] = "segments"

    make("plain.h5", lambda f: f.create_dataset("mask", data=causal, track_times=False))
    make("packed.h5", lambda f: f.create_dataset("mask", data=causal, chunks=(4, 8), track_times=False,
                                                 compression="gzip", shuffle=True, fletcher32=True))
    make("lzf.h5", lambda f: f.create_dataset("mask", data=causal, chunks=(6, 16), track_times=False,
                                              compression="lzf"))
    make("several.h5", several)
    make("latest.h5", several, libver="latest")


add_npy()
add_npz()
add_safetensors()
add_mask()
add_pipeline()
add_manifest()
add_mask_file()
add_mask_info()
add_hdf5()
add_hdf5_file()
if sys.argv[1:] == ["--check"]:
    found = {str(p.relative_to(CORPUS)): p.read_bytes() for p in CORPUS.glob("*/*")}
    # Files with compressed members and HDF5 files are not compared: their bytes depend on the
    # versions of libraries.
    fixed = [name for name in files if name.split("/")[0] in ("npy", "pipeline", "hdf5", "safetensors", "manifest",
                                                                 "mask_file")]
    wrong = sorted(set(found) ^ set(files)) + [name for name in fixed if found.get(name) != files[name]]
    sys.exit("differs: " + ", ".join(wrong) if wrong else 0)
for name, data in files.items():
    path = CORPUS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
