"""What stands in the brackets of mask[...]."""

import operator


def ranges_of(index, extents):
    """[(begin, end)] of each axis, and whether all of them are numbers."""
    index = index if isinstance(index, tuple) else (index,)
    given = sum(one is not Ellipsis for one in index)
    if given > len(extents) or len(index) - given > 1:
        raise IndexError(f"too many indices: a mask has {len(extents)} axes")
    rest = (slice(None),) * (len(extents) - given)
    at = next((at for at, one in enumerate(index) if one is Ellipsis), len(index))
    full = index[:at] + rest + index[at + 1:]
    is_pair = not any(isinstance(one, slice) for one in full)
    return [_range(*one) for one in zip("bhqk", full, extents)], is_pair


def _range(axis, one, extent):
    if isinstance(one, slice):
        begin, end, step = one.indices(extent)
        if step != 1:
            raise IndexError(f"{axis}: a slice with step {step}; expected step 1")
        return begin, max(begin, end)
    try:
        begin = operator.index(one)
    except TypeError:
        raise IndexError(f"{axis}: a {type(one).__name__}; expected a whole number or a slice") from None
    if not -extent <= begin < extent:
        raise IndexError(f"{axis}: {begin} is out of range: the mask has {extent}")
    begin %= extent
    return begin, begin + 1
