"""Masks as block-sparse kernels take them: FlexAttention's BlockMask both ways, FlashAttention-4's
counts and indices, FlashInfer's block-sparse rows (BSR).

    block_mask = flex.block_mask(cu_seqlens=cu, pipeline="causal")     # torch's create_block_mask
    flex.mask(block_mask)                                              # the blocks that it visits
"""

from array import array

from maskctl._arrays import host
from maskctl._mask import Mask
from maskctl._native import Error

__all__ = ["block_mask", "bsr", "fa4", "mask"]

_PARTIAL = {"kv_num_blocks": "kv_num_blocks", "kv_indices": "kv_indices"}
_FULL = {"full_kv_num_blocks": "kv_num_blocks", "full_kv_indices": "kv_indices"}
_LISTS = ("kv_num_blocks", "kv_indices", *_FULL,
          "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")


def mask(block_mask, *, evaluate=False, name="block_mask"):
    """The Mask of a BlockMask: every cell of the blocks that it lists, within its seq_lengths. Lists
    that disagree with each other or with these lengths are an Error, by row.

    evaluate: of partial blocks only the cells that mask_mod, which is called for them, leaves open:
    what a kernel applies. Mask(block_mask) calls it for every pair instead, listed or not."""
    listed = _listed(name, block_mask, {key: key for key in _LISTS})
    if not evaluate:
        return listed
    from maskctl._block_cells import partial_cells

    cells = _of_parts(name, partial_cells(name, block_mask))
    made = cells if block_mask.full_kv_indices is None else cells | _listed(name, block_mask, _FULL)
    made.name = name
    return made


def applied(name, block_mask, cells):
    """What a kernel applies where mask_mod opens `cells`: those in partial blocks, and all of full ones."""
    partial, full = listed(name, block_mask)
    made = (cells & partial) | full
    made.name = name
    return made


def listed(name, block_mask):
    """Two Masks: every cell of the blocks that are listed as partial, and of those listed as full."""
    every = _listed(name, block_mask, {key: key for key in _LISTS})  # an Error where lists disagree
    partial = _listed(name, block_mask, _PARTIAL)
    return partial, every - every if block_mask.full_kv_indices is None else _listed(name, block_mask, _FULL)


