"""What calls of attention functions mean: one reader for each function, with its arguments by name."""

import dataclasses
from collections.abc import Callable

import torch

from maskctl._library_calls import about_mask, at_default, is_plain, mask_of_call
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


def _every_pair(lengths, query):
    size = lengths[2:]
    return Asked(lengths, _dtype(query), {}, lambda: Mask.read("gen:full:q={},k={}".format(*size)), ("full", size))


def _of_call(library, function, lengths, query, given, defaults=()):
    """A call that the library's row reads; `defaults` are the names of arguments that were left alone."""
    says = [name for name in about_mask(library, function) if name in given]
    tensors = tuple(given[name] for name in says if torch.is_tensor(given[name]))
    shown = {name: _shown(given[name]) for name in says if name not in defaults and given[name] is not None}
    plain = tuple((name, repr(value)) for name, value in given.items() if is_plain(value))
    return Asked(lengths, _dtype(query), shown, lambda: mask_of_call(library, function, lengths[2:], given, defaults),
                 (library, function, lengths[2:], plain), tensors)


def _shown(value):
    if torch.is_tensor(value):
        return _words(value)
    return value if is_plain(value) else getattr(value, "__name__", type(value).__name__)


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


def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **rest):
    lengths = _extents(query, key)
    if attn_mask is None:
        defaults = () if is_causal else ("is_causal",)
        return _of_call("sdpa", "scaled_dot_product_attention", lengths, query, {"is_causal": is_causal, **rest}, defaults)
    mask_of_call("sdpa", "scaled_dot_product_attention", lengths[2:], rest)  # an Error where one is not read
    variant = getattr(attn_mask, "variant", None)
    if type(attn_mask).__name__ == "CausalBias":
        align = "top-left" if variant.name == "UPPER_LEFT" else "bottom-right"
        return _of_steps(lengths, query, f"causal:align={align}", attn_mask=f"causal {align}")
    if query.ndim == 3 and attn_mask.ndim == 3:
        attn_mask = attn_mask[:, None]  # [B, Q, K] becomes [B, 1, Q, K]
    return _of_tensor(lengths, query, "attn_mask", attn_mask)


def flex_attention(function, query, key, value, score_mod=None, block_mask=None, **rest):
    lengths = _extents(query, key)
    asked = _of_call("flex", "flex_attention", lengths, query, rest, at_default(function, rest))
    if block_mask is not None:
        asked.make()  # an Error where an argument is not read
        asked = _of_block_mask(lengths, query, block_mask)
    if score_mod is not None:
        asked.given["score_mod"] = getattr(score_mod, "__name__", type(score_mod).__name__)
    return asked


def transformers(query, key, attention_mask=None, **_):
    """The attention functions of transformers: eager, and such as hand a BlockMask on."""
    if hasattr(attention_mask, "mask_mod"):
        return _of_block_mask(_extents(query, key), query, attention_mask)
    if attention_mask is None:
        return _every_pair(_extents(query, key), query)
    return _of_tensor(_extents(query, key), query, "attention_mask", attention_mask)


def transformers_flash(module, query, key, attention_mask=None, sliding_window=None, is_causal=None,
                       cu_seq_lens_q=None, cu_seq_lens_k=None, position_ids=None, **_):
    """flash_attention_forward of transformers, where its kernel is not seen."""
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    lengths = _extents(query, key)
    given = {"is_causal": causal, "sliding_window": sliding_window, "cu_seq_lens_q": cu_seq_lens_q,
             "cu_seq_lens_k": cu_seq_lens_k}
    if attention_mask is None and cu_seq_lens_q is None and position_ids is not None and lengths[0] == 1:
        if (position_ids.diff() != 1).any():  # then it packs by them
            raise Error("position_ids of several documents")
    asked = _of_call("hf", "flash_attention_forward", lengths, query, given)
    if attention_mask is None or cu_seq_lens_q is not None:
        return asked
    steps = asked.make
    return dataclasses.replace(
        asked, given={**asked.given, "attention_mask": _words(attention_mask)}, tensors=(attention_mask,),
        make=lambda: steps() & Mask.from_key_padding(attention_mask[:, -lengths[3]:] != 0, queries=lengths[2]))


def flash(function, name, **given):
    """A function of flash-attn, whose dotted name says the version."""
    query, keys = _flash_arrays(**given)
    for tensor in (query, keys):
        if tensor.is_nested:
            raise Error("nested tensors have no lengths of their own")
    batch = query.shape[0] if query.ndim > 3 else 1
    lengths = (batch, query.shape[-2], query.shape[-3], keys.shape[-3])
    return _of_call("fa", name, lengths, query, given, at_default(function, given))


def _flash_arrays(q=None, k=None, k_cache=None, kv=None, qkv=None, num_heads_q=None, **_):
    """Queries and keys [B, S, H, D], or [S, H, D] without batch; packed ones have an axis before H."""
    if qkv is not None:
        whole = qkv if num_heads_q is not None else qkv.unbind(-3)[0]  # 3 has packed heads, too
        return whole, whole
    if kv is not None:
        return q, kv.unbind(-3)[0]
    return q, k if k_cache is None else k_cache


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
        return asked[0] if asked else _every_pair(lengths, query)
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
        return _every_pair(lengths, query)
    name = ("attn_mask", "key_padding_mask", "masks")[mask_type or 0]
    return _of_tensor(lengths, query, name, mask[:, None, None] if mask_type == 1 else mask, True)


def native_multi_head(query, key, value, embed_dim, num_heads, *rest):
    mask, _, _, mask_type = (*rest[4:], *(None, True, True, None)[len(rest[4:]):])
    return _native(query, key, num_heads, mask, mask_type)


def native_encoder_layer(src, embed_dim, num_heads, *rest):
    mask, mask_type = (*rest[15:], *(None, None)[len(rest[15:]):])
    return _native(src, src, num_heads, mask, mask_type)
