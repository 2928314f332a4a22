"""What mask_mods say, which are called for every cell."""

import sys

from maskctl import _native
from maskctl._arrays import host
from maskctl._mask import Mask
from maskctl._native import Error

_CELLS_AT_ONCE = 1 << 24


def cells_of(name, block_mask, mask_mod, *extents):
    """[B, H, Q, K]: what a mask_mod says of every pair, on the device of a BlockMask."""
    home = sys.modules[type(block_mask).__module__]  # torch's module, which has create_mask
    device = str(getattr(block_mask.kv_num_blocks, "device", "cpu"))
    try:
        return home.create_mask(mask_mod, *(int(n) for n in extents), device=device)
    except Exception as raised:
        raise Error(_native.printable(f"{name}: its mask_mod raised {type(raised).__name__}: {raised}")) from raised


def mask_of(name, block_mask, mask_mod, extents):
    """The Mask [B, H, Q, K] of what a mask_mod says of every pair, and notes."""
    kind, array, notes = array_of(name, block_mask, mask_mod, extents)
    made = Mask(array, kind, name=name, shape=extents if kind == "bits" else None)
    made.notes = notes + made.notes
    return made


def array_of(name, block_mask, mask_mod, extents):
    """(kind, array, notes) of what a mask_mod says of every pair: all at once, or bits, for which it is called for
    some rows of one head at a time."""
    batch, heads, queries, keys = extents = tuple(map(int, extents))
    if batch * heads * queries * keys <= _CELLS_AT_ONCE:
        return "dense", *host(name, cells_of(name, block_mask, mask_mod, *extents))
    rows, bits, notes, count = max(1, _CELLS_AT_ONCE // keys), bytearray(), [], 0
    for head in range(batch * heads):
        for begin in range(0, queries, rows):
            end = min(begin + rows, queries)
            part = _shifted(mask_mod, *divmod(head, heads), begin)
            cells, notes = host(name, cells_of(name, block_mask, part, 1, 1, end - begin, keys))
            more = (end - begin) * keys
            _append(bits, count, bytes(memoryview(Mask(cells, "dense")._arrays_of("bits", {})[0][1])), more)
            count += more
    return "bits", memoryview(bits), notes


def _shifted(mask_mod, batch, head, query):
    return lambda b, h, q, k: mask_mod(b + batch, h + head, q + query, k)


def _append(bits, count, more, added):
    """Puts `added` bits behind the `count` that there are."""
    used = count % 8
    if not used:
        bits += more
        return
    number = int.from_bytes(more, "little") << used
    bits[-1] |= number & 255
    bits += (number >> 8).to_bytes((count + added + 7) // 8 - len(bits), "little")
