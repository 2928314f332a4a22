"""Masks and answers are values: nothing that happens later changes what they say."""

import copy
import gc
import multiprocessing
import pickle
import re
import weakref

import numpy as np
import pytest

import maskctl
from maskctl import Error, Mask


def agreed_count(mask):
    """The number of open cells, which every way of asking has to agree on."""
    cells = np.asarray(mask)
    same = Mask(cells, "dense")
    assert mask == same and mask.diff(same) and same.diff(mask)
    assert mask.count() == mask.stats().total["open"] == cells.sum() == (mask & mask).count()
    assert f", {mask.count()} open" in repr(mask)
    return mask.count()


IDS = np.array([0, 0, 1, 1, 1, 2])
CELLS = np.tri(6, dtype=bool)
MAKERS = {
    "cells": lambda given: Mask(given(CELLS)),
    "bias": lambda given: Mask(given(np.where(CELLS, 0, -np.inf).astype("f4"))),
    "segments": lambda given: Mask.from_segments(given(IDS)),
    "steps": lambda given: Mask.from_segments(given(IDS)).apply("causal"),
    "parsed": lambda given: Mask.parse("doc:ids | causal", 6, ids=given(IDS)),
    "applied": lambda given: Mask(given(CELLS)).apply("doc:ids", ids=given(IDS)).apply("window:keys=2"),
    "masks": lambda given: Mask.parse("and:m", 6, m=Mask(given(CELLS))),
    "combined": lambda given: Mask.parse("doc:ids", 6, ids=given(IDS)) & Mask(given(CELLS)),
    "closed": lambda given: ~Mask(given(CELLS)),
    "part": lambda given: Mask(given(CELLS))[..., 1:4, :],
    "empty": lambda given: Mask(given(CELLS[:0]), "dense"),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_writing_to_an_array_does_not_change_a_mask(maker):
    given = []

    def kept(values):
        given.append(values.copy())
        return given[-1]

    mask = MAKERS[maker](kept)
    before = str(mask.show()), agreed_count(mask)
    for values in given:
        values[...] = 0
    assert (str(mask.show()), agreed_count(mask)) == before


@pytest.mark.parametrize("name", ["mask", "gen:full:n=6", "gen:causal and x"])
@pytest.mark.parametrize("maker", MAKERS)
def test_every_method_works_on_every_kind_of_mask(maker, name):
    mask = MAKERS[maker](np.copy)
    if not mask.pipeline:
        mask.name = mask._word = name
    for verb in ("show", "stats", "check", "recognise", "cost"):
        assert str(getattr(mask, verb)())
    assert mask.diff(mask) and (not np.asarray(mask).size or mask.verify(no_gradients=True))
    assert "mask" in str(mask.translate(to="sdpa"))
    for *_, query, key in np.argwhere(np.asarray(mask).reshape(mask.shape))[:3]:
        assert mask.why(query, key)
    for *_, query, key in np.argwhere(~np.asarray(mask).reshape(mask.shape))[:3]:
        assert not mask.why(query, key)


@pytest.mark.parametrize("text", ["doc:ids.npy | causal", "doc:'all.npz:ids' | causal", "and:cells.npy", "@steps.txt",
                                  "heads:0{doc:ids.npy | and:cells.npy}", "kv-lengths:lengths.npy"])
def test_files_that_steps_name_are_read_once(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("ids.npy", IDS)
    np.save("cells.npy", CELLS)
    np.save("lengths.npy", np.array([4]))
    np.savez("all.npz", ids=IDS)
    (tmp_path / "steps.txt").write_text("doc:ids.npy | causal  # packed\n| window:keys=2\n")
    mask = Mask.parse(text, 6)
    other = Mask(np.ones((6, 6), bool)).apply(text)
    before = agreed_count(mask), str(mask.show()), mask.why(2, 2).text
    for path in list(tmp_path.iterdir()):
        path.unlink()
    np.save("ids.npy", IDS * 0)
    for one in (mask, pickle.loads(pickle.dumps(mask)), copy.deepcopy(mask)):
        assert (agreed_count(one), str(one.show()), one.why(2, 2).text) == before
        assert one == other and one.apply("causal").count() <= before[0] and one.translate(to="flex") and one.diff(other)
    assert Mask.parse("doc:ids.npy", 6).count() == 36


def test_a_mask_does_not_keep_the_arrays_of_its_steps():
    ids = IDS.copy()
    mask, seen = Mask.parse("doc:ids", 6, ids=ids), weakref.ref(ids)
    del ids
    gc.collect()
    assert seen() is None and mask.count() == 14


def test_text_and_fields_of_an_answer_come_from_one_run():
    ids = np.zeros(4, int)
    answer = Mask(np.tri(4, dtype=bool)).check(segments=ids)
    ids[2:] = 1
    assert answer and answer.findings == [] and "no findings" in str(answer)


def test_an_answer_has_its_data_after_files_are_written(tmp_path, samples):
    ids = np.random.default_rng(0).integers(0, 4, 24)
    arrays = tmp_path / "arrays.npz"
    answer = Mask.from_segments(ids).recognise(write=str(arrays))
    before = arrays.stat().st_mtime_ns
    assert answer.pipeline and arrays.stat().st_mtime_ns == before
    q, k, v, out = (np.load(samples / f"bugs/kernel_{name}.npy") for name in ("q", "k", "v", "out"))
    solved = tmp_path / "solved.npy"
    answer = Mask.parse("window:keys=32", 64).verify(query=q, key=k, value=v, given=out, solve=True,
                                                     output=str(solved), no_gradients=True)
    solved.unlink()
    assert answer.data["schema"].startswith("maskctl.") and not solved.exists()


def test_a_pipeline_with_an_array_is_translated():
    mask = Mask.from_segments(np.random.default_rng(0).integers(0, 4, 24))
    answer = mask.translate(to="flex")
    assert answer.data["schema"] == "maskctl.translate/1" and "mask_mod" in str(answer)


def test_an_answer_without_data_has_no_fields():
    answer = Mask.parse("causal", 4).show()
    assert not hasattr(answer, "x") and not hasattr(answer, "_x")
    with pytest.raises(AttributeError, match="no --json"):
        answer.data
    assert maskctl.run("stats", Mask.parse("causal", 4), json=True).total["open"] == 10


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))],
                         ids=["copy", "deepcopy", "pickle"])
