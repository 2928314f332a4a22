"""Two runs that were captured, of a trainer and a sampler say, compared layer by layer and position by position."""

import dataclasses

import numpy as np

from maskctl._mask import Mask
from maskctl._native import Error, printable


@dataclasses.dataclass
class LayerDiff:
    """Layers whose masks differ in the same way. answer: what Mask.diff() says, A being the mask of the first run;
    first: (query, key, the run in which it is open, "A" or "B"), by positions."""

    layers: list
    answer: object
    first: tuple


class RunDiff:
    """The answer of run.diff(other): true if each layer has the same mask in both runs. `differences` has a LayerDiff
    for each way in which masks differ, `only` the layers that one run lacks, `notes` what was not compared."""

    def __init__(self, a, b):
        self.equal, self.differences, self.only, self.notes = [], [], [], []
        for layer in a.layers:
            if layer in b.layers:
                self._compare(layer, a, b)
        self.only = [layer for layer in a.layers if layer not in b.layers] + [layer for layer in b.layers if layer not in a.layers]
        for run, name in ((a, "A"), (b, "B")):
            self.notes += [f"{layer} was not read in {name}: {why}" for layer, why in run.unread.items()]
        if not self.equal and not self.differences:
            raise Error("diff: no layer was read in both runs")

    def _compare(self, layer, a, b):
        masks = a._of_layer[layer], b._of_layer[layer]
        if 1 in map(len, masks):
            pairs = [(one, other) for one in masks[0] for other in masks[1]]
        elif len(masks[0]) == len(masks[1]):
            pairs = list(zip(*masks))
        else:
            self.notes.append(f"of {layer} the last masks alone were compared: {len(masks[0])} in A, {len(masks[1])} in B")
            pairs = [(masks[0][-1], masks[1][-1])]
        for one, other in pairs:
            mask_a, mask_b, moved = _aligned(one, other)
            if mask_a is None:
                self.notes.append(f"{layer} was not compared: {moved}")
                return
            answer = mask_a.diff(mask_b)
            if not answer:
                self._add(layer, answer, moved)
                return
        self.equal.append(layer)

    def _add(self, layer, answer, moved):
        first = answer.first
        place = (first["query"] + moved, first["key"], first["open_in"].upper())
        known = next((one for one in self.differences if one.answer.text == answer.text), None)
        if known is None:
            self.differences.append(LayerDiff([layer], answer, place))
        else:
            known.layers.append(layer)

    def __bool__(self):
        return not (self.differences or self.only or self.notes)

    def __str__(self):
        lines = []
        for one in self.differences:
            query, key, where = one.first
            more = f" and {len(one.layers) - 1} more" if len(one.layers) > 1 else ""
            lines.append(f"{one.layers[0]}{more}: the masks differ first at query {query}, key {key}, which is open in {where}")
            lines += [f"    {line}" for line in one.answer.text.splitlines()]
        if self.only:
            lines.append(f"{self.only[0]}{f' and {len(self.only) - 1} more' if len(self.only) > 1 else ''}: in one run only")
        lines += [f"note: {note}" for note in self.notes]
        if self.equal:
            lines.append(f"{len(self.equal)} layer{'s have' if len(self.equal) > 1 else ' has'} the same mask in both runs"
                         + ("; what else differs is beside the masks, as rounding is" if self else ""))
        return "\n".join(map(printable, lines))

    __repr__ = __str__


def _aligned(a, b):
    """Both masks, cut to the positions that both have, and the position of their first query. Queries are the last
    tokens of the keys of a run."""
    if a.shape[2:] == b.shape[2:]:
        return a, b, a.shape[3] - a.shape[2]
    begin = max(one.shape[3] - one.shape[2] for one in (a, b))
    end = min(one.shape[3] for one in (a, b))
    if begin >= end:
        return None, None, f"queries {a.shape[3] - a.shape[2]}-{a.shape[3] - 1} in A, {b.shape[3] - b.shape[2]}-{b.shape[3] - 1} in B"
    cut = [one[:, :, begin - (one.shape[3] - one.shape[2]):end - (one.shape[3] - one.shape[2]), :end] for one in (a, b)]
    return *cut, begin


@dataclasses.dataclass
class Split:
    """How much of the difference of two outputs is mask: root mean squares of the whole difference, of what the other
    mask alone makes of the same queries, keys and values, and of what is left."""

    whole: float
    mask: float
    rest: float

    def __str__(self):
        return (f"outputs differ by {self.whole:.3g}; the other mask alone makes {self.mask:.3g} of it, and {self.rest:.3g} is left"
                if self.whole else "the outputs are equal")


def split_outputs(mask_a, mask_b, query, key, value, out_a, out_b, scale=None):
    """How much of the difference of two outputs [B, T, H, D] is the difference of their masks: attention in float64
    under either mask, with the queries, keys and values of run A."""
    q, k, v, a, b = (np.asarray(one, np.float64) for one in (query, key, value, out_a, out_b))
    if q.ndim != 4 or k.ndim != 4 or v.ndim != 4 or a.shape != b.shape or a.shape[:3] != q.shape[:3]:
        raise Error(f"split_outputs: query {q.shape}, key {k.shape}, value {v.shape}, outputs {a.shape} and {b.shape}; expected "
                    "[B, T, H, D], and outputs for each query")
    if q.shape[2] % k.shape[2]:
        raise Error(f"split_outputs: {q.shape[2]} heads of queries and {k.shape[2]} of keys")
    k, v = (np.repeat(one, q.shape[2] // one.shape[2], 2) for one in (k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    made = [_attended(scores, v, mask) for mask in (mask_a, mask_b)]
    of_mask, whole = made[1] - made[0], b - a
    return Split(*(float(np.sqrt(np.mean(one ** 2))) for one in (whole, of_mask, whole - of_mask)))


def _attended(scores, value, mask):
    mask = mask if isinstance(mask, Mask) else Mask(mask, "dense")
    open_cells = np.broadcast_to(np.asarray(mask).reshape(mask.shape), scores.shape)
    masked = np.where(open_cells, scores, -np.inf)
    top = masked.max(-1, keepdims=True)
    weights = np.exp(masked - np.where(np.isfinite(top), top, 0))
    total = weights.sum(-1, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", weights / np.where(total > 0, total, 1), value)
