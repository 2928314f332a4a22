"""What calls of attention functions mean: one reader for each function, with its arguments by name."""

import dataclasses
from collections.abc import Callable

import torch

from maskctl._mask import Mask
from maskctl._native import Error

_CLOSED_BELOW = -1e4  # for a bias that has other numbers too, such as ALiBi


@dataclasses.dataclass
class Asked:
    """One call: what it is given, and how its mask is made."""

    lengths: tuple  # batch, heads, queries, keys
    dtype: str
    given: dict  # the mask or the flags, in words
    make: Callable[[], Mask]
    key: tuple  # calls with equal keys and unchanged tensors have the same mask
    tensors: tuple = ()


def _dtype(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def _words(tensor):
    return f"{_dtype(tensor)} {'x'.join(map(str, tensor.shape))}"


def _extents(query, key, heads_axis=-3):
    """B, H, Q, K of [B, H, Q, D], [B, Q, D] or [Q, D]; heads_axis -2 for [B, Q, H, D]."""
    for tensor in (query, key):
        if tensor.is_nested:
            raise Error("nested tensors have no lengths of their own")
    tokens = -2 if heads_axis == -3 else -3
    heads = query.shape[heads_axis] if query.ndim > 3 else 1
    batch = query.shape[0] if query.ndim > 2 else 1
    return batch, heads, query.shape[tokens], key.shape[tokens]


def _of_steps(lengths, query, steps="", **given):
    shape = (1, 1, *lengths[2:])
    return Asked(lengths, _dtype(query), given, lambda: Mask.parse(steps, shape) if steps else _every_pair(shape),
                 (steps, shape))


def _every_pair(shape):
    return Mask.read("gen:full:q={},k={}".format(*shape[2:]))


def _of_tensor(lengths, query, name, mask, closes=False):
    """A mask [B, H, Q, K], bool or added to the scores; closes: True is closed."""
    queries, keys = lengths[2:]
    given = {name: _words(mask)}
    if mask.numel() and not mask.untyped_storage().nbytes():
        return Asked(lengths, _dtype(query), given, _freed(name), ())
    mask = mask[(None,) * (4 - mask.ndim)]

    def make():
        cells = ~mask if closes and _dtype(mask) == "bool" else mask
        cells = cells[..., :keys].expand(*mask.shape[:2], queries, keys)
        if _dtype(mask) == "bool":
            return Mask(cells, "dense")
        return Mask(cells, "bias", closed_below=_CLOSED_BELOW)

    return Asked(lengths, _dtype(query), given, make, (name, lengths[2:], closes), (mask,))


def _freed(name):
    def make():
        raise Error(f"the memory of {name} was freed before the call")

    return make


def _of_block_mask(lengths, query, block_mask):
    def make():
        from maskctl import flex

        return flex.mask(block_mask, evaluate=True)

    size = "x".join(map(str, block_mask.BLOCK_SIZE))
    tensors = (block_mask.kv_num_blocks, block_mask.kv_indices)
    return Asked(lengths, _dtype(query), {"block_mask": f"BlockMask of {size}"}, make,
                 (block_mask.mask_mod,), tensors)


def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **_):
    lengths = _extents(query, key)
    if attn_mask is None:
        steps, given = ("causal:align=top-left", {"is_causal": True}) if is_causal else ("", {})
        return _of_steps(lengths, query, steps, **given)
    variant = getattr(attn_mask, "variant", None)
    if type(attn_mask).__name__ == "CausalBias":
        align = "top-left" if variant.name == "UPPER_LEFT" else "bottom-right"
        return _of_steps(lengths, query, f"causal:align={align}", attn_mask=f"causal {align}")
    if query.ndim == 3 and attn_mask.ndim == 3:
        attn_mask = attn_mask[:, None]  # [B, Q, K] becomes [B, 1, Q, K]
    return _of_tensor(lengths, query, "attn_mask", attn_mask)


