"""Masks and answers are values: nothing that happens later changes what they say."""

import numpy as np
import pytest

import maskctl
from maskctl import Mask


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
