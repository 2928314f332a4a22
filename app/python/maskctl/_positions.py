"""Calls of flash-attn over caches, pages and packed queries: the slots that hold the positions of each batch entry."""

import dataclasses

import torch

from maskctl._library_calls import about_mask, mask_of_call
from maskctl._native import Error

_SLOTS = ("block_table", "page_table", "cache_batch_idx", "cache_leftpad", "cu_seqlens_k_new")
_LENGTHS = ("cu_seqlens_q", "cu_seqlens_k", "cu_seq_q", "cu_seq_k", "seqused_q", "seqused_k", "cache_seqlens", "k")
_BEYOND = 64  # positions behind the last one that is used, which a wrong kernel may read


def translates(given):
    """Whether a call has arguments that say in which slots its positions are."""
    of_cache = given.get("k_cache") is not None and given.get("cu_seqlens_q") is not None
    return of_cache or any(given.get(name) is not None for name in _SLOTS)


def flags(given):
    """The arguments of a call, without those that say where and how many its positions are."""
    return {key: None if key in (*_SLOTS, *_LENGTHS) else value for key, value in given.items()}


class Each:
    """The rows of each batch entry and head, [S, D], of entries [H, S, D] with lengths of their own."""

    def __init__(self, entries):
        self._entries = entries
        self.counts = [one.shape[1] for one in entries]

    def __getitem__(self, place):
        entry, head = place
        return self._entries[entry][head]


def ragged(tensor, ends, used=None):
    """Each sequence of packed tokens [T, H, D], or the first `used` of each."""
    counts = ends.diff() if used is None else used
    return Each([tensor[begin:begin + n].transpose(0, 1) for begin, n in zip(ends.tolist(), counts.tolist())])


class Packs:
    """Sequences that lie behind one another in one batch entry."""

    def __init__(self, query_ends, key_ends, used_queries=None, used_keys=None):
        self._ends = whole(query_ends), whole(key_ends)
        self._used = tuple(ends.diff() if used is None else whole(used)
                           for ends, used in zip(self._ends, (used_queries, used_keys)))

    def of(self, tokens, side=0):
        """The sequences of queries, or of keys (1)."""
        return torch.searchsorted(self._ends[side], torch.as_tensor(tokens), right=True) - 1

    def aligned(self, queries):
        """The keys that queries are aligned to: the last query of a sequence to its last key."""
        at = self.of(queries)
        (query_ends, key_ends), (used_queries, used_keys) = self._ends, self._used
        return torch.as_tensor(queries) - query_ends[at] + key_ends[at] + used_keys[at] - used_queries[at]

    def where(self, batch, query, key):
        at, of = int(self.of(query)), int(self.of(key, 1))
        other = "" if at == of else f" of sequence {of}"
        return f"sequence {at}", query - int(self._ends[0][at]), f"{key - int(self._ends[1][of])}{other}"


class Paged:
    """The rows of each batch entry and head, [S, D], of pages [N, P, H, D]; NaN where a position has no slot. `fresh` are
    rows that the call writes before it reads: [S, H, D] of each entry, at the last used positions."""

    def __init__(self, pages, slots, used, fresh):
        self._pages, self._slots, self._used, self._fresh = pages, slots, used, fresh

    def __getitem__(self, place):
        entry, head = place
        page, slot = (one[entry].to(self._pages.device) for one in self._slots)
        rows = self._pages[page.clamp(min=0), slot, head]
        rows[page < 0] = torch.nan
        if self._fresh is not None:
            fresh, end = self._fresh[entry][:, head], int(self._used[entry])
            rows[end - len(fresh):end] = fresh
        return rows


