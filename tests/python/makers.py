"""Masks made in every way, which tests of the whole of Mask go through."""

import numpy as np

from maskctl import Mask, flex
from maskctl._seen import Seen

IDS = np.array([0, 0, 1, 1, 1, 2])
CELLS = np.tri(6, dtype=bool)
CELLS[4, 1] = False
HEADS = np.random.default_rng(20261129).random((2, 3, 5, 7)) < 0.5
FLAGS = np.array([[1, 1, 0], [1, 0, 0]])


class SegmentIds:  # as in jax
    def __init__(self, ids):
        self.q = self.kv = ids


class BlockMask:  # as in torch, whose module has create_mask
    def __init__(self, cells, mask_mod=None, size=2):
        """The lists of the blocks of `cells`, which mask_mod opens in partial blocks."""
        self.mask_mod = mask_mod or (lambda b, h, q, k: cells[q, k])
        listed = Mask(np.asarray(cells), "dense")
        vars(self).update({name: np.asarray(one) for name, one in flex._lists(listed, "flex", size).items()})
        self.BLOCK_SIZE, self.seq_lengths, self.shape = (size, size), listed.shape[2:], listed.shape


def create_mask(mask_mod, *extents, device):
    del device
    return np.array([[[[mask_mod(b, h, q, k) for k in range(extents[3])] for q in range(extents[2])]
                      for h in range(extents[1])] for b in range(extents[0])], bool)


def bias(cells):
    return np.where(cells, 0, -np.inf).astype("f4")


def in_file(file, key="", kind=None, **arrays):
    """A maker of the mask in a file that is gone when the mask is there."""

    def make(given, folder):
        del given
        path = folder / file
        np.savez(path, **arrays) if arrays else Mask(CELLS).save(path)
        mask = Mask(f"{path}{key}", kind, name=file)
        path.unlink()
        return mask

    return make


def steps_in_file(text, array):
    def make(given, folder):
        del given
        path = folder / "steps.npy"
        np.save(path, array)
        mask = Mask.parse(text.replace("FILE", f"'{path}'"), 6)
        path.unlink()
        return mask

    return make


def captured(given, folder):
    del folder
    run = Seen()
    run._add("layers.0", given(CELLS))
    run._add("layers.1", given(CELLS.copy()))
    return run["layers.1"]


def of(make):
    return lambda given, folder: make(given)


MAKERS = {
    "cells": of(lambda given: Mask(given(CELLS))),
    "heads": of(lambda given: Mask(given(HEADS))),
    "bias": of(lambda given: Mask(given(bias(CELLS)))),
    "closed": of(lambda given: Mask(given(1 - CELLS), "dense", keep_value=0)),
    "lists": of(lambda given: Mask(CELLS.tolist())),
    "segments": of(lambda given: Mask.from_segments(given(IDS))),
    "sides": of(lambda given: Mask.from_segments(given(np.array([0, 0, -1])), given(np.array([0, 0, 1, -1])))),
    "batches": of(lambda given: Mask.from_segments(given(np.array([IDS, IDS[::-1]])))),
    "positions": of(lambda given: Mask.from_positions(given(np.array([0, 1, 2, 0, 1])))),
    "cu_seqlens": of(lambda given: Mask.from_cu_seqlens(given(np.array([0, 3, 6])))),
    "padding": of(lambda given: Mask.from_padding(given(FLAGS))),
    "key padding": of(lambda given: Mask.from_key_padding(given(FLAGS), queries=4)),
    ".npy": in_file("m.npy"),
    ".npz": in_file("m.npz", ":cells", cells=CELLS, ids=IDS),
    ".npz of ids": in_file("m.npz", ":ids", kind="segments", cells=CELLS, ids=IDS),
    ".safetensors": in_file("m.safetensors"),
    ".h5": in_file("m.h5"),
    "generated": of(lambda given: Mask.read("gen:causal:n=6")),
    "parsed": of(lambda given: Mask.parse("causal", 6)),
    "parsed heads": of(lambda given: Mask.parse("heads:0{causal} | batch:1{window:keys=2}", (2, 2, 6, 6))),
    "parsed ids": of(lambda given: Mask.parse("doc:ids | causal", 6, ids=given(IDS))),
    "parsed cells": of(lambda given: Mask.parse("and:m", 6, m=Mask(given(CELLS)))),
    "parsed file": steps_in_file("doc:FILE | causal", IDS),
    "parsed file of cells": steps_in_file("heads:0{and:FILE}", CELLS),
    "applied": of(lambda given: Mask(given(CELLS)).apply("doc:ids", ids=given(IDS)).apply("window:keys=2")),
    "applied segments": of(lambda given: Mask.from_segments(given(IDS)).apply("causal")),
    "and": of(lambda given: Mask.parse("doc:ids", 6, ids=given(IDS)) & Mask(given(CELLS))),
    "or": of(lambda given: Mask.from_segments(given(IDS)) | Mask(given(CELLS))),
    "xor": of(lambda given: Mask(given(CELLS)) ^ Mask.parse("causal", 6)),
    "minus": of(lambda given: Mask.parse("causal", 6) - Mask(given(CELLS))),
    "not": of(lambda given: ~Mask.parse("doc:ids", 6, ids=given(IDS))),
    "part": of(lambda given: Mask(given(HEADS))[1, :2, 1:4]),
    "row": of(lambda given: Mask(given(CELLS))[..., 2, :]),
    "block mask": of(lambda given: Mask(BlockMask(given(CELLS)))),
    "segment ids": of(lambda given: Mask(SegmentIds(given(IDS)))),
    "captured": captured,
    "odd name": of(lambda given: Mask(given(CELLS), name="a\x1b[31m\nforged\u202e:c,d=e")),
    "no queries": of(lambda given: Mask(given(CELLS[:0]), "dense")),
    "no keys": of(lambda given: Mask(given(CELLS[:, :0]), "dense")),
    "no tokens": of(lambda given: Mask.from_segments(given(IDS[:0]))),
    "no documents": of(lambda given: Mask.from_cu_seqlens(given(np.array([0])))),
    "no batches": of(lambda given: Mask(given(HEADS[:0]), "dense")),
    "no batches of ids": of(lambda given: Mask.from_segments(given(np.zeros((0, 4), int)))),
    "no heads": of(lambda given: Mask(given(HEADS[:, :0]), "dense")),
    "no keys of flags": of(lambda given: Mask.from_key_padding(given(FLAGS[:, :0]), queries=3)),
    "empty part": of(lambda given: Mask(given(CELLS))[..., 3:3, :]),
}
