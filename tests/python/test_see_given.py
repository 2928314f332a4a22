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


ENTRIES = np.array([np.r_[IDS[:T - 4], [-1] * 4], np.r_[[-1] * 3, IDS[3:]]])  # padded right, and left


def positions_of(ids):
    """position_ids as collators make them, 1 for padding."""
    found = np.ones_like(ids)
    for row, one in zip(found, ids):
        for document in np.unique(one[one >= 0]):
            row[one == document] = np.arange((one == document).sum())
    return found


def ends_of(ids):
    """Cumulative lengths of documents end to end; in each row other ids."""
    borders = np.flatnonzero(np.diff(np.concatenate([row + 9 * n for n, row in enumerate(ids)])))
    return np.r_[0, borders + 1, sum(map(len, ids))]


@pytest.mark.parametrize("kind", ["positions", "seq_idx", "ends of tokens", "ends of entries", "numbers", "all"])
def test_packed_documents_with_padding(kind):
    mask = (ENTRIES >= 0).astype(int)
    of_tokens = ends_of([row[row >= 0] for row in ENTRIES])
    batch = {"positions": {"position_ids": positions_of(ENTRIES)}, "seq_idx": {"seq_idx": np.maximum(ENTRIES, 0)},
             "ends of tokens": {"cu_seqlens": of_tokens}, "ends of entries": {"cu_seqlens": [[0, 9, 16, T], [0, 9, 16, T]]},
             "numbers": {"attention_mask": ENTRIES + 1},
             "all": {"position_ids": positions_of(ENTRIES), "seq_idx": np.maximum(ENTRIES, 0), "cu_seq_lens_q": of_tokens}}[kind]
    subject = types.SimpleNamespace(shape=ENTRIES.shape, notes=[])
    found = _see_given.given(subject, {"attention_mask": mask, **batch}, None, None)
    assert (found.valid == (ENTRIES >= 0)).all() and subject.notes[0] == "padding: where attention_mask is 0"
    for row, wanted in zip(found.ids, ENTRIES):
        assert ((row[:, None] == row) == (wanted[:, None] == wanted)).all()
    assert ("cu_seq_lens_q and seq_idx and position_ids, which agree" in subject.notes[1]) == (kind == "all")


@pytest.mark.parametrize("batch, words", [
    ({"position_ids": np.r_[0:9, 0:7, 0:8], "cu_seqlens": [0, 9, T]}, "cu_seqlens and position_ids one has a document start at token 16 of entry 0, the other not"),
    ({"seq_idx": IDS, "cu_seqlens": [0, 9, 17, T]}, "token 16 of entry 0, the other not; make them agree, or give segments"),
    ({"seq_idx": IDS - 1, "attention_mask": np.ones((1, T), int)}, "attention_mask keeps token 0 of entry 0, which seq_idx puts in no document"),
    ({"cu_seqlens": [0, 9, 20], "attention_mask": np.ones((1, T), int)}, "cu_seqlens ends at 20; expected 24, the tokens that attention_mask keeps, or 24"),
])
def test_what_says_documents_otherwise_is_refused(batch, words):
    test_documents_of_a_batch_are_read_or_refused(batch, words)


def test_positions_that_go_on_say_nothing_of_documents():
    found, notes = read({"position_ids": np.arange(T), "seq_idx": IDS})
    assert found.has_documents and "position_ids go on over the borders of documents" in notes


def test_ends_of_a_batch_are_of_all_its_tokens():
    subject = types.SimpleNamespace(shape=(2, T), notes=[])
    found = _see_given.given(subject, {"cu_seqlens": [0, 9, T, T + 5, 2 * T]}, None, None)
    assert [len(np.unique(row)) for row in found.ids] == [2, 2] and found.ids[1, 5] != found.ids[1, 4]
    with pytest.raises(Error, match="cu_seqlens ends at 24; expected 48, all tokens of the batch; or give segments"):
        _see_given.given(subject, {"cu_seqlens": [0, T]}, None, None)
