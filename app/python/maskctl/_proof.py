"""The mask that a call applied, solved in a sample of its rows from queries, keys, values and outputs."""

import dataclasses
import os
import tempfile

import torch

from maskctl._mask import Mask
from maskctl._native import Error

_HEADS = 4  # of the batch and its heads, spread evenly


@dataclasses.dataclass
class Arrays:
    """What a call computed with: [B, H, S, D], keys and values with as many heads or fewer."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    out: torch.Tensor
    scale: float | None = None
    refused: str = ""  # beside what such a call is not solved


@dataclasses.dataclass
class Sample:
    """Some rows of a call: as many queries of a few heads, which are batch entries here."""

    places: list  # (batch, head)
    queries: list
    arrays: dict  # query, key, value and given of Mask.verify
    cells: torch.Tensor | None  # [N, 1, Q, K] of the mask that was given
    scale: float | None


def _spread(count, total):
    """Up to `count` of the numbers below `total`, evenly, the last among them."""
    count = min(count, total)
    return [(total * (i + 1)) // count - 1 for i in range(count)]


def samples(mask, arrays, rows):
    """(a sample of rows that are spread over the call, one of its last rows): which are copied."""
    if arrays.refused:
        raise Error(arrays.refused)
    batch, heads, queries, keys = *arrays.query.shape[:3], arrays.key.shape[2]
    places = [divmod(at, heads) for at in _spread(_HEADS, batch * heads)]
    each = max(1, rows // len(places))
    last = list(range(max(0, queries - each), queries))
    return [_sample(mask, arrays, places, chosen, keys) for chosen in (_spread(each, queries), last)]


def _sample(mask, arrays, places, queries, keys):
    group = arrays.query.shape[1] // arrays.key.shape[1]
    by_query = [torch.stack([one[b, h, queries] for b, h in places])[:, :, None] for one in (arrays.query, arrays.out)]
    by_key = [torch.stack([one[b, h // group] for b, h in places])[:, :, None] for one in (arrays.key, arrays.value)]
    cells = None if mask is None else torch.stack([_cells(mask, b, h, queries, keys) for b, h in places])[:, None]
    names = dict(zip(("query", "given", "key", "value"), (one.detach().cpu() for one in (*by_query, *by_key))))
    return Sample(places, queries, names, cells, arrays.scale)


def _cells(mask, batch, head, queries, keys):
    b, h = min(batch, mask.shape[0] - 1), min(head, mask.shape[1] - 1)
    return torch.stack([torch.from_dlpack(mask[b, h, q, 0:keys]).bool().reshape(keys) for q in queries])


def _solved(sample, cells):
    """(the cells that were applied, the numbers of the solution)"""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "solved.npy")
        more = {} if sample.scale is None else {"softmax_scale": sample.scale}
        answer = Mask(cells, "dense").verify(**sample.arrays, **more, solve=True, output=file)
        found = Mask(file, "dense")
        return torch.from_dlpack(found).bool().reshape(cells.shape), answer.data["solved"]


def proof(spread, last):
    """(words, whether the applied mask is the given one; None where that cannot be told)"""
    if spread.cells is None:
        words = _of_last(last)
        return (f"not solved, {words}" if words.startswith("the mask cannot") else words), None
    try:
        applied, solved = _solved(spread, spread.cells)
    except Error as error:
        return f"not solved: {str(error).partition(':')[0]}", None
    rows = spread.cells.shape[0] * spread.cells.shape[2]
    differ = (applied != spread.cells).nonzero()
    below = solved["undecided_cells"]
    words = f"{rows - solved['unsolved_rows']} of {rows} rows solved" + (f", {below} cells below rounding" if below else "")
    if not len(differ):
        return f"{words}, 0 differ from what was given", True if not solved["unsolved_rows"] else None
    at, _, query, key = differ[0].tolist()
    (batch, head), query = spread.places[at], spread.queries[query]
    count = len({(one[0], one[2]) for one in differ.tolist()})
    does = "opened" if applied[tuple(differ[0])] else "closed"
    return (f"{words}, {count} differ from what was given, the first batch {batch}, head {head}, query {query}, key {key}, "
            f"{does}; {_of_last(last)}"), False


def _of_last(sample):
    """What the last rows of a call obey, in words."""
    starts = [] if sample.cells is None else [sample.cells]
    queries, keys = len(sample.queries), sample.arrays["key"].shape[1]
    every = torch.ones(len(sample.places), 1, queries, keys, dtype=torch.bool)
    for cells in (*starts, every.tril(keys - queries), every):
        try:
            applied, _ = _solved(sample, cells)
        except Error:
            continue
        found = Mask(applied, "dense").recognise()
        if found:
            return f"the last {queries} queries obey {found.pipeline or 'every cell open'}"
    return f"the mask cannot be told from the last {queries} queries"