def flex_attention(query, key, value, score_mod=None, block_mask=None, **_):
    lengths = _extents(query, key)
    asked = _of_steps(lengths, query) if block_mask is None else _of_block_mask(lengths, query, block_mask)
    if score_mod is not None:
        asked.given["score_mod"] = getattr(score_mod, "__name__", type(score_mod).__name__)
    return asked


def transformers(query, key, attention_mask=None, **_):
    """The attention functions of transformers: eager, and such as hand a BlockMask on."""
    if hasattr(attention_mask, "mask_mod"):
        return _of_block_mask(_extents(query, key), query, attention_mask)
    if attention_mask is None:
        return _of_steps(_extents(query, key), query)
    return _of_tensor(_extents(query, key), query, "attention_mask", attention_mask)


def transformers_flash(module, query, key, attention_mask=None, sliding_window=None, is_causal=None,
                       cu_seq_lens_q=None, cu_seq_lens_k=None, **_):
    """flash_attention_forward of transformers, where its kernel is not seen."""
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    window = (-1, -1) if sliding_window is None else (sliding_window - 1, 0 if causal else sliding_window - 1)
    lengths = _extents(query, key)
    if cu_seq_lens_q is not None:
        return _packed(lengths, query, cu_seq_lens_q, cu_seq_lens_k, causal, window)
    asked = _flash(lengths, query, causal, window)
    if attention_mask is None:
        return asked
    steps = asked.make
    return dataclasses.replace(
        asked, given={**asked.given, "attention_mask": _words(attention_mask)}, tensors=(attention_mask,),
        make=lambda: steps() & Mask.from_key_padding(attention_mask[:, -lengths[3]:] != 0, queries=lengths[2]))


def _flash_steps(causal, window, place="align=bottom-right"):
    """Steps of flash-attn's flags: -1 is no end, and the last query sees the last key, unless
    `place` says where it is."""
    left, right = ("none" if side is None or side < 0 else side for side in (window or (-1, -1)))
    steps = [f"causal:{place}"] if causal else []
    if (left, right) != ("none", "none"):
        steps.append(f"window:left={left},right={right},{place}")
    return " | ".join(steps)


def _flash_given(causal, window):
    given = {"causal": True} if causal else {}
    if window and tuple(window) not in ((-1, -1), (None, None)):
        given["window_size"] = tuple(window)
    return given


def _flash(lengths, query, causal, window):
    return _of_steps(lengths, query, _flash_steps(causal, window), **_flash_given(causal, window))


def _packed(lengths, query, cu_q, cu_k, causal, window):
    """Documents end to end; cumulative lengths of queries and keys."""
    steps, shape = _flash_steps(causal, window), lengths[2:]

    def make():
        documents = Mask.from_cu_seqlens(cu_q, cu_k, shape=(1, 1, *shape))
        if not steps:
            return documents
        q, k = ("+".join(map(str, cu.diff().tolist())) for cu in (cu_q, cu_k))
        return documents.apply(f"within:q-lens={q},kv-lens={k}{{{steps}}}")

    given = {"cu_seqlens": f"{len(cu_q) - 1} documents", **_flash_given(causal, window)}
    return Asked(lengths, _dtype(query), given, make, ("packed", steps, shape), (cu_q, cu_k))


def flash(q, k, v, causal=False, window_size=None, **_):
    return _flash(_extents(q, k, -2), q, causal, window_size)


def flash_qkv(qkv, causal=False, window_size=None, **_):
    return flash(*qkv.unbind(-3), causal, window_size)


def flash_kv(q, kv, causal=False, window_size=None, **_):
    return flash(q, *kv.unbind(-3), causal, window_size)


def flash_varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, causal=False, window_size=None, block_table=None, **_):
    if block_table is not None:
        raise Error("keys in pages: block_table")
    return _packed((1, q.shape[1], q.shape[0], k.shape[0]), q, cu_seqlens_q, cu_seqlens_k, causal, window_size)


def flash_varlen_qkv(qkv, cu_seqlens, causal=False, window_size=None, **_):
    q, k, v = qkv.unbind(-3)
    return flash_varlen(q, k, v, cu_seqlens, cu_seqlens, causal, window_size)


