"""Mask.check() with several arrays that describe one batch."""

import numpy as np
import pytest

import maskctl

FLAGS = np.array([[1, 1, 1, 1, 1, 0]])
ENDS = np.array([0, 3, 5], np.int32)


def ids(answer):
    return [finding["id"] for finding in answer.data["findings"]]


def mask():
    return maskctl.Mask.parse("doc:lens=3+2 | causal", 6)


def test_arrays_of_one_batch_agree():
    answer = mask().check(segments=np.array([[7, 7, 7, 8, 8, -1]]), cu_seqlens=ENDS,
                          positions=np.array([[0, 1, 2, 0, 1, 1]]), padding=FLAGS)
    assert not [one for one in ids(answer) if one in ("descriptions-differ", "positions-segments", "lengths-padded")]


def test_arrays_that_disagree_are_named_with_the_token():
    answer = mask().check(segments=np.array([[7, 7, 8, 8, 8, -1]]), cu_seqlens=ENDS, padding=FLAGS)
    assert "descriptions-differ" in ids(answer) and not answer
    message = next(one for one in answer.data["findings"] if one["id"] == "descriptions-differ")
    assert message["where"]["entry"] == 2
    assert "segments starts a document at token 2, where one of cu_seqlens goes on" in message["message"]


def test_padded_lengths_give_a_note():
    answer = maskctl.Mask.from_cu_seqlens(np.array([0, 3, 6], np.int32)).apply("causal").check(
        cu_seqlens=np.array([0, 3, 6], np.int32), padding=FLAGS)
    assert "lengths-padded" in ids(answer) and answer


def test_expectations_accept_only_one_description_of_documents():
    ids, ends = np.array([0, 0, 0, 1, 1, 1], np.int32), np.array([0, 3, 6], np.int32)
    with pytest.raises(maskctl.Error, match="takes one of"):
        maskctl.Mask(np.tri(6, dtype=bool)).check(expect=["causal"], segments=ids, cu_seqlens=ends)
