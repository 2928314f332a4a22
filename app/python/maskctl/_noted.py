"""Calls of attention as they are seen, and the masks of those that are read."""

import dataclasses
from collections import deque

from maskctl._mask import Mask

_KEPT = 8  # recent masks cached with their tensors, so that equal ones are not read again


@dataclasses.dataclass
class Noted:
    """A call of attention."""

    function: str
    modules: list  # those that run, outermost first
    settled: bool = True  # it says its mask by itself, whatever it calls
    lengths: tuple = ()
    dtype: str = "-"
    given: dict = dataclasses.field(default_factory=dict)
    mask: Mask | None = None
    known: str = ""
    unknown: int = 0
    unread: str = ""
    samples: tuple | str | None = None  # of its rows, to be solved; or why there are none
    inner: list = dataclasses.field(default_factory=list)

    @property
    def whole(self):
        return self.mask is not None and not self.unknown

    def rows(self, innermost):
        """The calls that are rows: this one, or those that it made, where these are all read and asked
        for, or where this one does not say its mask."""
        inner = [row for one in self.inner for row in one.rows(innermost)]
        read = bool(inner) and all(row.whole for row in inner)
        if not inner or (self.whole and not (read and (innermost or not self.settled))):
            return [self]
        if len(inner) == 1:
            inner[0].samples = inner[0].samples or self.samples
        return inner


class Masks:
    """Masks of calls: what was read is not read again while its tensors are unchanged."""

    def __init__(self):
        self._of_steps = {}
        self._read = deque(maxlen=_KEPT)  # (key, traits of tensors, tensors, what was read)

    def of(self, asked):
        if asked.key is None:
            return asked.make()
        if not asked.tensors:
            if asked.key not in self._of_steps:
                self._of_steps[asked.key] = asked.make()
            return self._of_steps[asked.key]
        traits = [_traits(tensor) for tensor in asked.tensors]
        if None not in traits:
            for key, known, tensors, read in self._read:
                if key == asked.key and known == traits and known == [_traits(tensor) for tensor in tensors]:
                    return read
        read = asked.make()
        if None not in traits:
            self._read.append((asked.key, traits, asked.tensors, read))
        return read


def _traits(tensor):
    """What changes when the elements do; None where torch does not count changes."""
    if tensor.is_inference() or hasattr(tensor, "fake_mode") or not tensor.untyped_storage().nbytes():
        return None
    return tensor.data_ptr(), tensor._version, tensor.shape, tensor.stride(), tensor.dtype, tensor.device
