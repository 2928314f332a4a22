"""Parts of long rows that run by themselves: documents that nothing else reaches, each up to the last output that is
asked for. A run costs less the shorter it is, and many parts fit beside each other."""

import numpy as np

from maskctl import _see_matrix
from maskctl._see_probe import Probe

_SHORT = 256  # tokens of a row that is not worth it
_MOST = 0.75  # of a row
_NEAR = 64  # times the floor: rounding of other shapes


def amounts(probe, wanted, intervals):
    """The amounts [B, S, T] of the outputs that are wanted, and notes; intervals (begin, end): tokens that nothing
    else was seen to reach."""
    found, notes = np.zeros((*probe.shape, probe.shape[1]), np.float32), []
    wanted = wanted.copy()
    parts = _parts(probe, intervals)
    for begin, end, part in parts:
        own, note = _see_matrix.of_rows(part, wanted[:, begin:end])
        found[:, begin:end, begin:end] += own
        wanted[:, begin:end] = False
        probe.passes += part.passes
        probe.below, probe.least = max(probe.below, part.below), min(probe.least, part.least)
        notes += note
    if parts:
        notes.append(f"{len(parts)} part{'s' if len(parts) > 1 else ''} of the row ran alone, with the outputs that the whole has "
                     "before and after two changes")
    if wanted.any():
        own, note = _see_matrix.of_rows(probe, wanted)
        found += own
        notes += note
    return found, list(dict.fromkeys(notes))


def intervals(probe, wanted, ids, causal):
    """Those of documents, ids [B, T], the same in each entry, or else of the whole row; causal: what comes after the
    last output that is wanted is left out."""
    tokens = probe.shape[1]
    if tokens <= _SHORT or probe.unread.any() or (ids is not None and (ids != ids[:1]).any()):
        return []
    row = np.zeros(tokens, int) if ids is None else ids[0]
    borders = np.flatnonzero(np.diff(row)) + 1
    begins, ends = np.r_[0, borders], np.r_[borders, tokens]
    names = row[begins]
    if len(np.unique(names[names >= 0])) < (names >= 0).sum():  # a document in two places
        return []
    found = []
    for begin, end in zip(begins[names >= 0], ends[names >= 0]):
        outputs = np.flatnonzero(wanted[:, begin:end].any(0))
        if outputs.size:
            found.append((int(begin), int(begin + outputs[-1] + 1 if causal else end)))
    joined = _joined(found, tokens // 32)
    if causal:
        joined = [one for begin, end in joined for one in _beginnings(probe, wanted, begin, end)]
    return [(begin, end) for begin, end in joined if end - begin <= _MOST * tokens]


def _beginnings(probe, wanted, begin, end):
    """Where a pass asks about an output, those in the beginning of a part are asked with nothing behind them."""
    outputs = np.flatnonzero(wanted[:, begin:end].any(0))
    if not _see_matrix.by_outputs(probe, len(outputs), end - begin) or end - begin < 2 * _SHORT:
        return [(begin, end)]
    ends = {-(-(end - begin) * quarter // 4) for quarter in range(1, 5)}
    lasts = {int(outputs[outputs < one].max(initial=-1)) + 1 for one in ends}
    return [(begin, begin + last) for last in sorted(lasts - {0})]


def _joined(found, least):
    """The intervals, of which short ones are joined with those that follow."""
    joined = []
    for begin, end in found:
        if joined and end - joined[-1][0] <= least:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((begin, end))
    return joined


def _parts(probe, intervals):
    """(begin, end, the probe of the part) of those that run alone with the same outputs, changed or not."""
    if not intervals:
        return []
    some = np.random.default_rng(20260705).random(probe.subject.shape) < 0.5
    changes = [np.ones(probe.subject.shape, bool), some]
    wholes = [probe.outputs(one) for one in changes]
    found = []
    for begin, end in intervals:
        try:
            part = _part(probe, begin, end, changes, wholes)
        except Exception:  # of a model that takes rows of one length only
            break
        if part is not None:
            found.append((begin, end, part))
    return found


def _part(probe, begin, end, changes, wholes):
    subject = probe.subject.part(begin, end)
    part = None if subject is None else Probe(subject, probe.way)
    if part is None or part.shape != (probe.shape[0], end - begin) or (part.entries_mix and not probe.entries_mix):
        return None
    runs = [(part.plain, probe.plain)] + [(part.outputs(one[:, begin:end]), whole) for one, whole in zip(changes, wholes)]
    part.floor = max(part.floor, probe.floor)
    if part.entries_mix is None:
        part.entries_mix = probe.entries_mix
    near = all(_distance(own, whole[:, begin:end]) <= _NEAR * part.floor for own, whole in runs)
    return part if near else None


def _distance(one, other):
    """How far two runs are apart, of the larger, at the output where this is most."""
    if one.shape != other.shape:
        return np.inf
    size = np.maximum(np.sqrt((other ** 2).sum(-1)), np.sqrt((one ** 2).sum(-1)))
    away = np.sqrt(((one - other) ** 2).sum(-1))
    return float(np.nan_to_num(away / np.where(size > 0, size, 1), nan=np.inf).max(initial=0.0))
