"""Caches of transformers followed while a model runs: which token each slot holds."""

import copy
import dataclasses
import functools
import sys
import threading
import weakref

import numpy as np
import torch

from maskctl import _eyes
from maskctl._bindings import Bindings


@dataclasses.dataclass(frozen=True)
class Held:
    """What a cache gave back in one step: runs of slots (slot, token, count) that hold tokens, of `slots` slots, for
    `queries` queries, the first of which is token `first`."""

    first: int
    queries: int
    slots: int
    runs: tuple

    def tokens(self):
        """The token of each slot, -1 where it holds none."""
        out = np.full(self.slots, -1, np.int32)
        for slot, token, count in self.runs:
            out[slot:slot + count] = np.arange(token, token + count)
        return out

    @property
    def is_plain(self):
        """Whether slot k holds token k, up to the last query."""
        return self.first + self.queries == self.slots and self.runs == ((0, 0, self.slots),)


_lock = threading.RLock()
_following = []  # all that follow
_bindings = Bindings()


def _exchange():
    """Has the methods of caches of transformers tell all that follow."""
    cache = getattr(sys.modules.get("transformers.cache_utils"), "Cache", None)
    for name, told in (("update", _told_update), ("crop", _told), ("reset", _told)):
        if hasattr(cache, name):
            _bindings.attribute(cache, name, told(getattr(cache, name)))


def _told_update(update):
    @functools.wraps(update)
    def watched(cache, keys, values, layer_idx, *arguments, **keywords):
        beside = [(one, one.seen(cache, layer_idx)) for one in list(_following)]
        out = update(cache, keys, values, layer_idx, *arguments, **keywords)
        for one, layer in beside:
            one.write(layer, keys, arguments, keywords)
        return out

    return watched


def _told(method):
    @functools.wraps(method)
    def watched(cache, *arguments, **keywords):
        for one in list(_following):
            getattr(one, method.__name__)(cache)
        return method(cache, *arguments, **keywords)

    return watched


class Followed:
    """Caches beside those of a model, of the same classes, into which positions go instead of keys. What a cache gave
    back is noted in the frame of the module that asked it. A cache is not followed that has tokens when it is first
    seen, or that was cropped."""

    def __init__(self):
        self._beside = weakref.WeakKeyDictionary()  # cache -> {layer: [layer of positions or None, tokens seen]}

    def begin(self):
        with _lock:
            if not _following:
                _exchange()
            _following.append(self)

    def end(self):
        with _lock:
            _following.remove(self)
            if not _following:
                _bindings.restore()

    def crop(self, cache):
        for beside in self._beside.get(cache, {}).values():
            beside[0] = None

    def reset(self, cache):
        self._beside.pop(cache, None)

    def seen(self, cache, layer_idx):
        """What is beside a layer, as its next update finds it."""
        try:
            layers = self._beside.setdefault(cache, {})
            if layer_idx not in layers:
                known = layer_idx < len(cache.layers)
                length = int(cache.layers[layer_idx].get_seq_length()) if known else 0
                made = copy.deepcopy(cache.layers[layer_idx]) if known and not length else None
                layers[layer_idx] = [_of_positions(made if known else cache.layer_class_to_replicate()), length]
            return layers[layer_idx]
        except Exception:  # a cache that is like none of transformers: it runs without us
            return [None, 0]

    def write(self, beside, keys, arguments, keywords):
        layer, seen = beside
        frame = next((one for one in reversed(_eyes._thread.frames) if one.module is not None), None)
        if layer is None or frame is None:
            return
        try:
            count = keys.shape[-2]
            with _eyes._quietly():
                # A slot of zeros holds no token, so that token p is p + 1.
                numbers = torch.arange(seen + 1, seen + count + 1, dtype=torch.float64).reshape(1, 1, -1, 1)
                tokens = layer.update(numbers, numbers.clone(), *arguments, **keywords)[0].reshape(-1).numpy().astype(np.int64) - 1
            beside[1] = seen + count
            frame.held = Held(seen, count, len(tokens), _runs(tokens))
        except Exception:  # as in seen()
            beside[0] = None


def _of_positions(layer):
    if hasattr(layer, "_quantize"):  # positions are kept as they are
        layer._quantize = lambda tensor, *_, **__: (tensor, 1.0)
        layer._dequantize = lambda quantised: quantised[0]
    return layer


def _runs(tokens):
    ends = np.flatnonzero(np.diff(tokens) != 1) + 1
    parts = zip([0, *ends], [*ends, len(tokens)])
    singles = [(begin, end) for begin, end in parts if end > begin]
    return tuple((int(begin), int(tokens[begin]), int(end - begin)) for begin, end in singles if tokens[begin] >= 0)


def by_positions(mask, held):
    """The cells of a mask over slots, over tokens: its keys are all tokens up to the last query."""
    if held is None or held.is_plain:
        return mask, ""
    cells = np.asarray(mask).reshape(mask.shape)
    out = np.zeros((*cells.shape[:3], held.first + held.queries), bool)
    empty = np.ones(held.slots, bool)
    for slot, token, count in held.runs:
        out[..., token:token + count] |= cells[..., slot:slot + count]
        empty[slot:slot + count] = False
    opened = np.flatnonzero(empty & cells.any((0, 1, 2)))
    why = f"after {held.first} tokens slot {opened[0]} is open and holds no token" if len(opened) else ""
    return type(mask)(out, "dense", name=mask.name), why
