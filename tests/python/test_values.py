"""Masks and answers are values: nothing that happens later changes what they say."""

import gc
import weakref

import numpy as np
import pytest

import maskctl
from maskctl import Mask


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
def test_every_verb_asks_every_mask(maker, name):
    mask = MAKERS[maker](np.copy)
    if not mask.pipeline:
        mask.name = mask._word = name
    for verb in ("show", "stats", "check", "recognise", "cost"):
        assert str(getattr(mask, verb)())
    assert mask.diff(mask) and (not np.asarray(mask).size or mask.verify(no_gradients=True))
    assert "mask" in str(mask.translate(to="sdpa"))
    for *_, query, key in np.argwhere(np.asarray(mask).reshape(mask.shape))[:3].tolist():
        assert mask.why(query, key)
    for *_, query, key in np.argwhere(~np.asarray(mask).reshape(mask.shape))[:3].tolist():
        assert not mask.why(query, key)


def test_a_mask_does_not_keep_arrays():
    ids = IDS.copy()
    mask, seen = Mask.parse("doc:ids", 6, ids=ids), weakref.ref(ids)
    del ids
    gc.collect()
    assert seen() is None and mask.count() == 14


def test_an_answer_is_of_one_run():
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
