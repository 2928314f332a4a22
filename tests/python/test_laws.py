"""What a mask says of itself in different ways cannot contradict, for masks that are drawn, whatever
becomes of the arrays that they were made of."""

import copy
import pickle
import random

import numpy as np
import pytest
from makers import bias

from maskctl import Mask

SETS = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "sub": lambda a, b: a - b}
STEPS = ["causal:align=top-left", "window:left=2,right=1,align=bottom-right", "not", "open:q=0", "close:k=1", "prefix:n=2"]


class Drawing:
    """Draws masks of one shape. Each is made of arrays that are kept in `given`, and its cells are
    computed beside it by numpy."""

    def __init__(self, seed):
        self.draw, self.given, self.names = random.Random(seed), [], 0
        self.numbers = np.random.default_rng(seed)
        self.shape = tuple(self.draw.choice(extents) for extents in ((1, 1, 2), (1, 1, 3), (1, 4, 7), (1, 5, 66)))

    def kept(self, values):
        self.given.append(np.array(values))
        return self.given[-1]

    def cells(self, *shape):
        return self.numbers.random(shape or self.shape) < self.draw.random()

    def mask(self, depth=0):
        """(mask, cells)."""
        draws = [self.dense, self.biased, self.ids, self.lists]
        if depth < 3:
            draws += [self.combined, self.stepped, self.opposite, self.part, self.copied]
        return self.draw.choice(draws)(depth + 1)

    def dense(self, _):
        cells = self.cells()
        dtype = self.draw.choice(["bool", "u1", "i4", "f8"])
        values = self.kept(cells.astype(dtype))
        if self.draw.random() < 0.3:  # which lie in another order
            self.given[-1] = values = np.asfortranarray(values)
        return Mask(values, "dense"), cells

    def biased(self, _):
        cells = self.cells()
        return Mask(self.kept(bias(cells)), "bias"), cells

    def ids(self, _):
        b, h, q, k = self.shape
        queries, keys = (self.numbers.integers(-1, 3, (b, n)) for n in (q, k))
        cells = (queries[:, None, :, None] == keys[:, None, None]) & (queries >= 0)[:, None, :, None]
        mask = Mask.from_segments(self.kept(queries), self.kept(keys))
        return mask | Mask(np.zeros(self.shape, bool), "dense"), np.broadcast_to(cells, self.shape)

    def lists(self, _):
        cells = self.cells()
        return Mask(cells.tolist(), "dense"), cells

    def combined(self, depth):
        (a, x), (b, y) = self.mask(depth), self.mask(depth)
        name = self.draw.choice([*SETS])
        return SETS[name](a, b), x & ~y if name == "sub" else SETS[name](x, y)

    def stepped(self, depth):
        mask, cells = self.mask(depth)
        q, k = np.arange(self.shape[2])[:, None], np.arange(self.shape[3])
        step = self.draw.choice([*STEPS, "and", "doc"])
        self.names += 1
        if step == "and":
            other = self.cells()
            given = self.kept(other)
            given = {f"x{self.names}": Mask(given, "dense") if self.draw.random() < 0.5 else given}
            return mask.apply(f"and:x{self.names}", **given), cells & other
        if step == "doc":
            queries, keys = (self.numbers.integers(0, 3, n) for n in self.shape[2:])
            given = {f"q{self.names}": self.kept(queries), f"k{self.names}": self.kept(keys)}
            return mask.apply(f"doc:q=q{self.names},kv=k{self.names}", **given), cells & (queries[:, None] == keys)
        end = q + self.shape[3] - self.shape[2]
        of_step = [cells & (k <= q), cells & (k >= end - 2) & (k <= end + 1), ~cells, cells | (q == 0), cells & (k != 1),
                   cells | (k < 2)]
        if self.shape[3] == 1:  # some steps would name a key that is not there
            return mask, cells
        return mask.apply(step), of_step[STEPS.index(step)]

    def opposite(self, depth):
        mask, cells = self.mask(depth)
        return ~mask, ~cells

    def part(self, depth):
        mask, cells = self.mask(depth)
        whole = tuple(slice(0, n) for n in self.shape)
        return mask[whole], cells

    def copied(self, depth):
        mask, cells = self.mask(depth)
        how = self.draw.choice([copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
        return how(mask), cells


def pairs_of(mask, cells, draw):
    """What indexing and why() say of some pairs, which has to be what the cells say."""
    said = []
    for _ in range(4):
        at = tuple(draw.randrange(n) for n in cells.shape)
        batch, head, query, key = at
        why = mask.why(query, key, batch=batch, head=head)
        assert mask[at] is bool(cells[at]) is bool(why) 
        assert why.text.splitlines()[0].endswith(": open" if cells[at] else ": closed")
        said.append((at, why.text))
    return said


def said_of(mask, cells):
    same, other = Mask(np.ascontiguousarray(cells), "dense"), cells.copy()
    other.flat[cells.size // 2] ^= True
    total = mask.stats().total
    assert mask.shape == cells.shape
    assert mask.count() == total["open"] == cells.sum() == (mask & same).count() == (mask | same).count()
    assert total["empty_rows"] == (~cells.any(-1)).sum() and total["full_rows"] == cells.all(-1).sum()
    assert np.array_equal(np.asarray(mask).reshape(cells.shape), cells)
    assert mask == same == mask and not mask != same and mask != Mask(other, "dense")
    assert mask.diff(same) and same.diff(mask) and mask.diff(Mask(other, "dense")).status == 1
    assert (mask ^ same).count() == (mask - same).count() == 0 and (~mask).count() == cells.size - cells.sum()
    assert f", {cells.sum()} open>" in repr(mask)
    shown = str(mask.show(batch=0, head=0))
    assert f" {cells[0, 0].sum()} open" in shown
    return shown, str(mask.check()), mask.pipeline, mask.kind


@pytest.mark.parametrize("seed", range(40))
def test_a_mask_agrees_with_itself_and_with_numpy(seed):
    drawing = Drawing(seed)
    for _ in range(2):
        mask, cells = drawing.mask()
        cells = cells.copy()
        first = said_of(mask, cells), pairs_of(mask, cells, random.Random(seed))
        for values in drawing.given:
            values[...] = values + 1 if values.dtype != bool else ~values
        assert (said_of(mask, cells), pairs_of(mask, cells, random.Random(seed))) == first
