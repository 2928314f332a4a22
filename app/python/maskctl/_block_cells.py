"""The cells of a BlockMask's partial blocks, for which its mask_mod is called."""

import torch

from maskctl._mask_mods import cells_of

_CELLS_AT_ONCE = 1 << 24


def partial_cells(name, block_mask):
    """The arrays of the kind runs: the open cells of the blocks that are listed as partial."""
    batch, heads, queries, keys = (int(n) for n in block_mask.shape)
    rows, begins, ends = [], [], []
    for row, begin, end in _runs(name, block_mask, _partial_blocks(block_mask), queries, keys):
        rows.append(row)
        begins.append(begin)
        ends.append(end)
    row, begin, end = (torch.cat(parts) if parts else torch.zeros(0, dtype=torch.long)
                       for parts in (rows, begins, ends))
    order = torch.argsort(row, stable=True)  # stable: the blocks of a row stay in ascending order
    row, begin, end = row[order], begin[order], end[order]
    meets = (row[1:] == row[:-1]) & (begin[1:] == end[:-1])  # run continues in the next block
    edge = torch.zeros(1, dtype=torch.bool)
    starts, stops = ~torch.cat([edge, meets]), ~torch.cat([meets, edge])
    if not len(row):
        starts = stops = edge[:0]
    counts = torch.bincount(row[starts], minlength=batch * heads * queries)
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return [("begin", begin[starts].int()), ("end", end[stops].int()), ("indptr", indptr),
            ("shape", torch.tensor([batch, heads, queries, keys]))]


def _partial_blocks(block_mask):
    """[N, 4]: batch, head, row and column of each block of the list."""
    counts, indices = block_mask.kv_num_blocks.cpu(), block_mask.kv_indices.cpu()
    place = (torch.arange(indices.shape[-1]) < counts[..., None]).nonzero()
    place[:, 3] = indices[tuple(place.T)]
    return place


def _runs(name, block_mask, blocks, queries, keys):
    """(row of the mask, begin, end) of the runs of keys inside each block, some blocks at a time."""
    tall, wide = (int(n) for n in block_mask.BLOCK_SIZE)
    heads = int(block_mask.shape[1])
    for some in blocks.split(max(1, _CELLS_AT_ONCE // (tall * wide))):
        if not len(some):
            continue  # no block is partial
        batch, head, top, left = some.T
        top, left = top * tall, left * wide
        cells = _called(name, block_mask, batch, head, top, left, (queries, keys))
        # Not in place: a mask_mod that ignores an index gives one element for many cells.
        cells = cells & (left[:, None] + torch.arange(wide) < keys)[:, None]
        cells = cells & (top[:, None] + torch.arange(tall) < queries)[:, :, None]
        edge = cells.new_zeros(*cells.shape[:2], 1)
        change = torch.cat([edge, cells, edge], -1).int().diff()
        block, row, begin = (change > 0).nonzero().T
        end = (change < 0).nonzero()[:, 2]
        yield (batch[block] * heads + head[block]) * queries + top[block] + row, left[block] + begin, left[block] + end


def _called(name, block_mask, batch, head, top, left, extents):
    """[N, q, k]: what mask_mod says of the cells of blocks; past the edge anything."""
    device = block_mask.kv_indices.device
    batch, head, top, left = (one.to(device) for one in (batch, head, top, left))
    mask_mod, (last_query, last_key) = block_mask.mask_mod, (n - 1 for n in extents)

    def of_blocks(block, _, q, k):
        query, key = (top[block] + q).clamp(max=last_query), (left[block] + k).clamp(max=last_key)
        return mask_mod(batch[block], head[block], query, key)

    return cells_of(name, block_mask, of_blocks, len(top), 1, *block_mask.BLOCK_SIZE)[:, 0].cpu()
