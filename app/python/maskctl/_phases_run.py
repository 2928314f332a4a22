"""The phases of a model of transformers as it runs: a prompt at once, in chunks, and with tokens generated behind it.

maskctl.capture follows the cache, and reads what is open in each step.
"""

import contextlib
import inspect
import operator
import sys

import numpy as np
import torch

from maskctl._answer import Record, run
from maskctl._mask import Mask
from maskctl._native import Error, printable
from maskctl._phases import sizes_of
from maskctl._rows import Run
from maskctl._watch import capture


def of_model(model, prompt, *, cache=None, chunks=None, new_tokens=32):
    tokens = _prompt(prompt, model)
    new_tokens = operator.index(new_tokens)
    if new_tokens < 0:
        raise Error(f"phases: new_tokens={new_tokens}: expected 0 or more")
    sizes = sizes_of(chunks, (1, 7, 64))
    total = tokens.shape[1] + new_tokens
    steps = Steps(model)
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            whole = _generated(model, tokens, new_tokens, _cache(cache, model, total), steps)
            for size in sizes:
                if size < tokens.shape[1]:
                    _in_chunks(model, tokens, size, _cache(cache, model, total), steps)
            declared = _without_cache(model, whole)
    finally:
        model.train(was_training)
    return Phases(declared, steps, whole.shape[1])


def _prompt(prompt, model):
    if prompt is None:
        raise Error("phases: a model needs a prompt, as maskctl.phases(model, tokens)")
    padding = None
    if hasattr(prompt, "keys"):
        padding, prompt = prompt.get("attention_mask"), prompt["input_ids"]
    try:
        tokens = torch.as_tensor(prompt)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Error(f"phases: a prompt of type {type(prompt).__name__} is no array: {error}; expected token ids [T] or [1, T]") from None
    tokens = tokens[None] if tokens.ndim == 1 else tokens
    if tokens.ndim != 2 or tokens.shape[0] != 1 or tokens.shape[1] < 1 or tokens.is_floating_point():
        raise Error(f"phases: a prompt of {tokens.dtype} {tuple(tokens.shape)}; expected token ids [T] or [1, T]")
    if padding is not None and not bool(torch.as_tensor(padding).all()):
        raise Error("phases: the prompt has padding, by its attention_mask; expected one prompt without padding")
    device = next((one.device for one in model.parameters()), None)
    return tokens.to(device)


_NAMES = {"DynamicCache": "dynamic", "StaticCache": "static", "QuantizedCache": "quantized"}


def _cache(cache, model, total):
    """A new cache: that of the caller, one by its name, or the one that the model takes by itself."""
    if cache is not None and not isinstance(cache, str):
        if not callable(cache):
            raise Error("phases: cache= is a function that makes a new cache for each run, or dynamic, static or quantized")
        made = cache()
        if made is None:
            raise Error("phases: cache= made None; expected a function that makes a new cache for each run")
        return made
    utils = sys.modules.get("transformers.cache_utils")
    if utils is None or not hasattr(model, "config"):
        raise Error("phases: the model is none of transformers; give cache=, a function that makes its cache")
    text = model.config.get_text_config(decoder=True)
    makers = {"dynamic": lambda: utils.DynamicCache(config=text),
              "static": lambda: utils.StaticCache(config=text, max_cache_len=total),
              "quantized": lambda: utils.QuantizedCache(backend="fp8", config=text)}
    name = _NAMES.get(cache, cache or "dynamic")
    if name not in makers:
        raise Error(f"phases: cache={name!r}: expected {', '.join(makers)}, or a function that makes one")
    try:
        return makers[name]()
    except (TypeError, ValueError) as error:
        raise Error(f"phases: cache={name!r}: transformers makes none for this model: {error}") from None


def _given(model, cache):
    """The cache as a keyword: from transformers 5.24 on it is `cache`."""
    return {"cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values": cache}


def _generated(model, tokens, new_tokens, cache, steps):
    """Runs the prompt at once and generates behind it; gives all tokens."""
    with steps.watched("prefill", "decode"):
        if hasattr(model, "generate") and new_tokens > 0:
            return model.generate(tokens, **_given(model, cache), do_sample=False, max_new_tokens=new_tokens,
                                  min_new_tokens=new_tokens, attention_mask=torch.ones_like(tokens))
        whole = tokens
        step = tokens
        for _ in range(new_tokens + 1):
            out = model(input_ids=step, **_given(model, cache), use_cache=True)
            if whole.shape[1] == tokens.shape[1] + new_tokens:
                break
            logits = out[0] if isinstance(out, tuple) else out.get("logits", out[0])
            step = logits[:, -1:].argmax(-1) % max(int(tokens.max()) + 1, 1)
            whole = torch.cat([whole, step], 1)
        return whole


def _in_chunks(model, tokens, size, cache, steps):
    name = f"chunks of {size}"
    with steps.watched(name, name):
        for begin in range(0, tokens.shape[1], size):
            model(input_ids=tokens[:, begin:begin + size], **_given(model, cache), use_cache=True)


def _without_cache(model, tokens):
    """The mask of each layer over all tokens."""
    with capture(model) as seen:
        model(input_ids=tokens, use_cache=False)
    return {call.layer: call for call in seen.calls}


