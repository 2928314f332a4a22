"""What calls of attention functions mean: one reader for each function, with its arguments by name."""

import dataclasses
import functools
import inspect
from collections.abc import Callable

import torch

from maskctl import _computed, _positions, _scores
from maskctl._closing import closing
from maskctl._library_calls import about_mask, at_default, is_plain, mask_of_call
from maskctl._mask import Mask
from maskctl._native import Error


@dataclasses.dataclass
class Read:
    """A mask that was read."""

    mask: Mask
    unknown: int = 0  # cells that cannot be told; they are open in the mask
    found: dict = dataclasses.field(default_factory=dict)  # what reading it showed, in words


@dataclasses.dataclass
class Asked:
    """One call: what it is given, and how its mask is made."""

    lengths: tuple  # batch, heads, queries, keys
    dtype: str
    given: dict  # the mask or the flags, in words
    make: Callable[[], Read]
    key: tuple | None  # calls with equal keys and unchanged tensors have the same mask; None: none have
    tensors: tuple = ()
    known: str = "given"
    settled: bool = True  # the arguments say the whole mask
    otherwise: Callable | None = None  # asks again where make() gives None


_signature = functools.lru_cache(inspect.signature)


def named(function, arguments, keywords):
    """The arguments by name, as the function itself would take them."""
    bound = _signature(function).bind(*arguments, **keywords)
    bound.apply_defaults()
    by_name = dict(bound.arguments)
    for parameter in bound.signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            by_name.update(by_name.pop(parameter.name, {}))
    return by_name