@dataclasses.dataclass
class Positions:
    """The sequences of a call: batch entries whose first keys, `used` of them, are in slots of a cache or of pages."""

    used: torch.Tensor  # keys of each entry, those that the call adds among them
    pages: torch.Tensor  # [N, P, H, D] of the keys
    table: torch.Tensor | None  # [B, pages] of each entry; None: page b is a cache, of entry `rows[b]`
    rows: torch.Tensor | None
    first: torch.Tensor | None  # slots before position 0
    ends: torch.Tensor | None  # where the queries of each entry end; None: they have an axis of the batch
    used_queries: torch.Tensor | None
    query: torch.Tensor

    @property
    def entries(self):
        return len(self.used)

    @property
    def lengths(self):
        """Batch, heads, queries, and keys: the pages that are in use, or the cache."""
        size = self.pages.shape[1]
        most = int(self.used.max()) if self.entries else 0
        keys = size if self.table is None else max(1, -(-most // size)) * size
        queries = self.query.shape[1] if self.ends is None else int(self.ends.diff().max()) if self.entries else 0
        return self.entries, self.query.shape[-2], queries, keys

    def mask(self, row, flags):
        """The mask that the row of a function with lengths of queries and keys makes, [B, 1, Q, K] in positions."""
        counts = self.used_queries if self.used_queries is not None else None if self.ends is None else self.ends.diff()
        lengths = {"cu_seqlens_q": None, "cu_seqlens_k": None, "seqused_q": counts, "seqused_k": self.used}
        says = about_mask("fa", row)
        return mask_of_call("fa", row, self.lengths[2:], {key: flags[key] for key in says if key in flags} | lengths)

    def queries(self, tensor):
        """Queries, or outputs, of each entry and head."""
        if self.ends is not None:
            return ragged(tensor, self.ends, self.used_queries)
        entries = tensor.transpose(1, 2).unbind()
        return Each(entries if self.used_queries is None else [one[:, :n] for one, n in zip(entries, self.used_queries.tolist())])

    def keys(self, pages, fresh, fresh_ends):
        """Keys, or values, of each entry and head."""
        if fresh is not None:
            ends = None if fresh_ends is None else fresh_ends.tolist()
            fresh = fresh if ends is None else [fresh[begin:end] for begin, end in zip(ends, ends[1:])]
        return Paged(pages, self._slots(), self.used, fresh)

    def _slots(self):
        """(page, slot) of each entry and position; a page of -1 is none."""
        count, size = self.pages.shape[:2]
        held = size if self.table is None else self.table.shape[1] * size
        at = torch.arange(min(held, int(self.used.max()) + _BEYOND)).expand(self.entries, -1)
        at = at if self.first is None else at + self.first[:, None]
        if self.table is None:
            rows = torch.arange(self.entries) if self.rows is None else self.rows
            page, slot = rows[:, None].expand(at.shape), at.clamp(max=size - 1)
        else:
            page, slot = whole(self.table).gather(1, (at // size).clamp(max=self.table.shape[1] - 1)), at % size
        page = torch.where((at < held) & (page < count), page, -1)
        lacks = (page < 0) & (torch.arange(at.shape[1]) < self.used[:, None])
        if lacks.any():
            entry, position = lacks.nonzero()[0].tolist()
            raise Error(f"position {position} of batch entry {entry} is in no slot of the {count} pages of {size}")
        return page, slot


def whole(tensor):
    return None if tensor is None else torch.as_tensor(tensor).detach().cpu().long()


def of(q, v=None, k=None, k_cache=None, block_table=None, page_table=None, cache_seqlens=None, cache_batch_idx=None,
       cache_leftpad=None, cu_seqlens_q=None, cu_seqlens_k=None, cu_seqlens_k_new=None, seqused_q=None, seqused_k=None,
       **_):
    """The Positions of a call with a cache or pages; an Error where its arguments do not say them."""
    table, ends = page_table if block_table is None else block_table, whole(cu_seqlens_q)
    entries = q.shape[0] if ends is None else len(ends) - 1
    pages = k if k_cache is None else k_cache
    fresh = k if k_cache is not None else None
    if pages.ndim != 4 or (table is not None and table.shape[:1] != (entries,)):
        raise Error(f"{entries} sequences, with pages of {pages.ndim} axes and a table of {0 if table is None else len(table)} rows")
    added = 0
    if fresh is not None:
        added = fresh.shape[1] if cu_seqlens_k_new is None else whole(cu_seqlens_k_new).diff()
    first = whole(cache_leftpad)
    if k_cache is not None:
        used = whole(cache_seqlens)
        if used is None and fresh is not None:
            raise Error("k without cache_seqlens")
    else:
        used = whole(seqused_k) if seqused_k is not None else whole(cu_seqlens_k)
        used = used.diff() if used is not None and seqused_k is None else used
    if used is None:
        used = torch.tensor(pages.shape[1] * (1 if table is None else table.shape[1]))
    used = used.expand(entries) + added - (0 if first is None else first)
    return Positions(used, pages, table, whole(cache_batch_idx), first, ends, whole(seqused_q), q)
