"""Masks by the layers of a model."""

from collections import deque

from maskctl import _native
from maskctl._mask import Mask


class Seen:
    """The masks that layers applied. Iterating gives each mask once, named after its layers;
    seen["model.layers.0.self_attn"] is the last one of that layer."""

    def __init__(self):
        self._distinct = []  # (mask, names of its layers)
        self._alike = {}  # by shape and number of open cells
        self._recent = deque(maxlen=4)  # (what was read, the mask that is kept of it with its layers)
        self._of_layer = {}  # the distinct masks of each layer
        self.unread = {}  # why a mask of a layer was not read

    def _add(self, layer, cells):
        """The mask that is kept for these cells."""
        mask = cells if isinstance(cells, Mask) else Mask(cells, "dense", name=layer)
        source = mask._result_source()
        known = next((entry for read, entry in self._recent if read is source), None)
        if known is None:
            known = self._entry(mask)
            self._recent.append((source, known))
        mask, layers = known
        if layer not in layers:
            layers.append(layer)
            mask.name = joined(layers)
        masks = self._of_layer.setdefault(layer, [])
        masks[:] = [one for one in masks if one is not mask] + [mask]
        return mask

    def _entry(self, mask):
        """The mask that is equal, and the names of its layers."""
        alike = self._alike.setdefault((mask.shape, mask.count()), [])
        known = next((entry for entry in alike if entry[0] == mask), None)
        if known is None:
            known = (mask, [])
            alike.append(known)
            self._distinct.append(known)
        return known

    @property
    def layers(self):
        """The names of the layers, in the order in which they ran."""
        return list(self._of_layer)

    def __getitem__(self, layer):
        return self._of_layer[layer][-1]

    def __iter__(self):
        return iter([mask for mask, _ in self._distinct])

    def __len__(self):
        return len(self._distinct)

    def __str__(self):
        read = [f"{mask.name}: {'x'.join(map(str, mask.shape))}, {pattern(mask)}" for mask in self]
        read += [f"{layer}: not read: {reason}" for layer, reason in self.unread.items()]
        return "\n".join(map(_native.printable, read))

    __repr__ = __str__


def pattern(mask):
    """The mask in words: the pipeline that it may have come from."""
    found = mask.recognise()
    nearly = "" if found else "nearly " if found.pipeline else "no known pattern"
    return nearly + (found.pipeline or "every cell open" if found else found.pipeline or "")


def joined(layers):
    """"model.layers.0-2,4.self_attn" for four layers that differ in their first number."""
    return _native.layers_text(list(layers))