def block_of(block_mask, cell):
    """The row and column of a cell's block, and how it is listed: "full", "partial" or "not listed"."""
    row, column = (cell[axis] // int(size) for axis, size in zip(("query", "key"), block_mask.BLOCK_SIZE))
    for listed, (counts, indices) in (("full", _FULL), ("partial", _PARTIAL)):
        if getattr(block_mask, indices) is None:
            continue
        counts, indices = (host(key, getattr(block_mask, key))[0] for key in (counts, indices))
        batch, head = (min(cell[axis], extent - 1) for axis, extent in zip(("batch", "head"), counts.shape))
        if column in indices[batch, head, row, :int(counts[batch, head, row])].tolist():
            return row, column, listed
    return row, column, "not listed"


def note_on_lists(block_mask, cells):
    """What a note says where the lists of a BlockMask are not those of its mask_mod, whose `cells` are given."""
    try:
        made = applied("block_mask", block_mask, cells)
    except Error as error:
        return [f"its lists are none: {error}"]
    if made == cells:
        return []
    difference = cells.diff(made)
    row, column, listed = block_of(block_mask, difference.first)
    return [f"{difference.only_a + difference.only_b} cells are not as the lists of blocks say, the first in block "
            f"({row}, {column}), which is {listed}; flex.mask(block_mask, evaluate=True) is what a compiled kernel applies"]


def _listed(name, block_mask, names):
    """Of the arrays of a BlockMask, which are taken by other names."""
    notes, parts = [], []
    for own, key in names.items():
        value = getattr(block_mask, own)
        if value is None:
            continue
        value, more = host(name, value)
        notes += more
        parts.append((key, value))
    for key, pair in (("block_size", block_mask.BLOCK_SIZE), ("seq_lengths", block_mask.seq_lengths)):
        parts.append((key, array("q", [int(n) for n in pair])))
    made = _of_parts(name, parts)
    made.notes = notes + made.notes
    return made


def _of_parts(name, parts):
    made = Mask.__new__(Mask)
    made._read(name, parts, [])
    return made


def block_mask(mask=None, pipeline="", block_size=128, *, cu_seqlens=None, ids=None, mask_mod=None,
               device=None, **arrays):
    """The arrays of torch's create_block_mask, bit for bit: a BlockMask where torch is there, else a
    dict of them. Of a Mask, of cumulative lengths, or of segment ids [S] or [B, S], after the steps
    of `pipeline`; arrays that these name are keywords.

    mask_mod: what kernels call in partial blocks. Lengths and ids, alone or with "causal", have one
    that looks the documents up; another mask with partial blocks needs it
    (mask.translate(to="flex") writes it). device: where the tensors of the BlockMask go."""
    made = _mask_of(mask, pipeline, cu_seqlens, ids, arrays)
    lists = _lists(made, "flex", block_size)
    torch = _torch()
    if torch is None:
        return lists
    from torch.nn.attention.flex_attention import BlockMask

    tensors = {key: torch.from_dlpack(lists[key]) for key in _LISTS}
    if mask_mod is None:
        mask_mod = _documents(torch, made, pipeline, cu_seqlens, ids, device)
    if mask_mod is None and tensors["kv_num_blocks"].any():
        raise Error("block_mask: kernels need a mask_mod for partial blocks; give mask_mod=, which "
                    'mask.translate(to="flex") writes')
    if device is not None:
        tensors = {key: tensor.to(device) for key, tensor in tensors.items()}
    return BlockMask(seq_lengths=made.shape[2:], BLOCK_SIZE=_size(block_size),
                     **({} if mask_mod is None else {"mask_mod": mask_mod}), **tensors)


def fa4(mask=None, pipeline="", block_size=128, *, cu_seqlens=None, ids=None, by_keys=False, **arrays):
    """FlashAttention-4's counts and indices of a mask, given as to block_mask(): a dict of
    mask_block_cnt, mask_block_idx, full_block_cnt and full_block_idx, as wide as the longest list,
    and block_size, for BlockSparseTensorsTorch(**these). by_keys: for the backward pass."""
    lists = _tensors(_lists(_mask_of(mask, pipeline, cu_seqlens, ids, arrays), "fa4", block_size, by_keys))
    return {**lists, "block_size": _size(block_size)}


def bsr(mask=None, pipeline="", block_size=128, *, cu_seqlens=None, ids=None, by_keys=False, **arrays):
    """Block-sparse rows of a mask, given as to block_mask(): (indptr, indices), for FlashInfer.
    Partial blocks are not told from full ones. by_keys: rows of key blocks."""
    lists = _tensors(_lists(_mask_of(mask, pipeline, cu_seqlens, ids, arrays), "bsr", block_size, by_keys))
    return lists["indptr"], lists["indices"]


def _mask_of(mask, pipeline, cu_seqlens, ids, arrays):
    if sum(one is not None for one in (mask, cu_seqlens, ids)) != 1:
        raise Error("which mask is meant: give one of a Mask, cu_seqlens= and ids=")
    if cu_seqlens is not None:
        mask = Mask.from_cu_seqlens(cu_seqlens)
    elif ids is not None:
        mask = Mask.from_segments(ids)
    elif not isinstance(mask, Mask):
        raise Error(f"a {type(mask).__name__} is no Mask; give Mask(array), cu_seqlens= or ids=")
    return mask.apply(pipeline, **arrays) if pipeline else mask


def _size(block_size):
    """(queries, keys) of a block."""
    return (block_size, block_size) if isinstance(block_size, int) else tuple(int(n) for n in block_size)


def _lists(mask, kind, block_size, by_keys=False):
    """The arrays of a kind by name, without what is known already."""
    block = "x".join(str(n) for n in _size(block_size))
    made = dict(mask._line("blockmap", (), {"to": kind, "block": block, "output": "-", "dkv": by_keys}).run()[1])
    return {key: value for key, value in made.items() if key not in ("block_size", "seq_lengths")}


def _torch():
    try:
        import torch
    except ImportError:
        return None
    return torch


def _tensors(lists):
    torch = _torch()
    return lists if torch is None else {key: torch.from_dlpack(value) for key, value in lists.items()}


def _documents(torch, made, pipeline, cu_seqlens, ids, device):
    """The mask_mod of documents, alone or causal; None for what needs more."""
    steps = pipeline.strip()
    if steps not in ("", "causal") or (cu_seqlens is None and ids is None):
        return None
    if cu_seqlens is None:
        table = torch.as_tensor(ids)
        table = table[None] if table.ndim == 1 else table
    else:
        lengths = torch.as_tensor(cu_seqlens).cpu().long().diff()
        table = torch.repeat_interleave(lengths, output_size=made.shape[2])[None]
    table = table.to(device or "cpu")
    per_batch = len(table) > 1

    def documents(b, h, q_idx, kv_idx):
        of = table[b] if per_batch else table[0]
        document = of[q_idx]
        same = (document == of[kv_idx]) & (document != -1)
        return same & (q_idx >= kv_idx) if steps else same

    return documents
