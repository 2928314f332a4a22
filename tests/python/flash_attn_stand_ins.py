"""Stand-ins for flash-attn 2, 3 and 4 in plain torch, by the signatures of flash_attn_calls, which apply the mask that
they are given, or another one: the fault that is set. They note what they applied."""

import contextlib
import math
import sys
import types

import torch

import flash_attn_calls

FAULTS = {
    "window": "the window has one key more on the left",
    "top-left": "causal and windows are aligned to the first query",
    "documents": "all sequences of a pack are one",
    "pages": "pages are read in reverse",
    "longer": "one key more is read",
    "shorter": "the last key is not read",
    "padding": "cache_leftpad is not looked at",
    "entries": "cache_batch_idx is not looked at",
    "stranger": "the pages are those of the next sequence",
    "softcap": "the soft cap is left out",
    "alibi": "the slopes are left out",
}


class Kernels:
    """The functions, as the modules that a program imports. `applied` has, for each call, what it applied: [Q, K] in
    positions for each sequence of a cache or pages, and each entry of a batch; or of a whole pack."""

    def __init__(self):
        self.fault, self.applied, self.modules = None, [], {}
        for version, (module, signatures) in flash_attn_calls.SIGNATURES.items():
            if "," in version:
                continue
            home = self.modules.setdefault(module, types.ModuleType(module))
            for name, signature in signatures.items():
                setattr(home, name, self._made(version, name, signature))

    def _made(self, version, name, signature):
        made = {"run": self._run, "version": version}
        exec(f"def {name}({signature}): return run(version, **locals())", made)
        return made[name]

    @contextlib.contextmanager
    def installed(self):
        sys.modules.update(self.modules)
        try:
            yield self
        finally:
            for name in self.modules:
                del sys.modules[name]

    def _run(self, version, q=None, k=None, v=None, qkv=None, kv=None, k_cache=None, v_cache=None, block_table=None,
             page_table=None, cu_seqlens=None, cu_seqlens_q=None, cu_seqlens_k=None, num_heads_q=None, **more):
        if qkv is not None:
            heads = num_heads_q or qkv.shape[-2]
            q, k, v = qkv.split((heads, *[(qkv.shape[-2] - heads) // 2] * 2), -2) if num_heads_q else qkv.unbind(-3)
        if kv is not None:
            k, v = kv.unbind(-3)
        ends_q = cu_seqlens_q if cu_seqlens is None else cu_seqlens
        ends_k = cu_seqlens_k if cu_seqlens is None else cu_seqlens
        table = block_table if page_table is None else page_table
        call = _Call(version, self.fault, more)
        if k_cache is not None or table is not None:
            out, applied = call.cached(q, k, v, k_cache, v_cache, table, ends_q, ends_k)
        elif ends_q is not None:
            out, applied = call.packed(q, k, v, ends_q.tolist(), ends_k.tolist())
        else:
            used = (_numbers(more.get(name), len(q)) for name in ("seqused_q", "seqused_k"))
            out, applied = call.batch(q, k, v, *used)
        self.applied.append(applied)
        return out


def _numbers(given, count):
    return [None] * count if given is None else torch.as_tensor(given).expand(count).tolist()


class _Call:
    def __init__(self, version, fault, given):
        self.fault, self.given = fault, given
        left, right = ((None if n is None or (n < 0 and version != "4") else n) for n in given.get("window_size", (None, None)))
        self.causal = given.get("causal", False)
        self.left = left if left is None or fault != "window" else left + 1
        self.right = 0 if self.causal else right

    def _open(self, queries, keys):
        shift = 0 if self.fault == "top-left" else keys - queries
        at, key = torch.arange(queries)[:, None] + shift, torch.arange(keys)[None]
        near = (key >= at - (keys + queries if self.left is None else self.left))
        near = near & (key <= at + (keys + queries if self.right is None else self.right))
        chunk = self.given.get("attention_chunk", 0)
        return near & (at // chunk == key // chunk) if chunk else near

    def _attend(self, q, k, v, mask, entry=0):
        """[Q, H, D] of one sequence."""
        heads, group = q.shape[1], q.shape[1] // k.shape[1]
        k, v = (one.float().repeat_interleave(group, 1) for one in (k, v))
        scale = self.given.get("softmax_scale") or q.shape[-1] ** -0.5
        scores = torch.einsum("qhd,khd->hqk", q.float(), k) * scale
        cap = self.given.get("softcap", 0)
        if cap and self.fault != "softcap":
            scores = cap * torch.tanh(scores / cap)
        slopes = self.given.get("alibi_slopes")
        if slopes is not None and self.fault != "alibi":
            slopes = slopes if slopes.ndim == 1 else slopes[entry]
            at = torch.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0]
            scores = scores - slopes[:, None, None] * (at - torch.arange(k.shape[0])).abs()
        scores = scores.masked_fill(~mask, -math.inf)
        if self.given.get("learnable_sink") is not None:
            sink = self.given["learnable_sink"].float()[:, None, None].expand(heads, q.shape[0], 1)
            scores = torch.cat([scores, sink], 2)
        weights = scores.softmax(-1).nan_to_num()[..., :k.shape[0]]
        return torch.einsum("hqk,khd->qhd", weights, v.nan_to_num()).to(q.dtype)

    def batch(self, q, k, v, used_q, used_k):
        out, applied = torch.zeros_like(q[..., :1]).expand(*q.shape[:-1], v.shape[-1]).clone(), []
        for entry, (n, m) in enumerate(zip(used_q, used_k)):
            n, m = q.shape[1] if n is None else n, k.shape[1] if m is None else m
            mask = torch.zeros(q.shape[1], k.shape[1], dtype=torch.bool)
            mask[:n, :m] = self._open(n, m)
            out[entry, :n] = self._attend(q[entry, :n], k[entry, :m], v[entry, :m], mask[:n, :m], entry)
            applied.append(mask)
        return out, applied

    def packed(self, q, k, v, ends_q, ends_k):
        mask, out = torch.zeros(len(q), len(k), dtype=torch.bool), torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
        used = [_numbers(self.given.get(name), len(ends_q) - 1) for name in ("seqused_q", "seqused_k")]
        if self.fault == "documents":
            mask = self._open(len(q), len(k))
            return self._attend(q, k, v, mask), mask
        for entry, (b, e, kb, ke, n, m) in enumerate(zip(ends_q, ends_q[1:], ends_k, ends_k[1:], *used)):
            e, ke = e if n is None else b + n, ke if m is None else kb + m
            mask[b:e, kb:ke] = self._open(e - b, ke - kb)
            out[b:e] = self._attend(q[b:e], k[kb:ke], v[kb:ke], mask[b:e, kb:ke], entry)
        return out, mask

    def cached(self, q, k, v, k_cache, v_cache, table, ends_q, ends_k):
        given = self.given
        pages, values = (k, v) if k_cache is None else (k_cache, v_cache)
        entries = len(q) if ends_q is None else len(ends_q) - 1
        size = pages.shape[1]
        if k_cache is None:
            used = given.get("seqused_k") if given.get("seqused_k") is not None else ends_k.diff()
        else:
            used = given.get("cache_seqlens")
        used = _numbers(size if used is None else used, entries)
        used_q = _numbers(given.get("seqused_q"), entries)
        first = [0 if n is None or self.fault == "padding" else n for n in _numbers(given.get("cache_leftpad"), entries)]
        rows = _numbers(given.get("cache_batch_idx"), entries)
        out, applied = torch.zeros(*q.shape[:-1], values.shape[-1], dtype=q.dtype), []
        for entry in range(entries):
            slots = self._slots(entry, table, size, rows, used)
            keys, vals = (one.flatten(0, 1)[slots] for one in (pages, values))
            n = used[entry]
            if k_cache is not None and k is not None:
                ends = given.get("cu_seqlens_k_new")
                new = (k[entry], v[entry]) if ends is None else (k[ends[entry]:ends[entry + 1]], v[ends[entry]:ends[entry + 1]])
                count = len(new[0])
                for cache, one in zip((pages, values), new):
                    cache.flatten(0, 1)[slots[n:n + count]] = one  # the call writes them
                    assert cache.is_contiguous()
                keys, vals = (one.flatten(0, 1)[slots] for one in (pages, values))
                n += count
            n += (self.fault == "longer") - (self.fault == "shorter")
            keys, vals = keys[first[entry]:n], vals[first[entry]:n]
            rows_q = q[entry] if ends_q is None else q[ends_q[entry]:ends_q[entry + 1]]
            rows_q = rows_q if used_q[entry] is None else rows_q[:used_q[entry]]
            mask = self._open(len(rows_q), len(keys))
            done = self._attend(rows_q, keys, vals, mask, entry)
            (out[entry] if ends_q is None else out[ends_q[entry]:ends_q[entry + 1]])[:len(rows_q)] = done
            applied.append(self._in_positions(mask, slots, first[entry], entry, table, size, rows, used, given))
        return out, applied

    def _slots(self, entry, table, size, rows, used, right=False):
        """Slots of the flattened cache, in the order in which they are read."""
        if table is None:
            row = entry if rows[entry] is None or (self.fault == "entries" and not right) else rows[entry]
            return torch.arange(size) + row * size
        pages = table[(entry + (self.fault == "stranger" and not right)) % len(table)].clone()
        if self.fault == "pages" and not right:
            count = -(-used[entry] // size)
            pages[:count] = pages[:count].flip(0)
        return (pages.clamp(min=0)[:, None] * size + torch.arange(size)).flatten()

    def _in_positions(self, mask, slots, first, entry, table, size, rows, used, given):
        """The columns of what was read, as positions of the sequence; None where some are of another one, or read twice."""
        right = self._slots(entry, table, size, rows, used, True)
        lead = given.get("cache_leftpad")
        right = right[0 if lead is None else int(lead[entry]):]
        at = {slot: len(right) - 1 - n for n, slot in enumerate(right.flip(0).tolist())}  # the first of equal ones
        read = slots[first:first + mask.shape[1]].tolist()
        if len(set(read)) < len(read):
            return None
        found = torch.zeros(len(mask), len(right) + len(slots), dtype=torch.bool)
        for column in range(mask.shape[1]):
            position = at.get(read[column])
            if position is None:
                if mask[:, column].any():
                    return None
                continue
            found[:, position] = mask[:, column]
        return found
