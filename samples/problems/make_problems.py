#!/usr/bin/python3
"""Writes the arrays of samples/problems. Needs numpy; draws with fixed seeds.

    make_problems.py [DIR]
"""
import os
import sys

import numpy as np

WHERE = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
T = 24
IDS = np.repeat([0, 1], [11, 13]).astype("i4")
POSITIONS = np.concatenate([np.arange(11), np.arange(13)]).astype("i4")
CAUSAL = np.tri(T, dtype=bool)
PACKED = CAUSAL & (IDS[:, None] == IDS)
PLACE = np.arange(T)


def save(name, array):
    np.save(os.path.join(WHERE, name + ".npy"), array)


def band(n, keys):
    """A causal window of so many keys."""
    return np.tri(n, dtype=bool) & ~np.tri(n, k=-keys, dtype=bool)


def drawn(mask, seed, heads=2, groups=None):
    """q [1, T, H, 16], and k and v [1, T, G, 16]."""
    draw = np.random.default_rng(seed)
    n, groups = mask.shape[-1], groups or heads
    q = draw.standard_normal((1, n, heads, 16)).astype("f4")
    k, v = draw.standard_normal((2, 1, n, groups, 16)).astype("f4")
    return q, k, v


def out_of(q, k, v, mask, group_of=None, cap=None):
    """softmax(q k^T / 4) v in the cells of a mask."""
    heads, groups = q.shape[2], k.shape[2]
    of = group_of or [h // (heads // groups) for h in range(heads)]
    scores = np.einsum("bqhd,bkhd->bhqk", q.astype("f8"), k[:, :, of].astype("f8")) / 4
    scores = np.where(mask, scores, -1e4 if cap else -np.inf)
    if cap:  # after the mask, as faulty kernels do
        scores = cap * np.tanh(scores / cap)
    with np.errstate(invalid="ignore"):
        e = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e300))
    e /= np.maximum(e.sum(-1, keepdims=True), 1e-300)
    return np.einsum("bhqk,bkhd->bqhd", e, v[:, :, of].astype("f8")).astype("f4")


def call(name, seed, mask, **how):
    """The arrays of a kernel that applied this mask."""
    q, k, v = drawn(mask, seed, heads=how.pop("heads", 2), groups=how.pop("groups", None))
    np.savez(os.path.join(WHERE, name + ".npz"), query=q, key=k, value=v, out=out_of(q, k, v, mask, **how))


def of_models():
    """P1 to P3, P24: matrices of what the tokens of tiny models with random weights see."""
    save("positions", POSITIONS)
    save("ids", IDS)
    save("ones_undo_packing", CAUSAL)
    save("sees_gpt_oss", CAUSAL & (PLACE[:, None] - PLACE < 11))  # two layers of 6 keys, documents dropped
    save("sees_state", CAUSAL & ((IDS[:, None] == IDS) | (PLACE[:, None] - PLACE < 9)))  # a state that fades
    save("sees_convolution", PACKED | (CAUSAL & (PLACE[:, None] - PLACE < 4)))
    future = CAUSAL.copy()
    future[5, 17] = True
    save("sees_future", future)


def of_layers():
    """P3: layers whose outputs carry on over the border between two documents of 11 and 13 tokens."""
    draw = np.random.default_rng(3)
    q, k, v = draw.standard_normal((3, 1, T, 2, 8)).astype("f4")
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    beta = draw.random((1, T, 2)).astype("f4")
    g = -draw.random((1, T, 2)).astype("f4") / 4
    state, out = np.zeros((2, 8, 8)), np.zeros((1, T, 2, 8))
    for t in range(T):  # the state is never reset
        key = k[0, t].astype("f8")
        state *= np.exp(g[0, t].astype("f8"))[:, None, None]
        lack = v[0, t] - np.einsum("hkv,hk->hv", state, key)
        state += np.einsum("h,hk,hv->hkv", beta[0, t], key, lack)
        out[0, t] = np.einsum("hkv,hk->hv", state, q[0, t]) / np.sqrt(8)
    borders = np.array([0, 11, T], "i4")
    np.savez(os.path.join(WHERE, "state_not_reset.npz"), query=q, key=k, value=v, beta=beta, g=g, cu_seqlens=borders,
             out=out.astype("f4"))
    x, weight = draw.standard_normal((T, 6)).astype("f4"), draw.standard_normal((6, 4)).astype("f4")
    line = np.concatenate([np.zeros((3, 6)), x])
    out = sum(weight[:, w].astype("f8") * line[w:w + T] for w in range(4))  # no border stops a tap
    np.savez(os.path.join(WHERE, "convolution_reaches.npz"), x=x[None], weight=weight, cu_seqlens=borders,
             out=out[None].astype("f4"))


def of_stacks():
    """P4 to P9, P25, P26, P30: one mask in two programs."""
    full = band(T, 8)
    chunked = full.copy()
    for row in range(12, T):  # the second chunk forgets what lies before its first window
        chunked[row, :max(0, 12 - 4)] = False
    save("prefill_whole", full)
    save("prefill_chunked", chunked)
    call("window_of_33", 5, band(64, 33))
    call("window_lost", 6, np.tri(64, dtype=bool))
    empty = PACKED.copy()
    empty[7] = False
    save("row_without_keys", empty)
    save("padded_left", np.arange(16) >= np.array([[0], [5]]))
    save("top_left", np.tri(4, 9, dtype=bool))
    save("bottom_right", np.tri(4, 9, k=5, dtype=bool))
    layers = {f"layers.{n}": full for n in range(4)}
    layers["layers.2"] = CAUSAL
    np.savez(os.path.join(WHERE, "layers.npz"), **layers)
    rank = np.tri(16, dtype=bool)[[1, 3, 5, 7, 9, 11, 13, 15]].copy()  # of two ranks, striped
    local = np.stack([np.tri(8, 16, dtype=bool), rank])  # rank 0 took its own indices for positions
    save("rank_masks", local[:, None])
    save("trainer", PACKED)
    save("generator", band(T, 12) & PACKED)


