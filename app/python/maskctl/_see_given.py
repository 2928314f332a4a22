"""What see is told about tokens: the document of each, and which are padding."""

import dataclasses

import numpy as np

from maskctl._mask import Mask
from maskctl._native import Error

_ENDS = ("cu_seq_lens_q", "cu_seqlens_q", "cu_seqlens")


@dataclasses.dataclass
class Given:
    """ids [B, T]: the document of each token, -1 for padding; None: not known. valid [B, T]: no padding."""

    ids: np.ndarray
    valid: np.ndarray
    absent: list  # arguments that would say more

    @property
    def has_documents(self):
        """Whether a row has several."""
        return self.ids is not None and any(len(np.unique(row[row >= 0])) > 1 for row in self.ids)


def given(subject, batch, segments, valid):
    """What the arguments say, or else the batch, which the notes of the subject then name."""
    named = batch if hasattr(batch, "keys") else {}
    shape = tuple(subject.shape)
    padding = named.get("attention_mask")
    absent = ["segments"] if segments is None else []
    if valid is not None:
        tokens, source = _valid(valid, shape), "valid"
    elif getattr(padding, "ndim", 0) == 2:
        tokens, source = _of_shape("attention_mask", _array("attention_mask", padding), shape) != 0, "attention_mask"
        if not tokens.all():
            subject.notes.append("padding: where attention_mask is 0")
    else:
        tokens, source = np.ones(shape, bool), None
        absent.append("valid")
    _not_all_padding(tokens, f"{source} is 0")
    if segments is None:
        ids = _documents(subject, named, shape, tokens)
        if ids is not None and (tokens & (ids < 0)).any():
            subject.notes.append("padding: tokens that positions or cumulative lengths put in no document")
    else:
        ids = _of_shape("segments", _integers("segments", segments), shape).astype(np.int64)
    if ids is not None:
        tokens = tokens & (ids >= 0)
        _not_all_padding(tokens, "segments are below 0" if source is None else f"segments are below 0 or {source} is 0")
    found = Given(None if ids is None else np.where(tokens, ids, -1), tokens, absent)
    if ids is not None and not found.has_documents:
        subject.notes.append("one document in each row: documents were not asked about")
    return found


def _documents(subject, named, shape, tokens):
    """The documents that the batch says, as the library reads them, or None."""
    name = next((name for name in _ENDS if named.get(name) is not None), None)
    if name is not None and shape[0] == 1:
        subject.notes.append("documents: of cumulative lengths in the batch")
        return _read(name, _array(name, named[name]), "cu_seqlens", shape[1])
    if name is not None:
        subject.notes.append(f"{name} is not read for {shape[0]} entries; give segments")
    if named.get("position_ids") is None:
        return None
    positions = _integers("position_ids", named["position_ids"])
    if positions.ndim > 2:
        subject.notes.append(f"position_ids of {positions.ndim} axes are not read; give segments")
        return None
    positions = positions.astype(np.int64)
    if positions.shape == (1, shape[1]):
        positions = positions[0]
    positions = _of_shape("position_ids", positions, shape)
    subject.notes.append("documents: where position_ids start over")
    return _read("position_ids", np.where(tokens, positions, -1), "positions")


def _read(name, array, kind, tokens=None):
    try:
        return Mask(array, kind, name=name, shape=tokens).to("segments").astype(np.int64)
    except Error as error:
        raise Error(f"see: {error}") from None


def _array(name, one):
    try:
        return np.asarray(one.detach().cpu() if hasattr(one, "cpu") else one)
    except (TypeError, ValueError) as error:  # rows of several lengths, a dtype that numpy does not have
        raise Error(f"see: {name}: {' '.join(str(error).split())}; expected an array") from None


def _integers(name, one):
    array = _array(name, one)
    if array.dtype.kind not in "biu":
        raise Error(f"see: {name} of {array.dtype}; expected integers")
    return array


def _valid(one, shape):
    array = _of_shape("valid", _array("valid", one), shape)
    if array.dtype.kind not in "biuf":
        raise Error(f"see: valid of {array.dtype}; expected 1 for tokens and 0 for padding")
    other = array[(array != 0) & (array != 1)]
    if other.size:
        raise Error(f"see: valid holds {other[0]}; expected 1 for tokens and 0 for padding")
    return array.astype(bool)


def _of_shape(name, array, shape):
    if array.shape == shape[1:]:
        array = np.broadcast_to(array, shape)
    if array.shape != shape:
        raise Error(f"see: {name} of shape {array.shape} for tokens {shape[0]} x {shape[1]}")
    return array


def _not_all_padding(tokens, why):
    if not tokens.any():
        raise Error(f"see: {why} everywhere, so that all is padding; expected tokens")