class Steps:
    """What each layer was given in each step of a run: phase -> layer -> list of steps."""

    def __init__(self, model):
        self.model, self.phases, self.notes = model, {}, []

    @contextlib.contextmanager
    def watched(self, first, rest):
        """Notes each call of the model inside; the first is of the phase `first`."""
        phase = [first]
        watching = capture(self.model)

        def before(module, arguments):
            watching.run = Run()  # of this call alone

        def after(module, arguments, out):
            self._add(phase[0], watching.run)
            phase[0] = rest

        hooks = [self.model.register_forward_pre_hook(before), self.model.register_forward_hook(after)]
        try:
            with watching:
                yield
        finally:
            for hook in hooks:
                hook.remove()

    def _add(self, phase, seen):
        layers = self.phases.setdefault(phase, {})
        for call in seen.calls:
            if call.held is not None:
                layers.setdefault(call.layer, []).append(((call.held.first, call.held.tokens()), call))
            elif not any(call.layer in note for note in self.notes):
                self.notes.append(f"{call.layer} is not judged: it wrote no keys into the cache that was followed")


class Phases:
    """The answer of maskctl.phases of a model: true if each phase sees, in each layer, what a run without a cache
    sees. `answers` has a record for each phase and kind of layer, `notes` what was not judged."""

    def __init__(self, declared, steps, tokens):
        self.tokens, self.answers, self.notes = tokens, [], list(steps.notes)
        for phase, layers in steps.phases.items():
            kinds = {}
            for layer, calls in layers.items():
                again = self._given_again(calls)
                if again is not None:
                    known = next((one for one in self.answers if one.phase == phase and one.first == again), None)
                    if known is None:
                        self.answers.append(Record(phase=phase, layers=[layer], equal=False, steps=len(calls), rows=len(calls),
                                                   wrong=1, first=again))
                    else:
                        known.layers.append(layer)
                    continue
                judged = self._arrays(layer, declared.get(layer), calls)
                if judged is not None:
                    mask, arrays = judged
                    key = mask.stats().text, tuple((one.shape, one.tobytes()) for one in arrays)
                    kinds.setdefault(key, (mask, arrays, []))[2].append(layer)
            for mask, (positions, queries, opened), names in kinds.values():
                answer = run("phases", mask, positions=positions, queries=queries, open=opened)
                first = answer.caches[0]["phases"][0]["first"]
                self.answers.append(Record(phase=phase, layers=names, equal=bool(answer), steps=len(positions),
                                           rows=answer.caches[0]["phases"][0]["rows"],
                                           wrong=answer.caches[0]["phases"][0]["wrong"], first=first))
        if not self.answers:
            raise Error("phases: no layer of the model wrote keys into a cache that was followed; give cache=")

    def _given_again(self, calls):
        """The first step that has more tokens, with those in the cache, than there are."""
        for number, ((first, _), call) in enumerate(calls):
            count = call.lengths[2]
            if first + count > self.tokens:
                return Record(kind="again", step=number, cached=first, queries=count,
                              text=f"step {number}: after {first} tokens it is given {count} of {self.tokens} in all: some that "
                                   "the cache has are given again")
        return None

    def _arrays(self, layer, declared, calls):
        unread = [call.unread for _, call in calls if call.mask is None]
        if declared is None or declared.mask is None or unread:
            why = unread[0] if unread else "its mask without a cache was not read"
            self.notes.append(f"{layer} is not judged: {why}")
            return None
        most = max(len(held) for (_, held), _ in calls)
        widest = max(call.lengths[2] for _, call in calls)
        heads = max(call.mask.shape[1] for _, call in calls)
        positions = np.full((len(calls), most), -1, np.int32)
        queries = np.full((len(calls), widest), -1, np.int32)
        opened = np.zeros((len(calls), heads, widest, most), bool)
        for number, ((first, held), call) in enumerate(calls):
            cells = np.asarray(call.mask).reshape(call.mask.shape)[0]
            if cells.shape[-1] != len(held):
                self.notes.append(f"{layer} is not judged: a mask of {cells.shape[-1]} keys for {len(held)} slots")
                return None
            positions[number, :len(held)] = held
            queries[number, :cells.shape[-2]] = np.arange(first, first + cells.shape[-2])
            opened[number, :, :cells.shape[-2], :len(held)] = cells
        return Mask(np.asarray(declared.mask).reshape(declared.mask.shape)[:1], name=layer), (positions, queries, opened)

    def __bool__(self):
        return all(one.equal for one in self.answers)

    def __str__(self):
        lines = [f"{'tokens':<10}{self.tokens}, of a run without a cache"]
        for one in self.answers:
            layers = one.layers[0] + (f" and {len(one.layers) - 1} more" if len(one.layers) > 1 else "")
            if one.equal:
                said = f"equal in {one.rows} rows"
            else:
                said = f"differs in {one.wrong} of {one.rows} rows; first {one.first['text']}"
            lines.append(f"{one.phase:<14}{layers}: {said}")
        lines += [f"note: {note}" for note in self.notes]
        lines.append("every phase that was judged sees what a run without a cache sees" if self else
                     "a phase sees other keys than a run without a cache")
        return "\n".join(map(printable, lines))

    __repr__ = __str__
