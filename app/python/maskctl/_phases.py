"""Whether prefill, chunks, decoding and generation see what one mask says: of a mask in a cache, or of a model that
runs."""

import operator
import os
import sys

import numpy as np

from maskctl import _arrays
from maskctl._answer import run
from maskctl._mask import Mask
from maskctl._native import Error

_MOST = 1 << 28  # slots of all steps of a function


def phases(subject, prompt=None, *, cache=None, chunks=None, length=None, **options):
    """Whether each phase of serving has the rows of one mask, slots translated to tokens:

        maskctl.phases("causal | window:keys=4096", cache="vllm")      # a chain, a Mask, a config.json
        maskctl.phases(mask, cache=positions)                          # [S, L]: what each slot holds in each step
        maskctl.phases(mask, cache=lambda cached, queries: [...])      # the same, by the slots of one step
        maskctl.phases(model, prompt, chunks=(1, 7, 64), new_tokens=32)   # of transformers, as it runs

    A function gets the tokens that are cached and those of the step, and gives the token of each slot that the step
    reads, -1 for none; or these and what is open, [queries, slots]. It is asked for each prompt of the mask's length
    in chunks of `chunks` (all of it, 1 and 7), `length` tokens where the subject is a chain. Other options are those
    of `maskctl phases`.

    Of a model, the prompt runs at once, in chunks of these sizes, and with new_tokens generated behind it; for each
    layer and step the keys that a query sees are compared, by position, with those of a run without a cache.
    """
    if _is_model(subject):
        from maskctl._phases_run import of_model

        return of_model(subject, prompt, cache=cache, chunks=chunks, **options)
    if prompt is not None:
        raise Error("phases: a prompt is for a model of torch; a mask needs none")
    if length is not None:
        options["length"] = length
    if callable(cache):
        mask = subject if isinstance(subject, Mask) else _whole(subject, length)
        sizes = sizes_of(chunks, (mask.shape[-1], 1, 7))
        options.pop("length", None)
        positions, queries, opened = _asked(cache, mask.shape[-1], sizes)
        if opened is not None:
            options["open"] = opened
        return run("phases", mask, positions=positions, queries=queries, **options)
    if chunks is not None:
        options["chunk"] = "+".join(map(str, sizes_of(chunks, ())))
    if cache is not None and not _is_words(cache):
        return run("phases", subject, positions=_arrays.host("cache", cache)[0], **options)
    return run("phases", subject, **({} if cache is None else {"cache": cache}), **options)


def sizes_of(chunks, usual):
    """The sizes of chunks, or the usual ones where none are given."""
    try:
        sizes = [operator.index(one) for one in (usual if chunks is None else chunks)]
    except TypeError:
        sizes = [0]
    if any(size < 1 for size in sizes):
        raise Error(f"phases: chunks={chunks!r}: expected whole numbers from 1 on, as (1, 7, 64)")
    return sizes


def _is_model(subject):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(subject, torch.nn.Module)


def _is_words(cache):
    return isinstance(cache, str) or (isinstance(cache, (list, tuple)) and all(isinstance(one, str) for one in cache))


def _whole(subject, length):
    if isinstance(subject, (str, os.PathLike)):
        text = os.fspath(subject)
        if os.path.exists(text) or text.startswith("gen:"):
            return Mask(text)
        if length is None:
            raise Error("phases: a function of a cache needs length=, how many tokens the mask of a chain has")
        return Mask.parse(text, length)
    return Mask(subject)


def _asked(cache, tokens, sizes):
    """What a function says of each step of prompts in chunks of these sizes."""
    steps = []
    for size in sizes:
        steps += [(cached, min(size, tokens - cached)) for cached in range(0, tokens, size)]
    held, opened = [], []
    for cached, queries in steps:
        said = cache(cached, queries)
        slots, cells = said if isinstance(said, tuple) and len(said) == 2 else (said, None)
        slots = np.asarray(slots)
        if slots.ndim != 1 or slots.dtype.kind not in "iu":
            raise Error(f"phases: the cache gave {slots.dtype} of shape {slots.shape} after {cached} tokens; expected the "
                        "token of each slot, whole numbers [slots]")
        if cells is not None:
            cells = np.asarray(cells)
            if cells.shape != (queries, len(slots)):
                raise Error(f"phases: the cache opens {cells.shape} after {cached} tokens; expected [queries, slots], "
                            f"{(queries, len(slots))}")
        held.append(slots)
        opened.append(cells)
    most, widest = max(map(len, held), default=0), max((queries for _, queries in steps), default=0)
    if len(steps) * most * (widest if opened[0] is not None else 1) > _MOST:
        raise Error(f"phases: {len(steps)} steps of {most} slots are too many to be asked of a function; use fewer tokens")
    positions = np.full((len(steps), most), -1, np.int32)
    queries = np.full((len(steps), widest), -1, np.int32)
    given = [cells is not None for cells in opened]
    if any(given) and not all(given):
        raise Error("phases: the cache says what is open in some steps only")
    cells = np.zeros((len(steps), 1, widest, most), bool) if all(given) else None
    for number, (cached, count) in enumerate(steps):
        positions[number, :len(held[number])] = held[number]
        queries[number, :count] = np.arange(cached, cached + count)
        if cells is not None:
            cells[number, 0, :count, :len(held[number])] = opened[number]
    return positions, queries, cells