def _dtype(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def words(tensor):
    return f"{_dtype(tensor)} {'x'.join(map(str, tensor.shape))}"


def _extents(query, key, heads_axis=-3):
    """B, H, Q, K of [B, H, Q, D], [B, Q, D] or [Q, D]; heads_axis -2 for [B, Q, H, D]."""
    for tensor in (query, key):
        if tensor.is_nested:
            raise Error("nested tensors have no lengths of their own")
        if not 2 <= tensor.ndim <= 4:
            raise Error(f"queries and keys of {tensor.ndim} axes")
    tokens = -2 if heads_axis == -3 else -3
    heads = query.shape[heads_axis] if query.ndim > 3 else 1
    batch = query.shape[0] if query.ndim > 2 else 1
    return batch, heads, query.shape[tokens], key.shape[tokens]


def _every_pair(lengths, query):
    size = lengths[2:]
    return Asked(lengths, _dtype(query), {}, lambda: Read(Mask.read("gen:full:q={},k={}".format(*size))), ("full", size))


def _of_call(library, function, lengths, query, given, defaults=()):
    """A call that the library's row reads; `defaults` are the names of arguments that were left alone."""
    says = [name for name in about_mask(library, function) if name in given]
    tensors = tuple(given[name] for name in says if torch.is_tensor(given[name]))
    shown = {name: _shown(given[name]) for name in says if name not in defaults and given[name] is not None}
    plain = tuple((name, repr(value)) for name, value in given.items() if is_plain(value))
    return Asked(lengths, _dtype(query), shown, lambda: Read(mask_of_call(library, function, lengths[2:], given, defaults)),
                 (library, function, lengths[2:], plain), tensors)


def _shown(value):
    if torch.is_tensor(value):
        return words(value)
    return value if is_plain(value) else getattr(value, "__name__", type(value).__name__)


def _of_tensor(lengths, query, name, mask, closes=False):
    """A mask [B, H, Q, K], bool or added to the scores; closes: True is closed."""
    queries, keys = lengths[2:]
    given = {name: words(mask)}
    if mask.ndim > 4:
        raise Error(f"{name} has {mask.ndim} axes")
    is_freed = mask.numel() and not mask.untyped_storage().nbytes()
    mask = mask[(None,) * (4 - mask.ndim)]

    def make():
        if is_freed:
            raise Error(f"the memory of {name} was freed before the call")
        cells = mask[..., :keys].expand(*mask.shape[:2], queries, keys)
        if _dtype(mask) == "bool":
            return Read(Mask(~cells if closes else cells, "dense"))
        found = closing(mask)
        cells = found.open[..., :keys].expand(*mask.shape[:2], queries, keys)
        return Read(Mask(cells, "dense"), found.unknown, {name: f"{given[name]}, {found.words}"})

    return Asked(lengths, _dtype(query), given, make, (name, lengths[2:], closes), (mask,))


def _of_block_mask(lengths, query, block_mask, compiled):
    """compiled: kernels visit the blocks that are listed; else the mask_mod is called for every pair."""
    size = "x".join(map(str, block_mask.BLOCK_SIZE))
    given = f"BlockMask of {size}"
    tensors = _computed.tensors_of(block_mask.mask_mod)
    key = None if tensors is None else ("flex", _computed.code_of(block_mask.mask_mod), lengths[2:], size, compiled)
    lists = [getattr(block_mask, name) for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")]

    def make():
        mask, note = _computed.of_block_mask(block_mask, lengths[2:], compiled)
        return Read(mask, 0, {"block_mask": f"{given}{note}"})

    return Asked(lengths, _dtype(query), {"block_mask": given}, make, key,
                 (*(tensors or ()), *(one for one in lists if one is not None)), "computed")


def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **rest):
    if query.is_nested:
        return _of_nested(query, key, is_causal, attn_mask)
    lengths = _extents(query, key)
    if attn_mask is None:
        defaults = () if is_causal else ("is_causal",)
        return _of_call("sdpa", "scaled_dot_product_attention", lengths, query, {"is_causal": is_causal, **rest}, defaults)
    mask_of_call("sdpa", "scaled_dot_product_attention", lengths[2:], rest)  # an Error where one is not read
    if type(attn_mask).__name__ == "CausalBias":  # a tensor without elements
        align = "top-left" if attn_mask.variant.name == "UPPER_LEFT" else "bottom-right"
        return Asked(lengths, _dtype(query), {"attn_mask": f"causal {align}"},
                     lambda: Read(Mask.parse(f"causal:align={align}", lengths[2:])), ("causal", align, lengths[2:]))
    if query.ndim == 3 and attn_mask.ndim == 3:
        attn_mask = attn_mask[:, None]  # [B, Q, K] becomes [B, 1, Q, K]
    return _of_tensor(lengths, query, "attn_mask", attn_mask)


def _of_nested(query, key, is_causal, attn_mask):
    """Rows of a batch that have lengths of their own."""
    if attn_mask is not None:
        raise Error("attn_mask of nested tensors")
    queries, keys = _row_lengths(query), _row_lengths(key)
    lengths = (len(queries), query.size(1), int(queries.max()), int(keys.max()))
    size = tuple(map(tuple, (queries.tolist(), keys.tolist())))

    def make():
        valid = [torch.arange(n, device="cpu") < rows[:, None] for n, rows in ((lengths[2], queries), (lengths[3], keys))]
        cells = valid[0][:, :, None] & valid[1][:, None]
        return Read(Mask((cells.tril() if is_causal else cells)[:, None], "dense"))

    given = {"nested": f"{len(queries)} rows"} | ({"is_causal": True} if is_causal else {})
    return Asked(lengths, _dtype(query), given, make, ("rows", size, is_causal))


def _row_lengths(tensor):
    """The lengths of a nested tensor [B, H, S, D], strided or jagged."""
    if str(tensor.layout) == "torch.jagged":
        lengths = tensor.lengths() if tensor.lengths() is not None else tensor.offsets().diff()
        return lengths.cpu()
    return tensor._nested_tensor_size()[:, -2]


def flex_attention(function, compiled, query, key, value, score_mod=None, block_mask=None, **rest):
    lengths = _extents(query, key)
    asked = _of_call("flex", "flex_attention", lengths, query, rest, at_default(function, rest))
    if block_mask is not None:
        asked.make()  # an Error where an argument is not read
        asked = _of_block_mask(lengths, query, block_mask, compiled)
    return asked if score_mod is None else _with_score_mod(asked, query, score_mod)


def _with_score_mod(asked, query, score_mod):
    tensors = _computed.tensors_of(score_mod)
    key = None if tensors is None or asked.key is None else (asked.key, asked.lengths, _computed.code_of(score_mod))
    name = getattr(score_mod, "__name__", type(score_mod).__name__)

    def make():
        found = closing(_computed.numbers_of(score_mod, asked.lengths, query))
        read = asked.make()
        more = {"score_mod": f"{name}, {found.words} where scores are 0"}
        return Read(read.mask & Mask(found.open, "dense"), found.unknown, read.found | more)

    return dataclasses.replace(asked, given=asked.given | {"score_mod": name}, make=make, key=key,
                               tensors=(*asked.tensors, *(tensors or ())), known="computed")


def transformers(module, query, key, value, attention_mask=None, *_, **__):
    """The attention functions of transformers: eager, and such as hand a BlockMask on."""
    lengths = _extents(query, key)
    if hasattr(attention_mask, "mask_mod"):
        return _of_block_mask(lengths, query, attention_mask, True)
    if attention_mask is None:
        return _every_pair(lengths, query)
    return _of_tensor(lengths, query, "attention_mask", attention_mask)


def registered(name, *arguments, **_):
    """A function that transformers calls by position, and whose mask is its own."""
    query, key = arguments[1:3]

    def make():
        raise Error(f"what {name} does with its arguments is its own, and it called nothing that is known")

    given = {"attention_mask": _shown(arguments[4])} if len(arguments) > 4 and arguments[4] is not None else {}
    return Asked(_extents(query, key), _dtype(query), given, make, None)


def transformers_flash(module, query, key, value, attention_mask=None, dropout=0.0, scaling=None, sliding_window=None,
                       softcap=None, is_causal=None, cu_seq_lens_q=None, cu_seq_lens_k=None, position_ids=None, **_):
    """flash_attention_forward of transformers, where its kernel is not seen."""
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    lengths = _extents(query, key)
    given = {"is_causal": causal, "sliding_window": sliding_window, "cu_seq_lens_q": cu_seq_lens_q,
             "cu_seq_lens_k": cu_seq_lens_k}
    asked = _of_call("hf", "flash_attention_forward", lengths, query, given)
    if cu_seq_lens_q is not None:
        return asked
    if attention_mask is not None:
        return _and(asked, "attention_mask", attention_mask, lambda: Mask.from_key_padding(
            attention_mask[:, -lengths[3]:] != 0, queries=lengths[2]))
    if position_ids is not None and lengths[0] == 1 and bool((position_ids.diff() != 1).any()):  # then it packs by them
        if lengths[2] != lengths[3] or position_ids.numel() != lengths[2]:
            raise Error("position_ids of several documents beside a cache")
        positions = position_ids.reshape(-1)
        return _and(asked, "position_ids", position_ids,
                    lambda: Mask.from_segments((positions == positions.min()).cumsum(0)))
    return asked


def _and(asked, name, tensor, mask):
    """A call that another argument closes cells of."""
    return dataclasses.replace(asked, given={**asked.given, name: words(tensor)}, tensors=(*asked.tensors, tensor),
                               key=(asked.key, name), make=lambda: Read(asked.make().mask & mask()))


def flash(function, name, **given):
    """A function of flash-attn, whose dotted name says the version."""
    query, keys = _flash_arrays(**given)
    defaults = at_default(function, given)
    if _positions.translates(given):
        row = f"{name.rpartition('.')[0]}.flash_attn_varlen_func"  # which reads lengths of queries, too
        return _of_positions("fa", name, query, given, defaults, _positions.of(**given | {"q": query}), row)
    if query.is_nested or keys.is_nested:
        raise Error("nested tensors have no lengths of their own")
    batch = query.shape[0] if query.ndim > 3 else 1
    lengths = (batch, query.shape[-2], query.shape[-3], keys.shape[-3])
    return _of_call("fa", name, lengths, query, given, defaults)


def _of_positions(library, name, query, given, defaults, positions, row):
    """A call whose mask is one of positions, [B, 1, Q, K], wherever these lie; `row` reads flags and lengths."""
    flags = _positions.flags(given)

    def make():
        mask_of_call(library, name, positions.lengths[2:], flags, defaults)  # an Error where an argument is not read
        return Read(positions.mask(row, flags))

    return dataclasses.replace(_of_call(library, name, positions.lengths, query, given, defaults), make=make)


def varlen(function, query, key, value, cu_seq_q, cu_seq_k=None, **given):
    """torch.nn.attention.varlen, [tokens, H, D], or keys in pages [N, P, H, D]."""
    given |= {"cu_seq_q": cu_seq_q, "cu_seq_k": cu_seq_k}
    given.pop("out", None)
    defaults = at_default(function, given)
    if given.get("block_table") is not None:
        positions = _positions.of(q=query, k=key, cu_seqlens_q=cu_seq_q, cu_seqlens_k=cu_seq_k, **given)
        return _of_positions("varlen", "varlen_attn", query, given, defaults, positions, "flash_attn.flash_attn_varlen_func")
    lengths = (1, query.shape[-2], query.shape[0], key.shape[0])
    return _of_call("varlen", "varlen_attn", lengths, query, given, defaults)


def _flash_arrays(q=None, k=None, k_cache=None, kv=None, qkv=None, num_heads_q=None, **_):
    """Queries and keys [B, S, H, D], or [S, H, D] without batch; packed ones have an axis before H."""
    if qkv is not None:
        whole = qkv if num_heads_q is not None else qkv.unbind(-3)[0]  # 3 has packed heads, too
        return whole, whole
    if kv is not None:
        return q, kv.unbind(-3)[0]
    return q, k if k_cache is None else k_cache


def multi_head(query, key, num_heads, key_padding_mask=None, attn_mask=None, bias_k=None, add_zero_attn=False,
               is_causal=False, static_k=None, **_):
    """torch.nn.functional.multi_head_attention_forward, [Q, B, E] or [Q, E]: True closes."""
    batch = query.shape[1] if query.ndim == 3 else 1
    lengths = (batch, num_heads, query.shape[0], key.shape[0])
    # The calls that this function makes show added keys, and the is_causal hint that replaces attn_mask.
    settled = bias_k is None and static_k is None and not add_zero_attn and not is_causal
    if attn_mask is not None and attn_mask.ndim == 3:
        attn_mask = attn_mask.reshape(batch, num_heads, *attn_mask.shape[1:])
    asked = [_of_tensor(lengths, query, "attn_mask", attn_mask, True)] if attn_mask is not None else []
    if key_padding_mask is not None:
        rows = key_padding_mask.reshape(batch, 1, 1, -1)
        asked.append(_of_tensor(lengths, query, "key_padding_mask", rows, True))
    if len(asked) < 2:
        return dataclasses.replace(asked[0] if asked else _every_pair(lengths, query), settled=settled)
    one, other = asked

    def make():
        first, second = one.make(), other.make()
        return Read(first.mask & second.mask, first.unknown + second.unknown, first.found | second.found)

    return dataclasses.replace(one, given=one.given | other.given, make=make, key=(one.key, other.key),
                               tensors=one.tensors + other.tensors, settled=settled)


def _native(query, key, heads, mask, mask_type):
    """The fused kernels of torch.nn.MultiheadAttention, [B, Q, E]."""
    if query.is_nested:  # nested tensors have rows without padding
        sizes = query._nested_tensor_size()[:, 0]
        valid = torch.arange(int(sizes.max())) < sizes[:, None]
        lengths = (len(sizes), heads, valid.shape[1], valid.shape[1])
        return Asked(lengths, _dtype(query), {"nested": f"{len(sizes)} rows"}, lambda: Read(Mask.from_padding(valid)),
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


def softmax(frame, product, scores, dim):
    """A softmax of scores that a module made of queries and keys."""
    shape = "x".join(map(str, scores.shape))
    if dim not in (-1, scores.ndim - 1):
        raise Error(f"a softmax over axis {dim} of {shape}")
    numbers = scores[..., product.keys]
    lengths = _scores.axes_of(frame, numbers)
    if lengths is None:
        raise Error(f"a softmax over {shape} is not over [.., Q, K] of the queries and keys of its layer")
    sinks = scores.shape[-1] - numbers.shape[-1]

    def make():
        found = closing(numbers)
        return Read(Mask(found.open.reshape(lengths), "dense"), found.unknown, {"scores": found.words})

    return Asked(lengths, _dtype(scores), {"sinks": sinks} if sinks else {}, make, None, (), "weights")


_OF_OPERATORS = {"attn_mask": "attn_mask", "attn_bias": "attn_mask", "is_causal": "is_causal"}


def operator(function, name, arguments, keywords):
    """An operator of torch.ops: torch's own kernels are read; what others do is not known."""
    if not name.startswith("aten::_scaled_dot_product_"):
        raise Error(f"the operator {name}")
    schema = getattr(function, "default", function)._schema
    given = dict(zip((one.name for one in schema.arguments), arguments)) | keywords
    more = {_OF_OPERATORS[key]: value for key, value in given.items() if key in _OF_OPERATORS}
    return sdpa(given["query"], given["key"], given["value"], **more)
