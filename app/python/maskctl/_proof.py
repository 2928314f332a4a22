"""The mask that a call applied, solved in a sample of its rows from queries, keys, values and outputs."""

import dataclasses
import os
import tempfile
from collections.abc import Callable, Sequence

import torch

from maskctl._mask import Mask
from maskctl._native import Error

_PLACES = 4  # of the batch and its heads, or more where these have few queries
_MOST_KEYS = 1 << 16  # of all places together, beyond the first


@dataclasses.dataclass
class Arrays:
    """What a call computed with. query, key, value and out give the rows of a batch entry and head, [S, D], which
    are the positions of the mask; keys and values have as many heads or fewer."""

    query: object
    key: object
    value: object
    out: object
    extents: tuple = ()  # batch entries, heads, heads of keys
    counts: Sequence[int] = ()  # queries of each batch entry
    scale: float | None = None
    cap: float | None = None
    bias: Callable | None = None  # (batch, head, queries, number of keys) -> what is added to the scores of these
    sinks: torch.Tensor | None = None  # a logit of each head
    where: Callable | None = None  # (batch, query, key) -> ("sequence 3", its query, its key), for sequences in a pack
    refused: str = ""  # beside what such a call is not solved


@dataclasses.dataclass
class Sample:
    """Some rows of a call: as many queries of a few heads, which are batch entries here."""

    places: list  # (batch, head)
    queries: list  # of each place
    arrays: dict  # of Mask.verify
    cells: torch.Tensor | None  # [N, 1, Q, K] of the mask that was given
    where: Callable | None
    sinks: bool  # the last key is the sink

    @property
    def rows(self):
        return sum(map(len, self.queries))

    @property
    def bytes(self):
        return sum(one.nbytes for one in self.arrays.values() if isinstance(one, torch.Tensor))

    def words(self, at, query, key):
        (batch, head), query = self.places[at], self.queries[at][query]
        if self.sinks and key == self.cells.shape[3] - 1:
            return f"batch {batch}, head {head}, query {query}, its sink"
        of, query, key = (f"batch {batch}", query, key) if self.where is None else self.where(batch, query, key)
        return f"{of}, head {head}, query {query}, key {key}"


