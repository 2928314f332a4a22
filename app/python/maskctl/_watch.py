"""The masks that the layers of a running model of torch apply, and what they are given."""

import copy
import os
import sys
import weakref

import torch

from maskctl import _eyes
from maskctl._followed import Followed
from maskctl._native import Error
from maskctl._proof import proof
from maskctl._rows import Call, Run
from maskctl._unseen import beside_attention

_MOST_HELD = 1 << 30  # bytes of samples; more are solved while the model runs

_entered = weakref.WeakKeyDictionary()  # how often a model was given to watch or capture, by these


class watch:
    """The masks that the layers of a model of torch apply, in a table of rows:

        with maskctl.watch(model) as masks:
            model(**batch)
        print(masks)                        # layers, module, lengths, what was given, mask in words
        for mask in masks:                  # each once, named after its layers
            print(mask.name, mask.check())

    Seen are scaled_dot_product_attention, flex_attention, flash_attn, nn.MultiheadAttention and torch's
    fused layers, the attention functions of transformers, and each softmax of a product of queries and
    keys. A call that is seen at several levels is one row: the innermost that says its mask, so that a
    cell that a layer opens by itself shows; maskctl.capture keeps the outermost. What is not read is a
    row with the reason, and masks.check() is then never true.

    The model runs as it is: no output changes, no exception of ours reaches it. What torch.compile has
    compiled runs as it is written meanwhile. every: only each n-th time; rank: only in this process of
    torch.distributed; fail: an Error at the end where masks.check() is not true, with segments=, the ids of
    documents, where masks.check(segments=...) is not: without them no leak between documents is known. prove: of so many rows of
    each layer, 64 where it is True, the mask that was applied is solved at the end, from queries, keys, values and
    outputs.
    """

    innermost = True

    def __init__(self, model, *, every=1, rank=None, fail=False, segments=None, prove=0):
        kind = type(self).__name__
        if not isinstance(model, torch.nn.Module):
            raise Error(f"{kind}: a {type(model).__name__} is no torch.nn.Module")
        if not isinstance(every, int) or every < 1:
            raise Error(f"{kind}: every={every!r}: expected a whole number from 1 on")
        if not isinstance(prove, int) or prove < 0:
            raise Error(f"{kind}: prove={prove!r}: expected a number of rows")
        if segments is not None and not fail:
            raise Error(f"{kind}: segments= is for fail=True; without it ask masks.check(segments=...)")
        self._segments = segments
        self.prove, self._samples, self._held = 64 if prove is True else prove, [], 0
        self._model, self._fail, self._kind = model, fail, kind
        times = _entered.setdefault(model, {})
        self._rests = times.get(kind, 0) % every != 0 or (rank is not None and rank != _rank())
        times[kind] = times.get(kind, 0) + 1

    def __enter__(self):
        self.run = Run()
        if not self._rests:
            self._names = {}
            for path, module in self._model.named_modules():
                self._names[id(module)] = path.replace("_orig_mod.", "").removesuffix("_orig_mod").removesuffix(".")
            _eyes.begin(self, self._model)
            self._followed = Followed()
            self._followed.begin()
            if any(map(_is_compiled, self._model.modules())):
                self.run.notes.append("modules that torch.compile has compiled ran as they are written")
            others = beside_attention(self._names, self._model)
            if others:
                self.run.notes.append(f"convolutions and states have no mask and were not looked at: {others}; maskctl.see asks what "
                                      "tokens see through them")
        return self.run

    def __exit__(self, kind, *_):
        if self._rests:
            return
        self._followed.end()
        _eyes.end(self)
        if kind is not None:
            return
        if not self.run.calls:
            raise Error(f"{self._kind}: no softmax of a product of queries and keys, and no attention function that is "
                        "known ran inside; call the model inside, not compiled to a graph of its own")
        self._solve()
        if self._fail:
            checks = self.run.check(segments=self._segments)
            if not checks:
                raise Error(str(checks))

    def note(self, noted):
        """Adds a row."""
        module = next((one for one in reversed(noted.modules) if id(one) in self._names), None)
        shown = module if module is not None else noted.modules[-1] if noted.modules else None
        layer = self._names[id(module)] or type(module).__name__ if module is not None else noted.function
        mask, unread = None, noted.unread
        try:
            mask = None if noted.mask is None else self.run._add(layer, copy.copy(noted.mask))
        except Error as error:  # as where there is no memory for it
            unread = str(error)
        call = Call(layer, "-" if shown is None else type(shown).__name__, noted.function, noted.lengths, noted.dtype,
                    noted.given, mask, noted.known, noted.unknown, unread)
        if mask is not None:
            call.held = _eyes.held(*mask.shape[2:])
            self.run._place(call)
        if self.run._note(call) and self.prove:
            if isinstance(noted.samples, tuple):
                self._samples.append((call, noted.samples))
                self._held += sum(sample.bytes for samples in noted.samples for sample in samples)
                if self._held > _MOST_HELD:
                    self._solve()
            else:
                call.applied = f"not solved {noted.samples or 'where its arrays are not known'}"

    def _solve(self):
        for call, (spread, last) in self._samples:
            call.applied, call.obeys = proof(spread, last)
            if call.mask is None:
                call.known = "solved"
        self._samples, self._held = [], 0

    def note_other(self, words):
        self.run.other[words] = self.run.other.get(words, 0) + 1


class capture(watch):
    """What the attention functions of a model of torch are given, as maskctl.watch, of which it differs in
    one rule: of a call that is seen at several levels the outermost that says its mask is the row. So
    masks are those that are handed on, read before the call, and cost little:

        with maskctl.capture(model) as run:
            model(**batch)
        print(run.table())                  # layers, module, lengths, flags, mask in words
        run.check(); run.save("run.npz")
    """

    innermost = False


def _is_compiled(module):
    return (getattr(module, "_compiled_call_impl", None) is not None or hasattr(module, "_orig_mod")
            or hasattr(module.forward, "_torchdynamo_orig_callable"))


def _rank():
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    return int(os.environ.get("RANK", 0))
