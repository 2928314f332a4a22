"""What see is told about tokens: the document of each, and which are padding."""

import dataclasses

import numpy as np

from maskctl._mask import Mask
from maskctl._native import Error

_ENDS = ("cu_seq_lens_q", "cu_seqlens_q", "cu_seqlens")
_SAYS = {"position_ids": "where position_ids start over", "seq_idx": "of seq_idx in the batch",
         "attention_mask": "of the numbers in attention_mask"}


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
    padding = _of_shape("attention_mask", _array("attention_mask", padding), shape) if getattr(padding, "ndim", 0) == 2 else None
    absent = ["segments"] if segments is None else []
    if valid is not None:
        tokens, source = _valid(valid, shape), "valid"
    elif padding is not None:
        tokens, source = padding != 0, "attention_mask"
        if not tokens.all():
            subject.notes.append("padding: where attention_mask is 0")
    else:
        tokens, source = np.ones(shape, bool), None
        absent.append("valid")
    _not_all_padding(tokens, f"{source} is 0")
    if segments is None:
        ids = _documents(subject, {**named, "attention_mask": padding}, shape, tokens, source)
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


def _documents(subject, named, shape, tokens, source):
    """The documents [B, T] that the batch says, as the library reads them, or None. source: which argument says that
    these are the tokens, or None."""
    said = {name: ids for name, ids in _said(subject, named, shape, tokens, source).items() if ids is not None}
    if not said:
        return None
    starts = {name: _starts(ids, tokens) for name, ids in said.items()}
    if len(said) > 1 and "position_ids" in said and not starts["position_ids"].any() and any(one.any() for one in starts.values()):
        del said["position_ids"]
        subject.notes.append("position_ids go on over the borders of documents")
    first, *others = said
    for name, ids in said.items():
        _refuse(starts[first] != starts[name], f"of {first} and {name} one has a document start at {{}}, the other not")
        if source is not None:
            _refuse(tokens & (ids < 0), f"{source} keeps {{}}, which {name} puts in no document")
    subject.notes.append("documents: " + (f"of {' and '.join(said)}, which agree" if others else _SAYS.get(first, "of cumulative lengths in the batch")))
    return said[first]


def _said(subject, named, shape, tokens, source):
    """{argument: the documents that it says}."""
    found = {}
    name = next((name for name in _ENDS if named.get(name) is not None), None)
    if name is not None:
        found[name] = _of_ends(name, _array(name, named[name]), shape, tokens, source)
    if named.get("seq_idx") is not None:
        found["seq_idx"] = _of_shape("seq_idx", _integers("seq_idx", named["seq_idx"]), shape).astype(np.int64)
    numbers = named["attention_mask"]
    if numbers is not None and numbers.dtype.kind in "iu" and numbers.max() > 1:
        found["attention_mask"] = np.where(numbers > 0, numbers.astype(np.int64), -1)
    if named.get("position_ids") is None:
        return found
    positions = _integers("position_ids", named["position_ids"])
    if positions.ndim > 2:
        subject.notes.append(f"position_ids of {positions.ndim} axes are not read; give segments")
        return found
    positions = positions.astype(np.int64)
    if positions.shape == (1, shape[1]):
        positions = positions[0]
    positions = _of_shape("position_ids", positions, shape)
    found["position_ids"] = _read("position_ids", np.where(tokens, positions, -1), "positions")
    return found


def _of_ends(name, ends, shape, tokens, source):
    """The documents of cumulative lengths: of each entry, of all tokens of the batch, or of those that are no padding."""
    if ends.ndim == 2 and len(ends) == shape[0]:
        return np.concatenate([_read(name, row, "cu_seqlens", shape[1]) for row in ends])
    count, last = int(tokens.sum()), int(ends[-1]) if ends.ndim == 1 and ends.size and ends.dtype.kind in "iu" else None
    if source is not None and last == count:
        ids = np.full(shape, -1)
        ids[tokens] = _read(name, ends, "cu_seqlens", count)[0]
        return ids
    if last is not None and last < tokens.size and (source is not None or shape[0] > 1):
        of = f"{count}, the tokens that {source} keeps, or " if source is not None else ""
        raise Error(f"see: {name} ends at {last}; expected {of}{tokens.size}, all tokens of the batch; or give segments")
    return _read(name, ends, "cu_seqlens", tokens.size).reshape(shape)


def _starts(ids, tokens):
    """[B, T]: where a token is of another document than the token before it, padding left out."""
    found = np.zeros(ids.shape, bool)
    for row, one, of in zip(found, ids, tokens):
        places = np.flatnonzero(of)
        row[places[1:]] = one[places[1:]] != one[places[:-1]]
    return found


def _refuse(where, words):
    """An Error at the first place, if there is one."""
    if where.any():
        entry, token = np.argwhere(where)[0]
        raise Error(f"see: {words.format(f'token {token} of entry {entry}')}; make them agree, or give segments")


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

