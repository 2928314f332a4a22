"""Masks as training and serving stacks hold them, in random sizes: the functions valid_*(rng)."""
import numpy as np

from sound_parts import (bias, causal, grid, ids_of, image_groups, lengths, natten_row, opened,
                         padded, pads, same_image, selected, size, tree)


def valid_causal(rng):
    return causal(size(rng))


def valid_sliding(rng):
    q, k = grid(size(rng))
    return (k <= q) & (q - k < rng.integers(1, q.size + 1))


def valid_chunked(rng):
    q, k = grid(size(rng))
    chunk = rng.integers(1, q.size + 1)
    return (k <= q) & (q // chunk == k // chunk)


def valid_packed(rng):
    n, batch = size(rng), int(rng.integers(1, 5))
    ids = np.stack([ids_of(lengths(rng, n)) for _ in range(batch)])
    same = ids[:, :, None] == ids[:, None]
    return (same & causal(n) if rng.random() < 0.7 else same)[:, None]


def valid_packed_sliding(rng):
    n = size(rng)
    ids, (q, k) = ids_of(lengths(rng, n)), grid(n)
    return (ids[:, None] == ids) & (k <= q) & (q - k < rng.integers(1, n + 1))


def valid_padded_causal(rng):
    n = size(rng)
    return padded(rng, causal(n), pads(rng, n))


def valid_padded_sliding(rng):
    q, k = grid(size(rng))
    return padded(rng, (k <= q) & (q - k < rng.integers(1, q.size + 1)), pads(rng, q.size))


def valid_padded_chunked(rng):
    q, k = grid(size(rng))
    real, chunk = pads(rng, q.size), rng.integers(1, q.size + 1)
    first = real.argmax(-1)[:, None, None]
    return padded(rng, (k <= q) & ((q - first) // chunk == (k - first) // chunk), real)


def valid_padded_encoder(rng):
    n = size(rng)
    return np.repeat(pads(rng, n)[:, None, None], n, axis=2)


def valid_padded_local(rng):
    q, k = grid(size(rng))
    real = pads(rng, q.size)
    return padded(rng, np.abs(q - k) <= rng.integers(1, q.size), real)


def valid_left_by_one(rng):
    n = size(rng)
    return np.repeat((np.arange(n) >= np.array([1, 0, n - 1])[:, None])[:, None, None], n, axis=2)


def valid_prefix(rng):
    n = size(rng)
    real, prefix = pads(rng, n), rng.integers(1, n, n)
    mask = np.stack([causal(n) | (np.arange(n) < prefix[b]) for b in range(len(real))])
    return padded(rng, mask, real) if rng.random() < 0.5 else mask[:, None]


def valid_packed_prefix(rng):
    n = size(rng)
    lens = lengths(rng, n)
    ids = ids_of(lens)
    place = np.concatenate([np.arange(one) for one in lens])
    prefix = rng.integers(1, n) if rng.random() < 0.5 else rng.integers(1, n, len(lens))[ids]
    return (ids[:, None] == ids) & (causal(n) | (place < prefix)[None])


def valid_images(rng):
    n = size(rng)
    groups = image_groups(rng, n)
    mask = causal(n) | same_image(groups)
    if rng.random() < 0.5:
        return mask
    real = pads(rng, n)
    left = (real[:, :-1] < real[:, 1:]).any()
    return mask if left else padded(rng, mask, real)


def valid_images_sliding(rng):
    q, k = grid(size(rng))
    return (k <= q) & (q - k < rng.integers(2, q.size + 1)) | same_image(image_groups(rng, q.size))


def valid_images_in_one(rng):
    n, batch = size(rng), int(rng.integers(3, 6))
    masks = np.stack([causal(n)] * batch)
    masks[rng.integers(batch)] |= same_image(image_groups(rng, n))
    return masks[:, None]


def valid_shared_prefix(rng):
    n = size(rng)
    ids = ids_of(lengths(rng, n))
    return causal(n) & ((ids[:, None] == ids) | (ids[None] == 0))


def valid_draft_tree(rng):
    nodes, past = int(rng.integers(2, 24)), int(rng.integers(0, 100))
    return np.concatenate([np.ones((nodes, past), bool), tree(rng, nodes)], 1)


def valid_natten(rng):
    if rng.random() < 0.3:
        n = size(rng)
        return natten_row(n, min(n, int(rng.choice([3, 5, 7]))))
    rows, columns = rng.integers(3, 12, 2)
    kernel = int(rng.choice([k for k in (3, 5, 7) if k <= min(rows, columns)]))
    return np.kron(natten_row(rows, kernel), natten_row(columns, kernel)).astype(bool)


def valid_swin(rng):
    side, window = int(rng.choice([4, 8])), int(rng.choice([2, 4]))
    y, x = np.divmod(np.arange(side * side), side)
    ids = (y // window) * side + x // window
    return ids[:, None] == ids


def valid_longformer(rng):
    q, k = grid(size(rng))
    tokens = np.isin(np.arange(q.size), rng.integers(0, q.size, int(rng.integers(1, 4))))
    return (np.abs(q - k) <= rng.integers(1, 9)) | tokens[:, None] | tokens


def valid_bigbird(rng):
    blocks, block = int(rng.integers(6, 12)), int(rng.choice([4, 8]))
    map_ = np.abs(np.subtract.outer(np.arange(blocks), np.arange(blocks))) <= 1
    for row in map_:
        row[rng.choice(blocks, 2, replace=False)] = True
    map_[[0, -1]] = True
    map_[:, [0, -1]] = True
    return np.kron(map_, np.ones((block, block), bool))


def valid_block_diffusion(rng):
    block = int(rng.choice([2, 4, 8]))
    half = block * int(rng.integers(2, 8))
    q, k = grid(2 * half)
    clean_q, clean_k, block_q, block_k = q >= half, k >= half, q % half // block, k % half // block
    return ((block_q == block_k) & (clean_q == clean_k)) | (clean_k & ~clean_q & (block_q > block_k)) | (
        clean_k & clean_q & (block_q >= block_k))


def valid_block_causal(rng):
    q, k = grid(size(rng))
    block = rng.integers(2, q.size)
    return k // block <= q // block


def valid_decode(rng):
    """One query, a left-padded cache, a window."""
    keys, batch = size(rng), int(rng.integers(2, 6))
    first = rng.integers(0, keys, (batch, 1))
    first[rng.integers(batch)] = 0
    window = rng.integers(1, keys + 1)
    k = np.arange(keys)[None]
    return ((k >= first) & (k > keys - 1 - window))[:, None, None]


def valid_static_cache(rng):
    keys = size(rng)
    batch = int(rng.integers(2, 6))
    used = rng.integers(1, keys + 1, (batch, 1))
    used[0] = max(1, keys // 2)
    return (np.arange(keys)[None] < used)[:, None, None]


def valid_chunked_prefill(rng):
    keys = size(rng)
    q, k = grid(int(rng.integers(2, keys)), keys)
    return (k <= q) & (q - k < rng.integers(1, keys + 1))


def valid_cross(rng):
    batch, queries, keys = int(rng.integers(1, 4)), size(rng), size(rng)
    lens = rng.integers(1, keys + 1, (batch, 1, 1, 1))
    return np.broadcast_to(np.arange(keys) < lens, (batch, 1, queries, keys))


def valid_heads(rng):
    q, k = grid(size(rng))
    local = (k <= q) & (q - k < rng.integers(1, q.size))
    return np.stack([causal(q.size) if i % 6 == 5 else local for i in range(int(rng.choice([6, 12])))])[None]


def valid_padded_by_one(rng):
    """Equal entries, and one with a little padding."""
    n, batch = size(rng), int(rng.integers(3, 7))
    real = np.ones((batch, n), bool)
    at = rng.integers(batch)
    real[at, :1 + rng.integers(2)] = False
    if rng.random() < 0.5:
        real = real[:, ::-1]
    return padded(rng, causal(n), real)


def valid_dilated(rng):
    q, k = grid(size(rng))
    return (k <= q) & ((q - k) % rng.integers(2, 5) == 0)


def valid_strided(rng):
    q, k = grid(size(rng))
    stride = int(rng.integers(2, max(3, q.size // 4)))
    fixed = k % stride == stride - 1 if rng.random() < 0.5 else (q - k) % stride == 0
    return (k <= q) & ((q - k < stride) | fixed)


def valid_selected_blocks(rng):
    """Native sparse attention, per token."""
    block = int(rng.choice([4, 8]))
    n = block * int(rng.integers(3, 9))
    return selected(rng, n, block).repeat(block, -1) & causal(n)


def valid_prefill(rng):
    """The first part of a prompt, a later one, or drafted tokens, in a cache that has more room."""
    keys = max(8, size(rng))
    rows = int(rng.integers(2, keys // 3 + 1))
    start = int(rng.integers(0, keys - rows))
    q, k = np.arange(rows)[:, None] + start, np.arange(keys)[None]
    return (k <= q)[None, None]


def valid_zigzag_rank(rng):
    """Rank r of a context-parallel ring: parts r and 2R - 1 - r of the queries, all keys."""
    ranks = int(rng.integers(2, 5))
    part = int(rng.integers(2, 12))
    rank = int(rng.integers(0, ranks))
    last = 2 * ranks - 1 - rank
    q = np.concatenate([np.arange(rank * part, (rank + 1) * part),
                        np.arange(last * part, (last + 1) * part)])
    return (np.arange(2 * ranks * part)[None] <= q[:, None])[None, None]


def valid_ragged_cross(rng):
    """Documents of other lengths in queries and keys."""
    parts = int(rng.integers(2, 5))
    lens = rng.integers(1, 30, (2, parts))
    return np.repeat(np.arange(parts), lens[0])[:, None] == np.repeat(np.arange(parts), lens[1])


def valid_sinks(rng):
    """StreamingLLM, also in left-padded entries."""
    n = size(rng)
    sinks = int(rng.integers(1, 5))
    q, k = grid(n)
    mask = (k <= q) & ((q - k < rng.integers(1, max(2, n - sinks - 1))) | (k < sinks))
    return padded(rng, mask, pads(rng, n)) if rng.random() < 0.5 else mask


def valid_streaming_head(rng):
    """DuoAttention: heads with sinks and a window among global ones."""
    n = size(rng, 12)
    sinks, heads = int(rng.integers(1, 5)), int(rng.integers(3, 9))
    q, k = grid(n)
    streaming = (k <= q) & ((q - k < rng.integers(1, n - sinks - 1)) | (k < sinks))
    kinds = rng.random(heads) < 0.5
    kinds[:2] = [True, False]
    return np.stack([causal(n) if kind else streaming for kind in kinds])[None]


def valid_padded_heads(rng):
    """One global head among local ones in padded entries, or the other way round."""
    n = size(rng)
    q, k = grid(n)
    real = pads(rng, n)
    heads = int(rng.integers(3, 8))
    kinds = np.arange(heads) == rng.integers(heads)
    if rng.random() < 0.5:
        kinds = ~kinds
    local = (k <= q) & (q - k < rng.integers(1, n))
    masks = np.where(kinds[:, None, None], causal(n), local)[None] & real[:, None, None]
    return bias(masks) if rng.random() < 0.5 else opened(masks)


def valid_windows_of_heads(rng):
    """Each head a window of its own."""
    q, k = grid(size(rng))
    heads = int(rng.integers(3, 9))
    widths = np.maximum(1, q.size >> np.arange(heads))
    return ((k <= q) & (q - k < widths[:, None, None]))[None]


def valid_packed_chunked(rng):
    n = size(rng)
    lens = lengths(rng, n)
    ids, place = ids_of(lens), np.concatenate([np.arange(one) for one in lens])
    chunk = rng.integers(1, n + 1)
    return causal(n) & (ids[:, None] == ids) & (place[:, None] // chunk == place // chunk)


def valid_packed_images(rng):
    n = size(rng)
    lens = lengths(rng, n)
    ids = ids_of(lens)
    groups = np.concatenate([image_groups(rng, int(one)) for one in lens])
    return (causal(n) | same_image(groups)) & (ids[:, None] == ids)


def valid_parallel_context(rng):
    """Documents that do not see each other, and a question that sees all."""
    n = size(rng)
    ids = ids_of(lengths(rng, n))
    return causal(n) & ((ids[:, None] == ids) | (ids[:, None] == ids[-1]))


def valid_a_shape(rng):
    """Columns and diagonals, as MInference chooses them."""
    n = size(rng, 33)
    q, k = grid(n)
    columns = np.isin(k, rng.integers(0, n, 3))
    slashes = np.isin(q - k, rng.integers(0, n, 3))
    return causal(n) & (columns | slashes | (q - k < 4) | (k < 2))


def valid_streaming_chunks(rng):
    """Chunks of speech that see themselves and a few chunks before."""
    q, k = grid(size(rng))
    chunk, left = rng.integers(1, q.size), rng.integers(0, 4)
    return (k // chunk <= q // chunk) & (k // chunk >= q // chunk - left)


def valid_shifted_window(rng):
    """Swin's second layer: windows of a torus, parts of other images closed."""
    side, window = int(rng.choice([4, 8, 12])), int(rng.choice([2, 4]))
    y, x = np.divmod(np.arange(side * side), side)
    shift = window // 2
    part = lambda at: np.where(at < shift, side // window + 1, (at - shift) // window)
    ids = part(y) * 100 + part(x)
    return ids[:, None] == ids


def valid_dilated_natten(rng):
    n, dilation = int(rng.integers(8, 60)), int(rng.integers(2, 4))
    places = np.arange(n)
    mask = np.zeros((n, n), bool)
    for first in range(dilation):
        own = places % dilation == first
        count = int(own.sum())
        mask[np.ix_(own, own)] = natten_row(count, min(3, count))
    return mask


def valid_long_net(rng):
    """Segments, in which every so-manieth token sees the others."""
    q, k = grid(size(rng))
    segment, stride = rng.integers(2, q.size + 1), rng.integers(2, 5)
    dilated = (q // segment == k // segment) & (q % stride == k % stride)
    return (k <= q) & (dilated | (q == k))


def valid_sliding_decode(rng):
    """Several queries at the end of a left-padded cache, a window."""
    keys, batch = size(rng, 9), int(rng.integers(2, 6))
    q, k = grid(int(rng.integers(2, keys // 3 + 1)), keys)
    first = rng.integers(0, keys // 2, (batch, 1, 1))
    first[rng.integers(batch)] = 0
    return ((k <= q) & (q - k < rng.integers(1, keys + 1)) & (k >= first))[:, None]


def valid_padded_tree(rng):
    """Drafted tokens after left-padded pasts."""
    nodes, past = int(rng.integers(2, 16)), int(rng.integers(4, 60))
    real = np.arange(past) >= rng.integers(0, past, (int(rng.integers(2, 5)), 1))
    seen = np.repeat(real[:, None], nodes, axis=1)
    drafts = np.broadcast_to(tree(rng, nodes), (len(real), nodes, nodes))
    return np.concatenate([seen, drafts], -1)[:, None]


def valid_padded_prefix(rng):
    """PaliGemma: an image and a prompt that are seen by all, padding on either side."""
    n = size(rng)
    real = pads(rng, n)
    first = real.argmax(-1)[:, None, None]
    prefix = first + rng.integers(1, np.maximum(2, real.sum(-1)))[:, None, None]
    return padded(rng, causal(n) | (np.arange(n) < prefix), real)


def valid_encoder_holes(rng):
    """Keys closed anywhere, as padding between the turns of a dialogue."""
    n = size(rng)
    real = rng.random((int(rng.integers(1, 5)), n)) < 0.8
    real[:, 0] = True
    return np.repeat(real[:, None, None], n, axis=2)
