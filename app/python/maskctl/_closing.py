"""Which numbers of scores or of a bias close a cell."""

import dataclasses

import torch

# A key whose score is 20 below the largest has a weight of 2e-9. Masks add numbers lower than this.
_SMALL = -20
# Between the numbers of closed cells and those of open cells there is a gap. A gap of at least 40 that is as wide as
# the range of the numbers above it counts as one. A gap below 20, or below a quarter of that range, does not. Between
# these, the cells are undecided, unless the closed ones hold the lowest number of the dtype.
_NO_STEP, _STEP = 20, 40
_FAR = 5000  # scores that are lower than this are no products, and need nothing above them
# Numbers below -60 without a gap, where nothing else is closed, come from a wide product of queries and keys, or hide a
# mask. If they fall evenly with the distance between query and key (as ALiBi does, with deviations up to 30), they hide
# none.
_WIDE, _EVEN = -60, 30
_BINS = 1 << 17  # of width 1; lower numbers share the last one
_AT_ONCE = 1 << 24


@dataclasses.dataclass
class Closing:
    """The cells of numbers [.., Q, K] that are open, how many cannot be told, and what closed the others."""

    open: torch.Tensor
    unknown: int
    words: str


def closing(numbers):
    """What numbers that reach a softmax, or are added to what does, close."""
    lowest = torch.finfo(numbers.dtype).min / 2
    least = float(numbers.amin()) if numbers.numel() else 0
    words = "closed at the lowest number" if least <= lowest else "none closed"
    if least == least:
        open_ = numbers > lowest
        if least == 0 and bool(((numbers == 0) | (numbers == 1)).all()) and bool((numbers == 1).any()):
            words = "none closed: they are 0 and 1, as of a bool mask that is added"
        if least >= _SMALL or _equal(open_, numbers >= _SMALL):
            return Closing(open_, 0, words)
    else:
        open_ = ~(numbers <= lowest)  # NaN is not closed
    smallest, unknown = _smallest(numbers, open_)
    if smallest >= _SMALL:
        return Closing(open_, unknown, words)
    below, width = _step(numbers, open_)
    if below is None or (width is not None and least <= lowest):
        is_told = smallest > _WIDE or least <= lowest or _falls_with_distance(numbers, open_)
        hidden = 0 if is_told else int((open_ & (numbers <= _SMALL)).sum())
        words = f"{words}, no step down to {smallest:.4g}"
        return Closing(open_, unknown + hidden, f"{words}, {hidden} cells cannot be told" if hidden else words)
    closed = open_ & (numbers <= below)
    near = int(closed.sum())
    if width is not None:
        return Closing(open_, unknown + near, f"{near} cells at {below} and below cannot be told")
    below = float(numbers.masked_fill(~closed, -torch.inf).amax())
    return Closing(open_ & ~closed, unknown, f"closed at {below:.4g} and below")


def _equal(one, other):
    """torch.equal of bools, eight at once: it is the largest part of the time."""
    if one.numel() % 8 == 0 and one.is_contiguous() and other.is_contiguous():
        one, other = (cells.reshape(-1).view(torch.int64) for cells in (one, other))
    return torch.equal(one, other)


def _smallest(numbers, open_):
    """The smallest number of the open cells, 0 without one, and how many cells are NaN."""
    smallest = float(numbers.masked_fill(~open_, 0).amin())
    if smallest == smallest:
        return smallest, 0
    rest = numbers.masked_fill(~open_ | numbers.isnan(), 0)
    return float(rest.amin()), int(numbers.isnan().sum())


def _step(numbers, open_):
    """(the number at and below which cells are closed, None), or (it, the width) where that is not sure,
    or (None, None) without a step."""
    counts = torch.zeros(_BINS, dtype=torch.long, device=numbers.device)
    for values, of in zip(numbers.reshape(-1).split(_AT_ONCE), open_.reshape(-1).split(_AT_ONCE)):
        values = values[of & ~values.isnan()].float()
        counts += torch.bincount((-values).clamp(0, _BINS - 1).long(), minlength=_BINS)
    filled = counts.nonzero()[:, 0]
    if int(filled[0]) >= _FAR:
        filled = torch.cat([filled.new_zeros(1), filled])
    widths = filled.diff()
    if not len(widths):
        return None, None
    at = int(widths.argmax())
    width, upper, lower = int(widths[at]), int(filled[at]), int(filled[at + 1])
    if width < max(_NO_STEP, upper // 4):
        return None, None
    return -lower, (None if width >= max(_STEP, upper) else width)


def _falls_with_distance(numbers, open_):
    """Whether the numbers of each head are those of the distance between query and key, nearly."""
    *_, queries, keys = numbers.shape
    diagonal = torch.arange(keys, device=numbers.device) - torch.arange(queries, device=numbers.device)[:, None] + queries - 1
    for values, of in zip(numbers.reshape(-1, queries, keys), open_.reshape(-1, queries, keys)):
        values, at = values[of].float(), diagonal[of]
        ends = [values.new_full((queries + keys,), end).scatter_reduce(0, at, values, how)
                for end, how in ((-torch.inf, "amax"), (torch.inf, "amin"))]
        if bool((ends[0] - ends[1] > 2 * _EVEN).any()):
            return False
    return True