def test_masks_are_copied(maker, copied):
    mask = MAKERS[maker](np.copy)
    mask.notes.append("a note")
    other = copied(mask)
    assert (other.name, other.kind, other.pipeline, other.notes) == (mask.name, mask.kind, mask.pipeline, mask.notes)
    assert other == mask and agreed_count(other) == agreed_count(mask)
    assert str(other.check()) == str(mask.check())
    other.notes.clear()
    assert mask.notes


def test_ids_are_pickled():
    mask = pickle.loads(pickle.dumps(Mask.from_segments(np.array([0, 0, 1, -1]))))
    np.testing.assert_array_equal(np.asarray(mask.to("segments")).squeeze(), [0, 0, 1, -1])


def test_large_masks_are_pickled_as_steps():
    mask = Mask.parse("window:keys=4096 | causal", 1_000_000)
    mask.count()
    assert len(pickle.dumps(mask)) < 1000


def test_what_is_no_pickled_mask_is_refused():
    source = Mask(CELLS)._source
    kind = type(source)
    for state in [(), (1,) * 12, ({}, 0, "bool", [6, 6], 2, None, None, True, None, 0, (False, False, 0.0, 0.0), [])]:
        with pytest.raises((Error, RuntimeError, TypeError, ValueError)):
            kind.__new__(kind).__setstate__(state)


def test_answers_are_copied():
    answer = Mask(CELLS).check(segments=IDS)
    for other in (copy.copy(answer), copy.deepcopy(answer), pickle.loads(pickle.dumps(answer))):
        assert (str(other), bool(other), other.data, other.notes) == (str(answer), bool(answer), answer.data,
                                                                     answer.notes)