def _spread(count, total):
    """Up to `count` of the numbers below `total`, evenly, the last among them."""
    count = min(count, total)
    return [(total * (i + 1)) // count - 1 for i in range(count)]


def samples(mask, arrays, rows):
    """(samples of rows that are spread over the call, samples of the last ones of some heads): which are copied.
    Rows for which the mask has no key are left out."""
    if arrays.refused:
        raise Error(arrays.refused)
    entries = [entry for entry, count in enumerate(arrays.counts) if count]
    if not entries:
        raise Error("without queries")
    heads, longest = arrays.extents[1], max(arrays.counts)
    keys = len(arrays.key[entries[0], 0])
    wanted = max(_PLACES, min(-(-rows // longest), _MOST_KEYS // max(keys, 1)))
    places = [(entries[at // heads], (at + at // heads) % heads) for at in _spread(wanted, len(entries) * heads)]
    each = max(1, rows // len(places))
    spread = _alike(mask, arrays, places, lambda count: _spread(each, count))
    if not spread:
        raise Error("without a row that has a key")
    few = [places[at] for at in _spread(_PLACES, len(places))]
    return spread, _alike(mask, arrays, few, lambda count: list(range(max(0, count - each), count)))[:1]


def _alike(mask, arrays, places, choose):
    """A sample of the places that have the same number of rows, for each such number; the most rows first."""
    groups = {}
    for batch, head in places:
        queries = choose(arrays.counts[batch])
        cells = None if mask is None else _cells(mask, batch, head, queries)
        if cells is not None:
            open_ = cells.any(1)
            queries, cells = [q for q, has_keys in zip(queries, open_.tolist()) if has_keys], cells[open_]
        if queries:
            groups.setdefault(len(queries), []).append(((batch, head), queries, cells))
    made = [_sample(arrays, *zip(*group)) for group in groups.values()]
    return sorted(made, key=lambda one: -one.rows)


def _cells(mask, batch, head, queries):
    b, h = min(batch, mask.shape[0] - 1), min(head, mask.shape[1] - 1)
    keys = mask.shape[3]
    return torch.stack([torch.from_dlpack(mask[b, h, q, 0:keys]).bool().reshape(keys) for q in queries])


def _sample(arrays, places, queries, cells):
    group = arrays.extents[1] // arrays.extents[2]
    by_query = [[one[place][rows] for place, rows in zip(places, queries)] for one in (arrays.query, arrays.out)]
    by_key = [[one[b, h // group] for b, h in places] for one in (arrays.key, arrays.value)]
    keys, sinks = max(map(len, by_key[0])), arrays.sinks is not None
    known = cells[0] is not None
    cells = torch.stack([_widened(one, keys, False) for one in cells])[:, None] if known else None
    more = {name: value for name, value in (("softmax_scale", arrays.scale), ("logits_soft_cap", arrays.cap)) if value is not None}
    bias = [torch.zeros(1, 1) if arrays.bias is None else arrays.bias(*place, rows, keys).detach().float().cpu()
            for place, rows in zip(places, queries)]
    if sinks:  # a key of which nothing but its logit shows
        logits = [arrays.sinks.detach().float().cpu().reshape(-1)[head] for _, head in places]
        bias = [torch.cat([one.expand(len(rows), keys), logit.expand(len(rows), 1)], 1)
                for one, logit, rows in zip(bias, logits, queries)]
        cells = None if cells is None else torch.nn.functional.pad(cells, (0, 1), value=True)
    by_key = [[torch.nn.functional.pad(_widened(one.T, keys, torch.nan), (0, int(sinks))).T for one in every] for every in by_key]
    if sinks or arrays.bias is not None:
        if arrays.cap is not None:
            raise Error("beside a bias and a soft cap")
        more["bias"] = torch.stack(bias)[:, None].contiguous()
    names = ("query", "given", "key", "value")
    each = {name: torch.stack(every)[:, :, None].detach().cpu() for name, every in zip(names, (*by_query, *by_key))}
    return Sample(list(places), list(queries), each | more, cells, arrays.where, sinks)


def _widened(rows, keys, value):
    """The first `keys` columns, of `value` behind those that there are."""
    return torch.nn.functional.pad(rows, (0, keys - rows.shape[-1]), value=value)


def _solved(sample, cells):
    """(the cells that were applied, or None, and what verify() says)"""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "solved.npy")
        mask = Mask(cells, "dense")
        try:
            answer = mask.verify(**sample.arrays, solve=True, output=file)
        except Error:
            return None, mask.verify(**sample.arrays)
        if "solved" not in answer.data:
            return None, answer
        return torch.from_dlpack(Mask(file, "dense")).bool().reshape(cells.shape), answer


def proof(spread, last):
    """(words, whether the applied mask is the given one; None where that cannot be told)"""
    if spread[0].cells is None:
        words = _of_last(last)
        return (f"not solved, {words}" if words.startswith("the mask cannot") else words), None
    try:
        found = [(sample, *_solved(sample, sample.cells)) for sample in spread]
    except Error as error:
        return f"not solved: {str(error).partition(':')[0]}", None
    rows, untold, undecided, differ, first, others = sum(sample.rows for sample in spread), 0, 0, 0, "", []
    for sample, applied, answer in found:
        if applied is None:
            untold += sample.rows
            others.append((answer.status, _verdict(answer)))
            continue
        solved = answer.data["solved"]
        untold += max(solved["unsolved_rows"], solved["untold_rows"])
        undecided += solved["undecided_cells"]
        cells = (applied != sample.cells).nonzero().tolist()
        if cells:
            differ += len({(at, query) for at, _, query, _ in cells})
            at, _, query, key = cells[0]
            first = first or f"{sample.words(at, query, key)}, {'opened' if applied[at, 0, query, key] else 'closed'}"
        elif solved["unsolved_rows"]:
            judged = Mask(sample.cells, "dense").verify(**sample.arrays)
            others.append((judged.status, _verdict(judged)))
        elif answer.status:
            others.append((2, ""))
    words = f"{rows - untold} of {rows} rows solved" + (f", {undecided} cell{'s' * (undecided > 1)} undecided" if undecided else "")
    said = next((text for status, text in sorted(others, key=lambda one: one[0] != 1) if text), "")
    if differ:
        return f"{words}, {differ} differ from what was given, the first {first}; {_of_last(last)}", False
    if any(status == 1 for status, _ in others):
        return f"{words}, the others are not those of what was given: {said}", False
    return f"{words}, 0 differ from what was given" + (f": {said}" if said else ""), None if others else True


_VERDICTS = {"another": "they obey another mask", "partly": "some of them obey it", "none": "they obey no mask that was tried",
             "unclear": "they are undecided at this precision"}


def _verdict(answer):
    """What verify() says of a sample, without its numbers of batch entries and queries."""
    data = answer.data
    blank = [f"rows of {kind}" for kind, rows in (("zeros", data["zero_rows"]), ("NaN", data["nan_rows"])) if rows]
    if blank:
        return ", ".join(blank)
    return data["text"] if data["verdict"] == "other-call" else _VERDICTS.get(data["verdict"], "")


def _of_last(last):
    """What the last rows of a call obey, in words."""
    if not last:
        return "the mask cannot be told from the last queries"
    sample, = last
    count, queries, keys = len(sample.places), len(sample.queries[0]), sample.arrays["key"].shape[1]
    every = torch.ones(count, 1, queries, keys, dtype=torch.bool)
    for cells in (every.tril(keys - queries), every) if sample.cells is None else (sample.cells,):
        try:
            applied, answer = _solved(sample, cells)
        except Error:
            continue
        if applied is None or answer.data["solved"]["unsolved_rows"]:
            continue
        found = [Mask(one[None, ..., :keys - sample.sinks].contiguous(), "dense").recognise() for one in applied]
        if found[0]:
            obeyed = [one.pipeline if one else None for one in found]  # "" for every cell
            batch, head = sample.places[0]
            of = "" if obeyed == obeyed[:1] * count else f" of batch {batch}, head {head}"
            return f"{_last(queries)}{of} {'obey' if queries > 1 else 'obeys'} {obeyed[0] or 'every cell open'}"
    return f"the mask cannot be told from {_last(queries)}"


def _last(queries):
    return f"the last {queries} queries" if queries > 1 else "the last query"
