"""Stand-ins for the tensors and numbers that code of `translate` computes with."""
import numpy as np


class Tensor(np.ndarray):
    def expand(self, *shape):
        return self

    def flatten(self, *_):
        return self

    def to(self, _):
        return self


def tensor(values, *_, **__):
    return np.asarray(values).view(Tensor)


class Scalar(int):
    """A number that is no vector, which nothing but an index may be."""


class Ssa:
    """CuTe's TensorSSA of one element, as the mask functions of flash-attn 4 use it: no Python number may meet it, a
    condition is no number, and it has no "not"."""

    def __init__(self, value, is_condition=False):
        self.value, self.is_condition = int(value), is_condition

    def __getitem__(self, index):
        assert index == 0 and not self.is_condition
        return Scalar(self.value)

    def condition(self):
        assert self.is_condition
        return bool(self.value)

    def __bool__(self):
        raise TypeError("a vector is not true or false")


def _ssa_operator(name, of_conditions, gives_condition):
    def operate(a, b):
        assert isinstance(b, Ssa) and a.is_condition == b.is_condition == of_conditions
        return Ssa(getattr(int, name)(a.value, b.value), gives_condition)
    setattr(Ssa, name, operate)


for _name in ("__add__", "__sub__", "__floordiv__", "__mod__"):
    _ssa_operator(_name, False, False)
for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
    _ssa_operator(_name, False, True)
for _name in ("__and__", "__or__"):
    _ssa_operator(_name, True, True)


class AuxTensor:
    """An array that a mask function reads, element by element."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, indices):
        indices = indices if isinstance(indices, tuple) else (indices,)
        assert len(indices) == self.values.ndim and all(type(i) in (int, Scalar) and i >= 0 for i in indices)
        return Scalar(self.values[tuple(map(int, indices))])


def scalar_to_ssa(value, dtype):
    assert type(value) in (int, Scalar) and dtype == "Int32"
    return Ssa(value)


class Sized:
    """q or k of some length: the axes that hold it in one library or another."""

    device = 0

    def __init__(self, length, batch):
        self.shape = {0: batch, 1: length, -2: length, -3: length}
