"""maskctl.flex without torch, on arrays; tests/peers/block_masks.py tests it beside torch."""

import time
import types

import numpy as np
import pytest
from conftest import ROOT

from maskctl import Error, Mask, flex

IDS = np.repeat([0, 1, 2], [70, 130, 100])
LISTS = ["kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
         "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices"]


@pytest.fixture(autouse=True)
def without_torch(monkeypatch):
    monkeypatch.setattr(flex, "_torch", lambda: None)


def stored(name):
    """The arrays of a BlockMask that torch 2.15 made, stored by tests/peers/stored_block_masks.py.
    """
    arrays = np.load(ROOT / "tests/data/block_masks.npz")
    return {key: arrays[f"{name}/{key}"] for key in [*LISTS, "BLOCK_SIZE", "seq_lengths"]}


def as_block_mask(arrays, **others):
    """An object with the attributes of a BlockMask."""
    lists = {key: arrays.get(key) for key in LISTS}
    made = {**lists, "BLOCK_SIZE": tuple(arrays["BLOCK_SIZE"]), "seq_lengths": tuple(arrays["seq_lengths"]), **others}
    return types.SimpleNamespace(**made)


@pytest.mark.parametrize("name, made", [
    ("causal", lambda: flex.block_mask(Mask.parse("causal", 300))),
    ("whole", lambda: flex.block_mask(Mask.parse("causal", 256), block_size=64)),
    ("documents", lambda: flex.block_mask(ids=IDS, pipeline="causal", block_size=16)),
    ("documents", lambda: flex.block_mask(cu_seqlens=np.array([0, 70, 200, 300]), pipeline="causal", block_size=16)),
    ("window", lambda: flex.block_mask(Mask.parse("window:keys=40", 500), block_size=256)),
    ("cross", lambda: flex.block_mask(Mask.parse("causal:align=top-left", (200, 333)), block_size=(32, 64))),
])
def test_the_arrays_are_those_of_torch(name, made):
    lists, torchs = made(), stored(name)
    assert sorted(lists) == sorted(LISTS)
    for key in LISTS:
        np.testing.assert_array_equal(np.asarray(lists[key]), torchs[key])
        assert np.asarray(lists[key]).dtype == torchs[key].dtype


@pytest.mark.parametrize("name", ["causal", "documents", "cross", "heads"])
def test_a_block_mask_is_read(name):
    arrays = stored(name)
    mask = flex.mask(as_block_mask(arrays), name=name)
    assert mask.kind == "flex" and mask.name == name
    assert mask.shape[2:] == tuple(arrays["seq_lengths"])
    assert any("partial blocks are read as open" in note for note in mask.notes)
    blocks = np.asarray(mask.to("blockmap", block="x".join(map(str, arrays["BLOCK_SIZE"])), lossy=True))
    counts = arrays["kv_num_blocks"] + arrays["full_kv_num_blocks"]
    np.testing.assert_array_equal((blocks > 0).sum(-1).reshape(counts.shape), counts)


def test_lists_that_disagree_are_refused_by_row():
    arrays = stored("causal")
    with pytest.raises(Error, match="500 keys are 4 blocks of 128, but the lists have 3"):
        flex.mask(as_block_mask(arrays, seq_lengths=(300, 500)))
    with pytest.raises(Error, match="700 queries are 6 blocks of 128, but the lists have 3"):
        flex.mask(as_block_mask(arrays, seq_lengths=(700, 300)))
    arrays["kv_indices"][0, 0, 2, 1] = 9
    with pytest.raises(Error, match="row 2"):
        flex.mask(as_block_mask(arrays))
    only_partial = as_block_mask({**stored("causal"), **dict.fromkeys(LISTS[2:])})
    assert flex.mask(only_partial).count() == 2 * 128 * 128 + 44 * 300


def test_fa4_and_bsr_give_known_lists():
    lists = flex.fa4(Mask.parse("causal", 512))
    assert lists.pop("block_size") == (128, 128)
    assert {key: np.asarray(value).squeeze().tolist() for key, value in lists.items()} == {
        "mask_block_cnt": [1, 1, 1, 1], "mask_block_idx": [0, 1, 2, 3],
        "full_block_cnt": [0, 1, 2, 3], "full_block_idx": [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]}
    by_keys = flex.fa4(Mask.parse("causal", 512), by_keys=True)
    assert np.asarray(by_keys["full_block_cnt"]).squeeze().tolist() == [3, 2, 1, 0]
    indptr, indices = flex.bsr(cu_seqlens=np.array([0, 128, 512]), pipeline="causal")
    assert np.asarray(indptr).tolist() == [0, 1, 2, 4, 7]
    assert np.asarray(indices).tolist() == [0, 1, 1, 2, 1, 2, 3]


def test_pipelines_can_name_arrays():
    keep = np.tri(300, dtype=bool)
    lists = flex.block_mask(cu_seqlens=np.array([0, 300]), pipeline="and:keep", keep=keep)
    np.testing.assert_array_equal(np.asarray(lists["kv_indices"]), stored("causal")["kv_indices"])


@pytest.mark.parametrize("call, words", [
    (lambda: flex.block_mask(), "which mask is meant"),
    (lambda: flex.fa4(Mask.parse("causal", 8), ids=IDS), "which mask is meant"),
    (lambda: flex.bsr(np.ones((4, 4), bool)), "a ndarray is no Mask"),
    (lambda: flex.block_mask(Mask.parse("causal", 8), block_size=0), "block"),
    (lambda: flex.block_mask(Mask.parse("causal", 8), block_size=(1, 2, 3)), "block"),
    (lambda: flex.block_mask(Mask.parse("causal", 8), "no-step"), "no-step"),
    (lambda: flex.block_mask(cu_seqlens=np.array([0, 5, 3])), "cu_seqlens"),
])
def test_what_is_no_mask_is_refused(call, words):
    with pytest.raises(Error, match=words):
        call()


def test_lists_of_long_documents_take_no_time():
    cu = np.linspace(0, 806_662, 201).astype(np.int32)
    flex.fa4(cu_seqlens=cu, pipeline="causal")
    begin = time.process_time()
    for _ in range(5):
        flex.fa4(cu_seqlens=cu, pipeline="causal")
        flex.bsr(cu_seqlens=cu, pipeline="causal")
    assert time.process_time() - begin < 5 * 2 * 0.1  # each call takes 10 ms on an idle core
