"""The masks that a model of torch applies while it runs, whatever its layers were given."""

import threading

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from maskctl._library_calls import mask_of_call
from maskctl._mask import Mask
from maskctl._native import Error
from maskctl._seen import Seen

# A score counts as masked if it is this much below the largest score of its row. No model computes
# such a score by itself, and its softmax weight is 0 in every float type. Masks add -1e4 or less.
_FAR_BELOW = 1000


def _open_scores(scores):
    """The cells of scores [B, H, Q, K] that are not masked before a softmax over the keys."""
    lowest = torch.finfo(scores.dtype).min / 2  # only fully masked rows have no score above this
    return (scores > lowest) & (scores > scores.amax(-1, keepdim=True).float() - _FAR_BELOW)


def _of_softmax(scores, dim=None, *_, **__):
    over_keys = dim in (-1, scores.ndim - 1)
    return _open_scores(scores) if over_keys and scores.ndim == 4 and scores.is_floating_point() else None


def _of_sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **_):
    shape = (query.shape[-2], key.shape[-2])
    if attn_mask is not None:
        cells = attn_mask if attn_mask.dtype == torch.bool else _open_scores(attn_mask)
        return cells.expand(*cells.shape[:-2], *shape)
    return mask_of_call("sdpa", "scaled_dot_product_attention", shape, {"is_causal": is_causal})


_READERS = {functional.softmax: _of_softmax, torch.softmax: _of_softmax, torch.Tensor.softmax: _of_softmax,
            functional.scaled_dot_product_attention: _of_sdpa}


class watch(TorchFunctionMode):
    """The masks that the layers of a model of torch apply, read where they act: in the scores before
    each softmax over [B, H, Q, K], in each scaled_dot_product_attention, and in BlockMasks that a
    module is given.

        with maskctl.watch(model) as masks:
            model(**batch)
        for mask in masks:                  # each once, named after its layers
            print(mask.name, mask.check())

    A mask that cannot be read, as of fake tensors, is printed with the reason, and the model runs on.
    The model is neither changed nor imported; kernels that take no mask, as those of flash_attn, are
    not seen, nor is what torch.compile has compiled, nor what other threads run.
    """

    def __init__(self, model):
        super().__init__()
        self._model = model
        self._seen = Seen()
        self._path = []
        self._hooks = []
        self._thread = None

    def __enter__(self):
        if not isinstance(self._model, torch.nn.Module):
            raise Error(f"watch: a {type(self._model).__name__} is no torch.nn.Module")
        self._thread = threading.get_ident()
        for path, module in self._model.named_modules():
            name = path or type(module).__name__  # the path of the model itself is empty
            if isinstance(module, torch.jit.ScriptModule):
                continue  # takes no hooks that see keywords
            self._hooks.append(module.register_forward_pre_hook(self._entered(name), with_kwargs=True))
            self._hooks.append(module.register_forward_hook(self._left, always_call=True))
        super().__enter__()
        return self._seen

    def __exit__(self, kind, *rest):
        super().__exit__(kind, *rest)
        for hook in self._hooks:
            hook.remove()
        if kind is None and not len(self._seen) and not self._seen.unread:
            raise Error("watch: no softmax over [B, H, Q, K] and no scaled_dot_product_attention ran inside; "
                        "call the model inside, not compiled, with attn_implementation=\"sdpa\" or \"eager\"")

    def _entered(self, name):
        def entered(module, arguments, keywords):
            if threading.get_ident() != self._thread:
                return
            self._path.append(name)
            for value in (*arguments, *keywords.values()):
                if type(value).__name__ == "BlockMask" and hasattr(value, "mask_mod"):
                    self._note(name, lambda value=value: Mask(value))

        return entered

    def _left(self, *_):
        if threading.get_ident() == self._thread:
            self._path.pop()

    def _note(self, layer, read):
        """Adds what `read` gives, or why it gives nothing: the model would run without us."""
        try:
            with torch.no_grad():
                cells = read()
            if cells is not None:
                self._seen._add(layer, cells)
        except (Error, RuntimeError) as error:
            self._seen.unread[layer] = str(error).partition("\n")[0].removeprefix(f"{layer}: ")

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        reader = _READERS.get(function)
        if reader is not None:
            self._note(self._path[-1] if self._path else "no layer", lambda: reader(*arguments, **keywords))
        return function(*arguments, **keywords)