def test_changing_the_data_of_an_answer_does_not_change_the_answer():
    answer = Mask(CELLS).check(segments=IDS)
    for other in (answer, pickle.loads(pickle.dumps(answer))):
        before = other.data
        other.data.clear()
        other.findings.clear()
        other.data["findings"].append("mine")
        assert other.data == before and other.findings == before["findings"] and before["findings"]


def test_fields_are_attributes_too():
    finding = Mask(CELLS).check(segments=IDS).findings[0]
    assert finding == dict(finding) and finding.message == finding["message"]
    assert pickle.loads(pickle.dumps(finding)).where == copy.deepcopy(finding).where == finding["where"]
    with pytest.raises(AttributeError, match=r"no field 'x'; there are \['claim', 'count'"):
        finding.x


def test_verify_returns_the_obeyed_and_the_nearest_mask(samples, tmp_path):
    q, k, v, out = (np.load(samples / f"bugs/kernel_{name}.npy") for name in ("q", "k", "v", "out"))
    call = {"query": q, "key": k, "value": v}
    declared = Mask.parse("window:keys=32", 64)
    for solve in (False, True):
        written = tmp_path / f"{solve}.npy"
        answer = declared.verify(**call, given=out, solve=solve, output=str(written))
        assert answer.verdict == "another" and answer.nearest is None
        assert answer.obeyed == Mask.parse("window:keys=33", 64) == Mask(written)
        assert pickle.loads(pickle.dumps(answer)).obeyed == copy.copy(answer).obeyed == answer.obeyed
    assert declared.verify(no_gradients=True).obeyed == declared
    none = declared.verify(**call, given=np.random.default_rng(0).standard_normal(out.shape).astype("f4"))
    assert none.verdict == "none" and none.obeyed is None


def test_options_accept_numbers_of_python_and_numpy(samples):
    q, k, v, out = (np.load(samples / f"bugs/kernel_{name}.npy") for name in ("q", "k", "v", "out"))
    mask = Mask.parse("window:keys=33", 64)
    loose, tight = (mask.verify(query=q, key=k, value=v, given=out, rtol=0.0, atol=atol) for atol in (1e-2, np.float64(1e-9)))
    assert loose.checks[0].state == "passed" and tight.checks[0].state == "failed"
    assert str(mask.verify(no_gradients=True, seed=np.int32(3))) == str(mask.verify(no_gradients=True, seed="3"))
    for option in ({"rtol": -1.0}, {"rtol": float("nan")}, {"atol": "x"}, {"seed": 0.5}, {"seed": 1 << 70}):
        (name, value), = option.items()
        with pytest.raises(Error, match=f"{name}='?{re.escape(str(value))}'?: expected a"):
            mask.verify(**option)


@pytest.mark.parametrize("unset", [False, None, 0, np.bool_(False)])
def test_a_flag_that_is_false_is_not_set(unset):
    mask = Mask.parse("window:keys=2", 4)
    assert str(mask.verify(no_gradients=unset)) == str(mask.verify()) != str(mask.verify(no_gradients=np.bool_(True)))
    assert not mask.check(expect="close:k=0", exit_zero=unset) and mask.check(expect="close:k=0", exit_zero=1)


@pytest.mark.parametrize("kind", ["runs", "segments", "cu_seqlens", "blockmap", "flex", "fa4", "bsr", "index-lists",
                                  "flashmask", "intervals", "slices", "request-bits", "tree-bits", "cu_seqlens-padded",
                                  "ragged-offsets"])
def test_arrays_that_to_returns_are_read_back(kind):
    mask = Mask.parse("doc:lens=4+4", 8)
    given = mask.to(kind, **({"block": "2x4"} if kind in ("blockmap", "flex", "fa4", "bsr") else {}))
    needs = {"shape": (8, 8)} if kind in ("cu_seqlens", "blockmap", "flex", "fa4", "bsr", "intervals") else {}
    read = "blockmap:2x4" if kind == "blockmap" else kind if kind not in ("flex", "fa4", "bsr") else f"{kind}:2x4"
    assert Mask(given, read, **needs) == mask
    if isinstance(given, dict):
        assert Mask({key: np.asarray(one).copy() for key, one in given.items()}, read, **needs) == mask


