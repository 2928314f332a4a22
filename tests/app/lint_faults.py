"""Masks with a planted fault, in random sizes: the functions fault_*(rng) return the mask, the findings
of which one must be there, and its cells where their number is known."""
import numpy as np

from lint_sound import valid_chunked, valid_heads, valid_packed, valid_packed_sliding
from sound_parts import (causal, grid, ids_of, lengths, opened, pads, same_image, selected, size,
                         windowed)

STRAY = ("nearly", "future-part", "empty-rows", "plane-differs")


def long_lengths(rng, n):
    """Documents of 4 tokens or more."""
    count = min(n // 4, int(rng.integers(2, max(3, n // 8) + 1)))
    return 4 + rng.multinomial(n - 4 * count, np.full(count, 1 / count))


def base(rng, n):
    """A causal mask of one plane."""
    q, k = grid(n)
    ids = ids_of(long_lengths(rng, n))
    chunk = int(rng.integers(4, n))
    return [causal(n), causal(n) & (ids[:, None] == ids), (k <= q) & (q - k < rng.integers(4, n)),
            (k <= q) & (q // chunk == k // chunk)][rng.integers(4)]


def left_padded(rng, n, entries=2):
    first = np.append(0, rng.integers(2, n // 2, entries))[:, None, None]
    return causal(n) & (np.arange(n) >= first)


def stacked(rng, masks):
    """Planes as batch entries or as heads."""
    return masks[:, None] if rng.random() < 0.5 else masks[None]


def entries(rng, n):
    """Causal planes of one kind, at least three; some with opened padding."""
    q, k = grid(n)
    count = int(rng.integers(3, 7))
    if rng.random() < 0.3:
        mask = causal(n) if rng.random() < 0.5 else causal(n) & (q - k < max(2, n // 3))
        first = rng.integers(0, n // 2, (count, 1, 1))
        return opened(mask & (np.arange(n) >= first))
    if rng.random() < 0.3:
        ids = [ids_of(long_lengths(rng, n)) for _ in range(count)]
        return np.stack([causal(n) & (one[:, None] == one) for one in ids])
    return np.repeat(base(rng, n)[None], count, axis=0)


def fault_plane_full(rng):
    masks = entries(rng, size(rng, 8))
    masks[rng.integers(len(masks))] = True
    return stacked(rng, masks), ("plane-full",), None


def fault_entry_not_causal(rng):
    n = size(rng, 12)
    masks = np.repeat(causal(n)[None], 4, axis=0)
    ids = ids_of(lengths(rng, n, n // 3))
    masks[rng.integers(4)] = ids[:, None] == ids
    return masks[:, None], ("plane-future", "plane-differs", "future-part"), None


def fault_plane_differs(rng):
    """A window or a chunk that is off by one or two, or a causal mask that is."""
    n = size(rng, 16)
    q, k = grid(n)
    off, width = int(rng.integers(1, 3)), int(rng.integers(4, n - 4))
    usual, odd = [
        (windows(n, width), windows(n, width + off)),
        (windows(n, width), windows(n, width - off)),
        (causal(n), causal(n) & (k <= q - off)),
        (causal(n), causal(n) | ((k <= q + off) & (k >= n // 2))),
    ][rng.integers(4)]
    masks = np.repeat(usual[None], int(rng.integers(3, 8)), axis=0)
    masks[rng.integers(len(masks))] = odd
    return stacked(rng, masks), ("plane-differs", "plane-future", "future-part", "empty-rows"), None


def windows(n, width):
    q, k = grid(n)
    return (k <= q) & (q - k < width)


def fault_window_missing(rng):
    """One batch entry without the window that the others have."""
    n = size(rng, 16)
    masks = np.repeat(windows(n, int(rng.integers(2, n - 4)))[None], int(rng.integers(3, 7)), axis=0)
    masks[rng.integers(len(masks))] = causal(n)
    return masks[:, None], ("plane-differs",), None


def rectangle(rng, n):
    q0 = int(rng.integers(0, n // 2))
    rows = int(rng.integers(2, max(3, n // 5) + 1))
    k0 = int(rng.integers(q0 + rows, n - 1))
    columns = int(rng.integers(1, min(n - k0, max(2, n // 5)) + 1))
    return slice(q0, q0 + rows), slice(k0, k0 + columns)


def fault_rectangle(rng):
    n = size(rng, 16)
    mask = base(rng, n)
    out = mask.copy()
    out[rectangle(rng, n)] = True
    return out, ("future-part",), int((out & ~mask).sum())


def fault_rectangle_in_one(rng):
    n = size(rng, 16)
    masks = left_padded(rng, n, int(rng.integers(1, 4))) if rng.random() < 0.5 else np.repeat(
        base(rng, n)[None], int(rng.integers(2, 5)), axis=0)
    masks = opened(masks) if rng.random() < 0.5 else np.where(np.eye(n, dtype=bool), True, masks)
    out = masks.copy()
    at = int(rng.integers(len(out)))
    first = int(masks[at].all(-1)[:-1].sum())  # rows after those of opened padding
    q, k = rectangle(rng, n - first)
    out[at, first + q.start:first + q.stop, first + k.start:first + k.stop] = True
    return stacked(rng, out), ("future-part",), int((out & ~masks).sum())


def fault_column(rng):
    """A key of the future that some queries see: one that all see is a global token."""
    n = size(rng, 12)
    column = int(rng.integers(n // 2, n))
    first = int(rng.integers(2, column - 2))
    mask = base(rng, n)
    out = mask.copy()
    out[first:column, column] = True
    return out, ("future-part",), column - first


def fault_decode(rng):
    keys = size(rng)
    queries = 1 if rng.random() < 0.6 else int(rng.integers(2, max(3, keys // 2)))
    q, k = grid(queries, keys)
    mask = (k <= q - 1) & (q - k <= rng.integers(2, keys + 1))
    batch = int(rng.integers(1, 4))
    return np.broadcast_to(mask, (batch, 1, queries, keys)), ("own-key-closed",), None


def fault_axes(rng):
    """[B,S,1,S], of sequences of 2 tokens or more."""
    n, batch = size(rng), int(rng.integers(1, 3))
    real = pads(rng, n)
    real = real[real.sum(-1) > 1][:batch]
    mask = np.broadcast_to(causal(n), (len(real), n, n)) & real[:, None]
    return opened(mask)[:, :, None], ("axes-exchanged",), None


def fault_sparse_inverted(rng):
    block = int(rng.choice([4, 8, 16]))
    n = block * int(rng.integers(4, 9))
    if rng.random() < 0.5:
        return ~selected(rng, n, block), ("polarity",), None
    return ~(selected(rng, n, block).repeat(block, -1) & causal(n)), ("polarity",), None


def fault_images_joined(rng):
    n = size(rng, 12)
    groups = np.zeros(n, int)
    cuts = np.sort(rng.choice(np.arange(1, n), 4, replace=False))
    if cuts[2] == cuts[1]:
        cuts[2] += 1
    groups[cuts[0]:cuts[1]] = 1
    groups[cuts[2]:cuts[3]] = 1
    window = n if rng.random() < 0.5 else n // 2 + 1
    mask = windows(n, window) | same_image(groups)
    if rng.random() < 0.5:
        return mask, ("groups-joined", "future-part"), None
    masks = np.repeat(windows(n, window)[None], int(rng.integers(2, 5)), axis=0)
    masks[rng.integers(len(masks))] = mask
    return masks[:, None], ("groups-joined", "future-part"), None


def fault_empty_row(rng):
    n = size(rng, 9)
    mask = np.broadcast_to(causal(n), (int(rng.integers(1, 4)), 1, n, n)).copy()
    if rng.random() < 0.5:
        mask[0, 0, int(rng.integers(n))] = False
    else:
        last = int(rng.integers(1, n // 2))
        mask[0, 0, n - last:] = mask[0, 0, :, n - last:] = False
    return mask, ("empty-rows", "left-padding-nan", "padding-rows-empty"), None


def fault_left_padding(rng):
    return left_padded(rng, size(rng, 12))[:, None], ("left-padding-nan",), None


def fault_entry_closed(rng):
    n = size(rng)
    real = np.concatenate([pads(rng, n), np.zeros((1, n), bool)])
    return np.repeat(real[:, None, None], n, axis=2), ("plane-empty",), None


def fault_transposed(rng):
    n = size(rng, 12)
    prefix = causal(n) | (np.arange(n) < rng.integers(2, n // 2))
    lens = [n - n // 3, n // 3]
    two = causal(n) & (ids_of(lens)[:, None] == ids_of(lens))
    mask = [causal(n)[None, None], two[None, None], left_padded(rng, n)[:, None],
            prefix[None, None]][rng.integers(4)]
    return np.swapaxes(mask, -1, -2), ("anti-causal",), None


def fault_inverted(rng):
    n = size(rng, 12)
    right = causal(n) & (np.arange(n) < np.append(n, rng.integers(2, n, 2))[:, None, None])
    mask = [lambda: base(rng, n), lambda: right[:, None], lambda: left_padded(rng, n)[:, None],
            lambda: valid_chunked(rng), lambda: valid_packed(rng), lambda: valid_packed_sliding(rng),
            lambda: valid_heads(rng), lambda: windowed(rng, n)][rng.integers(8)]()
    return ~mask, ("polarity",), None


def fault_opened_rows(rng):
    """Rows before the last two: those may be a group of their own."""
    n = size(rng, 12)
    mask = base(rng, n)
    rows = int(rng.integers(1, 4))
    first = int(rng.integers(0, n - 1 - rows))
    mask[first:first + rows] = True
    if rng.random() < 0.7:
        return mask, ("rows-opened",), None
    masks = np.repeat(base(rng, n)[None], int(rng.integers(1, 4)), axis=0)
    return stacked(rng, np.concatenate([masks, mask[None]])), ("rows-opened",), None


def is_sound(mask, q, k):
    """Changing the cell makes another mask: the corner ends a window, a query that none sees may be a
    sibling of the token before it, neighbours may be a group, the last tokens may be padding."""
    n = len(mask)
    last = not mask[q + 1:, q].any()
    return ((q, k) in [(n - 1, 0), (n - 2, n - 2), (n - 1, n - 1)] or k == q + 1 or k == q - 1 and last)


def strays(rng, mask, wanted):
    """The mask with so many cells changed."""
    n = len(mask)
    out = mask.copy()
    done = 0
    while done < wanted:
        q, k = (int(x) for x in rng.integers(0, n, 2))
        if k > q and rng.random() < 0.7 or is_sound(mask, q, k) or out[q, k] != mask[q, k]:
            continue
        out[q, k] ^= True
        done += 1
    return out


def fault_stray_cells(rng):
    """Leaks and holes beside a causal mask."""
    mask = base(rng, size(rng, 24))
    return strays(rng, mask, int(rng.integers(1, 5))), STRAY, None


def fault_stray_cell_in_one(rng):
    n = size(rng, 24)
    mask = base(rng, n)
    masks = np.repeat(mask[None], int(rng.integers(2, 6)), axis=0)
    masks[rng.integers(len(masks))] = strays(rng, mask, 1)
    return stacked(rng, masks), STRAY, None


def fault_stray_cell_in_local(rng):
    """A mask without a direction: a band, documents, all open."""
    n = size(rng, 24)
    q, k = grid(n)
    ids = ids_of(long_lengths(rng, n))
    mask = [np.abs(q - k) <= rng.integers(3, n // 2), ids[:, None] == ids,
            np.ones((n, n), bool)][rng.integers(3)]
    out = mask.copy()
    at = rng.integers(1, n - 1, 2)
    out[tuple(at)] ^= True
    return out, STRAY, None


def fault_first_key(rng):
    return (np.arange(size(rng)) <= 0)[None, None, None], ("decode-first-key",), None


def fault_diagonal(rng):
    """Every query sees the next token."""
    q, k = grid(size(rng, 8))
    return k <= q + int(rng.integers(1, 3)), ("future-diagonal",), None


def fault_documents_of_heads(rng):
    """One head has a border of documents somewhere else."""
    n = size(rng, 24)
    lens = long_lengths(rng, n)
    while len(set(lens[:-1])) < 2:  # equal lengths are chunks, which heads may have
        lens = 4 + rng.multinomial(n - 12, np.full(3, 1 / 3))
    ends = lens.cumsum()
    moved = ends.copy()
    border = int(rng.integers(len(ends) - 1))
    moved[border] += rng.choice([-2, -1, 1, 2])
    ids = [np.searchsorted(each, np.arange(n), side="right") for each in (ends, moved)]
    heads = [ids[0]] * int(rng.integers(1, 4)) + [ids[1]]
    masks = np.stack([causal(n) & (one[:, None] == one) for one in heads])
    return masks[None], ("heads-documents", "plane-differs", "nearly"), None


def fault_hole(rng):
    """A part in the middle of the past that is not seen."""
    n = size(rng, 24)
    mask = causal(n) if rng.random() < 0.5 else windows(n, int(rng.integers(12, n)))
    q0 = int(rng.integers(12, n - 3))
    k0 = int(rng.integers(q0 - 7, q0 - 5))
    out = mask.copy()
    out[q0:q0 + 2, k0:k0 + int(rng.integers(2, 4))] = False
    return out, ("nearly",), int((mask & ~out).sum())


def fault_rows_see_another_document(rng):
    """Some rows of a document see keys of one before it, and not of all: that is a global token."""
    n = size(rng, 32)
    lens = np.zeros(4, int)
    while len(set(lens)) < 4:  # documents of equal lengths are chunks
        lens = 4 + rng.multinomial(n - 16, np.full(4, 1 / 4))
    ends = lens.cumsum()
    of = int(rng.integers(2, len(lens)))
    seen = int(rng.integers(of - 1))
    columns = min(int(lens[seen]), n * n // 128)
    rows = int(rng.integers(2, max(2, min(lens[of] - 1, n * n // 64 // columns)) + 1))
    q0 = int(ends[of] - lens[of] + rng.integers(lens[of] - rows + 1))
    ids = ids_of(lens)
    mask = causal(n) & (ids[:, None] == ids)
    out = mask.copy()
    out[q0:q0 + rows, ends[seen] - lens[seen]:ends[seen] - lens[seen] + columns] = True
    return out, ("nearly",), int((out & ~mask).sum())
