"""The call of transformers.utils.attention_visualizer, drawn as maskctl draws masks."""

from maskctl import _native
from maskctl._answer import run
from maskctl._mask import Mask
from maskctl._native import Error

_MOST_HEADS = 16  # that are drawn, equal ones once


class AttentionMaskVisualizer:
    """Draws which tokens of a text see which, as AttentionMaskVisualizer of transformers is called:
    AttentionMaskVisualizer("model")("text").

    Of a name or a folder, config and tokenizer are read, and no weights: the masks are those that the
    class of the model type defines, one for the layers that share it. Of a model, with its
    tokenizer, one forward pass is watched (maskctl.watch), and the masks are those that it applied.
    `masks` holds those of the last text, by their layers, for plot() and check(). `assume`: "causal"
    for a model type that is not known.
    """

    def __init__(self, model_name, tokenizer=None, *, assume=None):
        self._model = None if isinstance(model_name, str) or hasattr(model_name, "__fspath__") else model_name
        if self._model is not None and tokenizer is None:
            raise Error("AttentionMaskVisualizer: a model without its tokenizer; give tokenizer=")
        self._name = type(model_name).__name__ if self._model is not None else str(model_name)
        self._tokenizer = tokenizer
        self._assume = assume
        self.masks = {}
        if self._model is None:
            self._read(model_name)

    def _read(self, name):
        try:
            from transformers import AutoConfig, AutoTokenizer
        except ImportError as error:
            raise Error(f"AttentionMaskVisualizer reads models with transformers, which cannot be imported ({error}): pip install transformers") from None
        self._layers, self._notes = _masks_of(AutoConfig.from_pretrained(name), self._name, self._assume)
        self._notes += [f"{layers}: no attention, and so no mask" for layers, pipeline in self._layers if pipeline is None]
        if self._tokenizer is None:
            self._tokenizer = AutoTokenizer.from_pretrained(name)

    def __call__(self, input_sentence, suffix=""):
        if suffix:
            raise Error("suffix: it goes with images, which are not read here; run the model under maskctl.watch")
        if self._model is None:
            ids = list(self._tokenizer(input_sentence)["input_ids"])
            self.masks = {layers: _mask_of(layers, pipeline, len(ids)) for layers, pipeline in self._layers if pipeline is not None}
            notes = self._notes
        else:
            ids, self.masks, notes = self._watched(input_sentence)
        for layers, mask in self.masks.items():
            rule = f": {mask.pipeline}" if mask.pipeline else ""
            tokens = (self._tokenizer, ids) if len(ids) in mask.shape[2:] else None
            heads = "all" if mask.shape[1] <= _MOST_HEADS else "0"
            print(mask.show(title=f"{self._name}, {layers}{rule}", tokens=tokens, head=heads))
        for note in notes:
            print(_native.printable(f"{self._name}, {note}"))

    def _watched(self, text):
        import torch

        from maskctl._watch import watch

        given = self._tokenizer(text, return_tensors="pt")
        device = next((one.device for one in self._model.parameters()), "cpu")
        with torch.no_grad(), watch(self._model) as seen:
            self._model(**{name: one.to(device) for name, one in given.items()})
        unread = [f"{layer}: not read: {reason}" for layer, reason in seen.unread.items()]
        return given["input_ids"][0].tolist(), {mask.name: mask for mask in seen}, unread


def _mask_of(layers, pipeline, tokens):
    mask = Mask.parse(pipeline, tokens)
    mask.name = layers
    return mask


def _masks_of(config, name, assume):
    """[(which layers, pipeline; None where they have no mask)] of a config of transformers, and what
    is to be said of it."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file = f"{folder}/config.json"
        config.to_json_file(file)
        try:
            said = run("translate", hf_config=file, assume=assume)
        except Error as error:
            raise Error(str(error).replace(file, _native.printable(name))) from None
    layers = [(f"layer {row['layers']}" if row["layers"].isdigit() else f"layers {row['layers']}", row["pipeline"])
              for row in said.masks]
    if any("coder" in one or "cross" in one for one, _ in layers):
        raise Error(f"{_native.printable(name)}: an encoder-decoder, whose masks depend on two texts; run the model under maskctl.watch")
    return layers, [note.replace(file, name) for note in said.notes]