def flash_varlen_kv(q, kv, cu_seqlens_q, cu_seqlens_k, causal=False, window_size=None, **_):
    return flash_varlen(q, *kv.unbind(-3), cu_seqlens_q, cu_seqlens_k, causal, window_size)


def flash_kvcache(q, k_cache, k=None, cache_seqlens=None, cache_leftpad=None, block_table=None, causal=False,
                  window_size=None, **_):
    """Keys are those in the cache and, behind these, the new ones; the last query sees the last of them."""
    for name, given in (("block_table", block_table), ("cache_leftpad", cache_leftpad)):
        if given is not None:
            raise Error(f"keys elsewhere in the cache: {name}")
    lengths = _extents(q, k_cache, -2)
    batch, _, queries, keys = lengths
    used = [keys if cache_seqlens is None else cache_seqlens] if not torch.is_tensor(cache_seqlens) else \
        cache_seqlens.tolist()
    ends = [length + (0 if k is None else k.shape[1]) for length in used]
    place = "align=top-left,offset=" + "+".join(str(end - queries) for end in ends)
    steps = " | ".join(filter(None, ["kv-lengths:lens=" + "+".join(map(str, ends)),
                                     _flash_steps(causal, window_size, place)]))
    shape = (batch, 1, queries, keys)
    given = {"keys": "+".join(map(str, ends)), **_flash_given(causal, window_size)}
    return Asked(lengths, _dtype(q), given, lambda: Mask.parse(steps, shape), (steps, shape))


def multi_head(query, key, num_heads, key_padding_mask=None, attn_mask=None, **_):
    """torch.nn.functional.multi_head_attention_forward, [Q, B, E] or [Q, E]: True closes."""
    batch = query.shape[1] if query.ndim == 3 else 1
    lengths = (batch, num_heads, query.shape[0], key.shape[0])
    if attn_mask is not None and attn_mask.ndim == 3:
        attn_mask = attn_mask.reshape(batch, num_heads, *attn_mask.shape[1:])
    asked = [_of_tensor(lengths, query, "attn_mask", attn_mask, True)] if attn_mask is not None else []
    if key_padding_mask is not None:
        rows = key_padding_mask.reshape(batch, 1, 1, -1)
        asked.append(_of_tensor(lengths, query, "key_padding_mask", rows, True))
    if len(asked) < 2:
        return asked[0] if asked else _of_steps(lengths, query)
    one, other = asked
    return dataclasses.replace(one, given=one.given | other.given, make=lambda: one.make() & other.make(),
                               key=(one.key, other.key), tensors=one.tensors + other.tensors)


def _native(query, key, heads, mask, mask_type):
    """The fused kernels of torch.nn.MultiheadAttention, [B, Q, E]."""
    if query.is_nested:  # nested tensors have rows without padding
        sizes = query._nested_tensor_size()[:, 0]
        valid = torch.arange(int(sizes.max())) < sizes[:, None]
        lengths = (len(sizes), heads, valid.shape[1], valid.shape[1])
        return Asked(lengths, _dtype(query), {"nested": f"{len(sizes)} rows"}, lambda: Mask.from_padding(valid),
                     ("nested", tuple(sizes.tolist())))
    lengths = (query.shape[0], heads, query.shape[1], key.shape[1])
    if mask is None:
        return _of_steps(lengths, query)
    name = ("attn_mask", "key_padding_mask", "masks")[mask_type or 0]
    return _of_tensor(lengths, query, name, mask[:, None, None] if mask_type == 1 else mask, True)


def native_multi_head(query, key, value, embed_dim, num_heads, *rest):
    mask, _, _, mask_type = (*rest[4:], *(None, True, True, None)[len(rest[4:]):])
    return _native(query, key, num_heads, mask, mask_type)


def native_encoder_layer(src, embed_dim, num_heads, *rest):
    mask, mask_type = (*rest[15:], *(None, None)[len(rest[15:]):])
    return _native(src, src, num_heads, mask, mask_type)
