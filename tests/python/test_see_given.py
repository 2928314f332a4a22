"""What maskctl.see is told about tokens by the arguments of a model: documents and padding."""

import types

import numpy as np
import pytest
from test_see import IDS, T

from maskctl import Error, _see_given


@pytest.mark.parametrize("batch, words", [
    ({"cu_seqlens": [1, 9, T]}, "see: cu_seqlens starts with 1; expected 0"),
    ({"cu_seqlens": [0, 9, 7, T]}, "cu_seqlens falls from 9 to 7 at entry 2; expected ends that never decrease"),
    ({"cu_seq_lens_q": [0, T + 1]}, "ends at 25, past the 24 keys; expected at most that"),
    ({"cu_seqlens": [0.5, T]}, "cu_seqlens"),
    ({"cu_seqlens": []}, "cu_seqlens is empty; expected 0 and the end of each document"),
    ({"position_ids": np.arange(T) / 2}, "position_ids of float64; expected integers"),
    ({"position_ids": np.arange(T - 1)[None]}, r"position_ids of shape \(1, 23\) for tokens 1 x 24"),
    ({"attention_mask": np.zeros((1, T))}, "attention_mask is 0 everywhere"),
])
def test_documents_of_a_batch_are_read_or_refused(batch, words):
    subject = types.SimpleNamespace(shape=(1, T), notes=[])
    with pytest.raises(Error, match=words):
        _see_given.given(subject, batch, None, None)


def read(batch):
    """What see takes from a batch, and its notes."""
    subject = types.SimpleNamespace(shape=(1, T), notes=[])
    return _see_given.given(subject, batch, None, None), subject.notes


def test_documents_of_a_batch():
    for batch in ({"cu_seqlens": [0, 9, 16, 16, T]}, {"position_ids": np.r_[0:9, 0:7, 0:8]}, {"position_ids": np.r_[0:9, 0:7, 0:8][None]}):
        found, notes = read(batch)
        assert found.has_documents and found.valid.all() and ((found.ids[0][:, None] == found.ids[0]) == (IDS[:, None] == IDS)).all()
        assert len(notes) == 1 and notes[0].startswith("documents: ")


def test_padding_of_a_batch_is_no_document():
    ids = np.r_[IDS[:T - 4], [-1] * 4]
    positions = np.r_[0:9, 0:7, 0:4, [1] * 4]  # as transformers fills in 1
    mask = (ids >= 0).astype(int)[None]
    for batch in ({"position_ids": positions}, {"position_ids": positions, "attention_mask": mask}, {"cu_seqlens": [0, 9, 16, T - 4]},
                  {"position_ids": np.where(ids < 0, 0, positions), "attention_mask": mask},
                  {"position_ids": np.r_[0:9, 0:7, 0:8], "attention_mask": mask}):
        found, notes = read(batch)
        assert (found.valid == (ids >= 0)).all() and (found.ids[0] == ids).all() and any(note.startswith("padding: ") for note in notes)
    left = np.r_[[1] * 4, 0:T - 4]
    found, _ = read({"position_ids": left, "attention_mask": (np.arange(T) >= 4)[None]})
    assert not found.has_documents and (found.valid == (np.arange(T) >= 4)).all()
    found, _ = read({"position_ids": np.r_[[0] * 4, 0:T - 4], "attention_mask": (np.arange(T) >= 4)[None]})
    assert not found.has_documents
