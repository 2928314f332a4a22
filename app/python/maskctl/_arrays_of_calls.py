"""What calls of attention computed with: of the arguments and what was returned, [B, H, S, D]."""

import torch

from maskctl._proof import Arrays


def _of(query, key, value, out, scale, **more):
    """more: what moves the output beside the mask."""
    out = out if isinstance(out, torch.Tensor) else out[0]
    beside = [name for name, given in more.items() if given is not None and given != 0]
    refused = f"beside {', '.join(beside)}" if beside else ""
    if not refused and not all(one.ndim == 4 for one in (query, key, value, out)):
        refused = "without four axes"
    return Arrays(query, key, value, out, scale, refused)


def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, *, out):
    added = isinstance(attn_mask, torch.Tensor) and attn_mask.is_floating_point() and not _only_closes(attn_mask)
    return _of(query, key, value, out, scale, dropout=dropout_p, attn_mask=added or None)


def _only_closes(bias):
    return bool(((bias == 0) | (bias <= -5000)).all())


def flex(query, key, value, score_mod=None, scale=None, *, out, **_):
    return _of(query, key, value, out, scale, score_mod=None if score_mod is None else 1)


def flash(q, k, v, softmax_scale=None, dropout_p=0.0, softcap=0.0, alibi_slopes=None, learnable_sink=None, *, out, **_):
    out = out if isinstance(out, torch.Tensor) else out[0]
    turned = (one.transpose(1, 2) if one.ndim == 4 else one for one in (q, k, v, out))
    return _of(*turned, softmax_scale, dropout=dropout_p, softcap=softcap,
               alibi_slopes=None if alibi_slopes is None else 1, sinks=None if learnable_sink is None else 1)


def transformers(module, query, key, value, attention_mask=None, *_, out, dropout=0.0, scaling=None, softcap=None,
                 s_aux=None, position_bias=None, **__):
    out = out if isinstance(out, torch.Tensor) else out[0]
    added = isinstance(attention_mask, torch.Tensor) and attention_mask.is_floating_point() and not _only_closes(attention_mask)
    return _of(query, key, value, out.transpose(1, 2), scaling, dropout=dropout, softcap=softcap, attention_mask=added or None,
               sinks=None if s_aux is None else 1, position_bias=None if position_bias is None else 1)
