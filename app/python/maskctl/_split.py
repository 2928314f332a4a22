"""How much of a difference of two stacks is mask, and how much is left: of the outputs of a layer, and of logits."""

import dataclasses
import inspect
import os

import numpy as np

from maskctl import _native
from maskctl._mask import Mask, _named
from maskctl._native import Error


@dataclasses.dataclass
class Split:
    """How much of the difference of two outputs is mask: root mean squares of the whole difference, of what the other
    mask alone makes of the same queries, keys and values, and of what is left."""

    whole: float
    mask: float
    rest: float

    def __str__(self):
        return (f"outputs differ by {self.whole:.3g}; the other mask alone makes {self.mask:.3g} of it, and {self.rest:.3g} is left"
                if self.whole else "the outputs are equal")


def split_outputs(mask_a, mask_b, query, key, value, out_a, out_b, scale=None):
    """How much of the difference of two outputs [B, T, H, D] is the difference of their masks: attention in float64
    under either mask, with the queries, keys and values of run A."""
    q, k, v, a, b = (np.asarray(one, np.float64) for one in (query, key, value, out_a, out_b))
    if q.ndim != 4 or k.ndim != 4 or v.ndim != 4 or a.shape != b.shape or a.shape[:3] != q.shape[:3]:
        raise Error(f"split_outputs: query {q.shape}, key {k.shape}, value {v.shape}, outputs {a.shape} and {b.shape}; expected "
                    "[B, T, H, D], and outputs for each query")
    if q.shape[2] % k.shape[2]:
        raise Error(f"split_outputs: {q.shape[2]} heads of queries and {k.shape[2]} of keys")
    k, v = (np.repeat(one, q.shape[2] // one.shape[2], 2) for one in (k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    made = [_attended(scores, v, mask) for mask in (mask_a, mask_b)]
    of_mask, whole = made[1] - made[0], b - a
    return Split(*(float(np.sqrt(np.mean(one ** 2))) for one in (whole, of_mask, whole - of_mask)))


def _attended(scores, value, mask):
    mask = mask if isinstance(mask, Mask) else Mask(mask, "dense")
    open_cells = np.broadcast_to(np.asarray(mask).reshape(mask.shape), scores.shape)
    masked = np.where(open_cells, scores, -np.inf)
    top = masked.max(-1, keepdims=True)
    weights = np.exp(masked - np.where(np.isfinite(top), top, 0))
    total = weights.sum(-1, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", weights / np.where(total > 0, total, 1), value)


@dataclasses.dataclass
class LogitSplit:
    """How much of the difference of the logits of two stacks is mask. Each is (root mean square, mean over positions of
    the KL divergence of what the next token is): `mask` of what the masks of B alone make of the logits of A's model,
    `whole` and `rest` of the difference from the logits of B, and of what is left of it with the masks of B; None
    without these. `layers` has the same of the mask of each layer that differs, alone."""

    mask: tuple
    whole: tuple | None
    rest: tuple | None
    layers: dict
    notes: list

    def __str__(self):
        said = {name: f"{one[0]:.3g} (KL {one[1]:.3g})" for name, one in
                {"mask": self.mask, "whole": self.whole, "rest": self.rest, **self.layers}.items() if one is not None}
        if not self.layers:
            lines = ["no mask of a layer differs" + (f"; logits differ by {said['whole']} beside the masks" if self.whole else "")]
        elif self.whole:
            lines = [f"logits differ by {said['whole']}; the masks of B alone change them by {said['mask']}, and with them "
                     f"{said['rest']} is left"]
        else:
            lines = [f"the masks of B change the logits by {said['mask']}"]
        lines += [f"    {layer} alone: {said[layer]}" for layer in self.layers]
        return "\n".join(map(_native.printable, lines + [f"note: {note}" for note in self.notes]))

    __repr__ = __str__


def split_logits(model, inputs, other, *, logits=None):
    """How much of the difference in logits of two stacks is mask: a model of torch (A) runs on its inputs, token ids or a
    dict of them, as it is, and with the masks of another run (B), captured or the file of one, in the place of its own:
    all of them, and each that differs alone. logits: those of B for the same tokens, [B, T, V]. Weights and kernels are
    A's throughout, so that what is left is rounding, weights, and whatever else the stacks do not share.

    Masks are given to the attention layers as the argument attention_mask, and what each layer then applies is captured
    and compared with what it was given: where that differs, nothing is said."""
    import torch

    from maskctl._rows import Run

    if not isinstance(model, torch.nn.Module):
        raise Error(f"split_logits: a {type(model).__name__} is no torch.nn.Module")
    given = other._captured() if isinstance(other, Run) else os.fspath(other)
    wanted = {name: (masks, unread) for name, masks, unread in _native.joined_run(given)}
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            plain = _Substituted(model, inputs, {})
            masks, notes = _of_other(plain.masks, wanted)
            if logits is not None and tuple(np.shape(logits)) != plain.logits.shape:
                raise Error(f"split_logits: logits {tuple(np.shape(logits))}; expected {plain.logits.shape}, as the model gives them")
            with_all = _Substituted(model, inputs, masks, plain.masks) if masks else plain
            layers = {layer: with_all if len(masks) == 1 else _Substituted(model, inputs, {layer: mask}, plain.masks)
                      for layer, mask in masks.items()}
    finally:
        model.train(was_training)
    of_b = None if logits is None else _float64(logits)
    return LogitSplit(_difference(plain.logits, with_all.logits), None if of_b is None else _difference(plain.logits, of_b),
                      None if of_b is None else _difference(with_all.logits, of_b),
                      {layer: _difference(plain.logits, one.logits) for layer, one in layers.items()}, notes)


def _of_other(own, wanted):
    """The masks of B that differ from those of A, for all queries of A; and notes of layers that keep their own."""
    masks, notes = {}, []
    if not set(own) & set(wanted):
        raise Error(f"split_logits: no layer is in both runs: the model has {next(iter(own))}, the other run {next(iter(wanted), 'none')}")
    for layer, mask in own.items():
        others, unread = wanted.get(layer, ((), "it is not in the other run"))
        others = [_named(layer, source) for source in others]
        if unread or len(others) != 1:
            notes.append(f"{layer} keeps its own mask: {unread or f'the other run has {len(others)} for one position'}")
            continue
        keys, queries = others[0].shape[3], others[0].shape[2]
        fits = all(1 in pair or pair[0] == pair[1] for pair in zip(mask.shape[:2], others[0].shape[:2]))
        if keys != mask.shape[3] or queries > mask.shape[2] or not fits:
            notes.append(f"{layer} keeps its own mask: {'x'.join(map(str, mask.shape))} here, {'x'.join(map(str, others[0].shape))} "
                         "in the other run")
            continue
        if queries < mask.shape[2]:
            notes.append(f"{layer} keeps its own mask for queries 0-{mask.shape[2] - queries - 1}, which the other run lacks")
        cells = np.array(np.broadcast_to(_cells(mask), np.broadcast_shapes(_cells(mask).shape, (*others[0].shape[:2], 1, 1))))
        cells[:, :, mask.shape[2] - queries:] = _cells(others[0])
        if not (cells == _cells(mask)).all():
            masks[layer] = cells
    return masks, notes


class _Substituted:
    """A run of a model in which layers get other masks, and the masks that its layers applied."""

    def __init__(self, model, inputs, masks, own=()):
        from maskctl._watch import capture

        modules = dict(model.named_modules())
        strange = next((layer for layer in masks if layer not in modules), None)
        if strange is not None:
            raise Error(f"split_logits: {strange} is no module of the model, and takes no mask")
        hooks = [modules[layer].register_forward_pre_hook(_giving(layer, cells), with_kwargs=True) for layer, cells in masks.items()]
        try:
            with capture(model) as run:
                out = model(**inputs) if hasattr(inputs, "keys") else model(inputs)
        finally:
            for hook in hooks:
                hook.remove()
        logits = out.get("logits") if hasattr(out, "get") else getattr(out, "logits", out)
        if not hasattr(logits, "shape") or len(logits.shape) != 3:
            raise Error("split_logits: the model gives no logits [B, T, V]")
        self.logits = _float64(logits)
        if run.unread:
            layer, why = next(iter(run.unread.items()))
            raise Error(f"split_logits: the mask of {layer} was not read: {why}")
        several = next((layer for layer in run.layers if len(run._of_layer[layer]) > 1), None)
        if several is not None:
            raise Error(f"split_logits: {several} applied several masks in one run of the model; expected one")
        self.masks = {layer: run[layer] for layer in run.layers}
        for layer in own:
            want = masks[layer] if layer in masks else _cells(own[layer])
            seen = _cells(self.masks[layer]) if layer in self.masks else None
            if seen is None or not (np.broadcast_to(seen, np.broadcast_shapes(seen.shape, want.shape)) == want).all():
                raise Error(f"split_logits: {layer} applied another mask than it was given; expected a model whose attention adds "
                            'attention_mask to scores, as attn_implementation="eager" or "sdpa" does')


def _giving(layer, cells):
    """What puts a mask in the place of the argument attention_mask of a module."""

    def hook(module, arguments, keywords):
        import torch

        signature = inspect.signature(module.forward)
        if "attention_mask" not in signature.parameters:
            raise Error(f"split_logits: {layer}, a {type(module).__name__}, takes no attention_mask")
        array = next(one for one in (*arguments, *keywords.values()) if isinstance(one, torch.Tensor) and one.is_floating_point())
        opened = torch.as_tensor(cells, device=array.device)
        made = torch.zeros(cells.shape, dtype=array.dtype, device=array.device).masked_fill(~opened, torch.finfo(array.dtype).min)
        place = list(signature.parameters).index("attention_mask")
        if place < len(arguments):
            return (*arguments[:place], made, *arguments[place + 1:]), keywords
        return arguments, {**keywords, "attention_mask": made}

    return hook


def _cells(mask):
    return np.asarray(mask).reshape(mask.shape)


def _float64(array):
    return (array.detach().double().cpu().numpy() if hasattr(array, "detach") else np.asarray(array, np.float64))


def _difference(a, b):
    """(root mean square of b - a, mean of KL(a || b) over positions)."""
    p, q = _log_softmax(a), _log_softmax(b)
    return float(np.sqrt(np.mean((b - a) ** 2))), float(np.mean(np.sum(np.exp(p) * (p - q), -1)))


def _log_softmax(logits):
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