def of_blocks():
    """P10 to P12, P19: blocks, index lists and kernels under them."""
    mask = np.tri(64, dtype=bool) & (np.repeat([0, 1], 32)[:, None] == np.repeat([0, 1], 32))
    save("block_mask_cells", mask)
    blocks = mask.reshape(4, 16, 4, 16).any((1, 3)).astype("i4")
    blocks[3, 2] = 0
    save("blocks_lost", np.where(blocks, 2, 0).astype("i4"))
    lost = np.tri(64, dtype=bool)
    lost[48:, 16:32] = False
    call("block_lost", 12, lost, heads=6)
    top = np.full((T, 6), -1, "i4")
    for row in range(T):
        top[row, :min(6, row + 1)] = np.arange(max(0, row - 5), row + 1)
    top[9, 0] = 15
    save("top_keys", top)


def of_spans():
    """P13 to P18: spans, trees, diffusion and compressed keys."""
    image = np.zeros(T, bool)
    image[4:10] = True
    spans = CAUSAL | (image[:, None] & image)
    save("image_spans", spans)
    save("image_causal", CAUSAL)
    parents = np.array([-1, 0, 1, 1, 3, 0, 5, 5], "i4")
    tree = np.eye(8, dtype=bool)
    for node in range(8):
        up = parents[node]
        while up >= 0:
            tree[node, up] = True
            up = parents[up]
    save("parents", parents)
    leaked = tree.copy()
    leaked[6, 2] = True  # another branch
    save("tree_leaks", leaked)
    save("tree_bits", np.packbits(np.tri(8, dtype=bool).reshape(-1), bitorder="little"))
    save("draft_steps", np.tri(8, dtype=bool) & ~np.tri(8, k=-1, dtype=bool) | np.tri(8, k=-3, dtype=bool))
    save("compressed_early", np.arange(T)[:, None] >= 4 * np.arange(6))  # a block counts from its first token on


def of_arrays():
    """P17, P20 to P23, P27: arrays that say other things than was meant."""
    save("cu_descending", np.array([0, 9, 7, T], "i4"))
    real, padded = np.array([0, 9, 20], "i4"), np.array([0, 12, T], "i4")
    np.savez(os.path.join(WHERE, "cu_of_padded.npz"), cu_seqlens_q=real, cu_seqlens_q_padded=padded, cu_seqlens_kv=real,
             cu_seqlens_kv_padded=padded)
    save("cu_taken", padded)
    noised, clean = np.arange(16) // 4, np.arange(16) // 4
    same, before = noised[:, None] == noised, noised[:, None] > clean
    mask = np.block([[same, before], [np.zeros((16, 16), bool), clean[:, None] >= clean]])
    mask[:16, 16:] |= same  # noised tokens see the clean ones of their own block
    save("block_diffusion_leaks", mask)
    save("inverted", ~PACKED)
    save("attention_mask", (np.arange(16) < 13).astype("i4"))
    save("two_heads", np.stack([band(6, 3), np.tri(6, dtype=bool)])[None])
    save("two_entries", np.stack([band(6, 3), np.tri(6, dtype=bool)]))


def of_reports():
    """Ten of reports.md."""
    causal = np.tri(16, dtype=bool)
    call("padding_lost", 1, causal)
    call("mask_as_number", 4, np.ones((16, 16), bool))
    call("chunks_lost", 9, np.tri(32, dtype=bool))
    call("cap_after_mask", 21, np.tri(32, dtype=bool), cap=3.0)
    call("heads_tiled", 28, np.tri(16, dtype=bool), heads=4, groups=2, group_of=[0, 1, 0, 1])
    ids = np.repeat([0, 1, 2], [5, 1, 6]).astype("i4")
    save("one_token_document", ids)
    save("one_token_merged", np.repeat([0, 2], [6, 6]).astype("i4"))
    y, x = np.divmod(np.arange(80), 9)
    save("neighbours_of_9", (np.abs(np.clip(y, 2, 6)[:, None] - y) <= 2) & (np.abs(np.clip(x, 2, 6)[:, None] - x) <= 2))
    prefixes = CAUSAL.copy()
    ids = np.repeat([0, 1, 2], [8, 6, 10])
    starts = np.repeat([0, 8, 14], [8, 6, 10])
    lengths = np.repeat([4, 2, 6], [8, 6, 10])
    save("prefixes", (ids[:, None] == ids) & (prefixes | (PLACE < starts + lengths)))
    early = np.repeat([0, 1, 2], [2, 5, 5]).astype("i4")
    save("borders_early", early)
    save("borders", np.repeat([0, 1, 2], [3, 5, 4]).astype("i4"))
    save("padding_as_documents", np.repeat([0, 1, 2, 3], [5, 5, 1, 1]).astype("i4"))
    save("padding_apart", np.repeat([0, 1, -1], [5, 5, 2]).astype("i4"))


if __name__ == "__main__":
    os.makedirs(WHERE, exist_ok=True)
    for part in (of_models, of_layers, of_stacks, of_blocks, of_spans, of_arrays, of_reports):
        part()
