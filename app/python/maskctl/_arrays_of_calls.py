"""What calls of attention computed with: of the arguments and what was returned."""

import torch

from maskctl import _positions
from maskctl._proof import Arrays

_CLOSES = -5000  # numbers of a bias from here on close their cell
_BESIDE = ("qv", "q_descale", "k_descale", "v_descale", "rotary_cos", "gather_kv_indices", "score_mod")


def _beside(**given):
    """The names of what moves the output in another way than verify() can be told."""
    return [name for name, one in given.items() if one is not None and one != 0]


def _of(query, key, value, out, beside=(), **more):
    """Of [B, H, S, D], or less axes."""
    arrays = [query, key, value, out if isinstance(out, torch.Tensor) else out[0]]
    if beside:
        return Arrays(*arrays, refused=f"beside {', '.join(beside)}")
    if any(one.is_nested for one in arrays):
        arrays = [_positions.Each(one.unbind()) for one in arrays]
        return Arrays(*arrays, (len(arrays[0].counts), query.size(1), key.size(1)), arrays[0].counts, **more)
    if not all(2 <= one.ndim <= 4 for one in arrays):
        return Arrays(*arrays, refused=f"of arrays of {max(one.ndim for one in arrays)} axes")
    arrays = [one[None, None] if one.ndim == 2 else one[:, None] if one.ndim == 3 else one for one in arrays]
    batch, heads, queries = arrays[0].shape[:3]
    arrays = [one.expand(batch, *one.shape[1:]) for one in arrays]
    return Arrays(*arrays, (batch, heads, arrays[1].shape[1]), [queries] * batch, **more)


def _bias(added):
    """The numbers that a mask [.., Q, K] adds to the scores of open cells; None where there are none."""
    if not isinstance(added, torch.Tensor) or not added.is_floating_point():
        return None
    if bool(((added == 0) | (added <= _CLOSES)).all()):
        return None
    added = added[(None,) * (4 - added.ndim)]

    def rows(batch, head, queries, keys):
        one = added[min(batch, added.shape[0] - 1), min(head, added.shape[1] - 1)]
        one = one[queries if one.shape[0] > 1 else [0] * len(queries), :keys]
        return one.masked_fill(one <= _CLOSES, 0)

    return rows


def sdpa(out, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if attn_mask is not None and query.ndim == 3 and attn_mask.ndim == 3:
        attn_mask = attn_mask[:, None]
    return _of(query, key, value, out, _beside(dropout=dropout_p), scale=scale, bias=_bias(attn_mask))


def flex(out, query, key, value, score_mod=None, scale=None, **_):
    return _of(query, key, value, out, _beside(score_mod=score_mod is not None), scale=scale)


def varlen(out, /, query, key, value, cu_seq_q, cu_seq_k=None, scale=None, seqused_k=None, block_table=None, **_):
    return flash(out, query, key, value, softmax_scale=scale, cu_seqlens_q=cu_seq_q, cu_seqlens_k=cu_seq_k,
                 seqused_k=seqused_k, block_table=block_table)


def flash(out, /, q=None, k=None, v=None, kv=None, qkv=None, k_cache=None, v_cache=None, num_heads_q=None, cu_seqlens=None,
          softmax_scale=None, softcap=0.0, alibi_slopes=None, learnable_sink=None, **given):
    """Queries [B, S, H, D], or [tokens, H, D] of packed sequences."""
    if qkv is not None:
        heads = num_heads_q or qkv.shape[-2]
        q, k, v = qkv.unbind(-3) if num_heads_q is None else qkv.split((heads, *[(qkv.shape[-2] - heads) // 2] * 2), -2)
    elif kv is not None:
        k, v = kv.unbind(-3)
    if cu_seqlens is not None:
        given |= {"cu_seqlens_q": cu_seqlens, "cu_seqlens_k": cu_seqlens}
    out = out if isinstance(out, torch.Tensor) else out[0]
    beside = _beside(dropout=given.get("dropout_p"), **{name: given.get(name) is not None for name in _BESIDE})
    more = {"scale": softmax_scale, "cap": softcap or None, "sinks": learnable_sink}
    if k_cache is not None or _positions.translates(given):
        if not beside:
            return _of_positions(_positions.of(q=q, k=k, k_cache=k_cache, **given), q, k, v, v_cache, alibi_slopes, out,
                                 given.get("cu_seqlens_k_new"), more)
    elif given.get("cu_seqlens_q") is not None:
        packs = _positions.Packs(given["cu_seqlens_q"], given["cu_seqlens_k"], given.get("seqused_q"), given.get("seqused_k"))
        more |= {"where": packs.where, "bias": _alibi(alibi_slopes, lambda _, queries: packs.aligned(queries), packs.of)}
        q, k, v, out = (one[None] for one in (q, k, v, out))
    else:
        shift = k.shape[1] - q.shape[1]
        more["bias"] = _alibi(alibi_slopes, lambda _, queries: torch.tensor(queries) + shift)
    return _of(*(one.transpose(-3, -2) for one in (q, k, v, out)), beside=beside, **more)


def _of_positions(at, q, k, v, v_cache, slopes, out, fresh_ends, more):
    fresh = (None, None) if v_cache is None else (k, v)
    query, key = at.queries(q), at.keys(at.pages, fresh[0], fresh_ends)
    value = at.keys(v if v_cache is None else v_cache, fresh[1], fresh_ends)
    bias = _alibi(slopes, lambda batch, queries: torch.tensor(queries) + int(at.used[batch]) - query.counts[batch])
    return Arrays(query, key, value, at.queries(out), (at.entries, q.shape[-2], at.pages.shape[2]), query.counts, bias=bias, **more)


def _alibi(slopes, aligned, entries=None):
    """What is added to scores for each step between a key and the one that the query is aligned to."""
    if slopes is None:
        return None

    def rows(batch, head, queries, keys):
        slope = slopes[head] if slopes.ndim == 1 else slopes[batch if entries is None else entries(queries), head]
        return -slope.cpu().reshape(-1, 1) * (aligned(batch, queries)[:, None] - torch.arange(keys)).abs()

    return rows


def transformers(out, module, query, key, value, attention_mask=None, *_, dropout=0.0, scaling=None, softcap=None,
                 s_aux=None, position_bias=None, **__):
    out = out if isinstance(out, torch.Tensor) else out[0]
    beside = _beside(dropout=dropout, position_bias=position_bias is not None)
    return _of(query, key, value, out.transpose(1, 2), beside, scale=scaling, cap=softcap, bias=_bias(attention_mask), sinks=s_aux)