def test_lists_of_keys_are_read_as_torch_has_them_and_checked():
    lists = np.array([[0, -1], [1, 1], [2, 0]], "i8")
    mask = Mask(lists, "index-lists")
    assert np.asarray(mask).reshape(3, 3).astype(int).tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 1]]
    for one in (mask, pickle.loads(pickle.dumps(mask))):
        assert [finding["id"] for finding in one.check().findings][:2] == ["list-repeats", "list-order"]
    blocks = Mask(np.array([[0], [1]], "i4"), "index-lists:2x2", shape=(4, 4))
    assert blocks == Mask.parse("doc:lens=2+2", 4)


def test_arrays_that_form_no_mask_are_refused():
    with pytest.raises(Error, match=r"mask: 2 arrays \(a, b\); expected one, or those of one mask: q and kv"):
        Mask({"a": np.eye(2), "b": np.eye(2)})
    with pytest.raises(Error, match="mask: holds no arrays"):
        Mask({})
    with pytest.raises(Error, match=r"mask\['q'\]: a NoneType cannot be read"):
        Mask({"q": None, "kv": np.arange(2)})
    for key in (1, "\ud800", "a\0b"):
        with pytest.raises(Error, match="mask, a key: "):
            Mask({key: np.eye(2)})


def made_in_a_worker(n):
    return Mask.parse("doc:ids | causal", n, ids=np.arange(n) // 3)


def test_a_mask_is_returned_from_a_worker_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(made_in_a_worker, [6, 9]) == [made_in_a_worker(6), made_in_a_worker(9)]


def test_masks_can_be_referred_to_weakly():
    mask = Mask(CELLS)
    seen = weakref.ref(mask)
    assert seen() is mask
    del mask
    assert seen() is None


def test_a_mask_equals_an_array(random_mask):
    cells = random_mask(2, 3, 5, 7)
    mask = Mask(cells)
    assert mask == cells and cells == mask and mask == cells.tolist() and not mask != cells
    other = cells.copy()
    other[1, 2, 3, 4] ^= True
    assert mask != other and other != mask and mask != cells[:1]
    with pytest.raises(Error, match="fits several kinds"):
        mask == np.ones(6, bool)
    assert mask != "mask" and mask is not None and mask != 5


def test_indexing_gives_cells_and_parts(random_mask):
    cells = random_mask(2, 3, 5, 7)
    mask = Mask(cells)
    for index in [(0, 0, 0, 0), (1, 2, 4, 6), (-1, -2, -5, -7), (np.int64(1), 0, 2, 3)]:
        assert mask[index] is bool(cells[index])
    for index in [(1,), (..., 3), (slice(1), slice(1, 3)), (0, ..., slice(2, -1), slice(None, 4)),
                  (slice(None),) * 4, (..., slice(4, 2), slice(None))]:
        same = tuple(slice(n, n + 1 or None) if isinstance(n, int) else n for n in index)
        assert mask[index] == Mask(cells[same], "dense")
    assert mask[1].shape == (1, 3, 5, 7) and mask[1].name == "mask[1:2,0:3,0:5,0:7]"
    for index, words in [((2, 0, 0, 0), "b: 2 is out of range"), ((0,) * 5, "too many"),
                         ((..., ...), "too many"), (slice(None, None, 2), "step 2")]:
        with pytest.raises(IndexError, match=words):
            mask[index]
    with pytest.raises(TypeError):
        iter(mask)


@pytest.mark.parametrize("file, kind", [("m.npy", None), ("m.npz", None), ("m.npz", "runs"), ("m.safetensors", None)])
def test_a_mask_is_saved_and_read(tmp_path, random_mask, file, kind):
    mask = Mask(random_mask(2, 3, 5, 7))
    path = tmp_path / file
    mask.save(path, kind)
    assert Mask(path) == mask and Mask(str(path)).name == str(path)
    with pytest.raises(Error, match="force="):
        mask.save(path, kind)
    steps = "causal:align=top-left"
    mask.apply(steps).save(path, kind, force=True)
    assert Mask(path) == mask.apply(steps)
