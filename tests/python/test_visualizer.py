"""Checks AttentionMaskVisualizer of a name, on stand-ins for transformers; of a model, and with the
real transformers, it is tried by tests/peers/pictures.py."""

import json
import sys
import types

import pytest

import maskctl
from maskctl import AttentionMaskVisualizer, Mask

GEMMA = {"model_type": "gemma3_text", "num_hidden_layers": 6, "sliding_window": 3, "max_position_embeddings": 64}
TEXT = "the cat sat on the mat"


class Tokenizer:
    """Words as tokens."""

    def __init__(self):
        self.words = ["<s>"]

    def __call__(self, text):
        self.words += [word for word in text.split() if word not in self.words]
        return {"input_ids": [0, *map(self.words.index, text.split())]}

    def convert_ids_to_tokens(self, ids):
        return [self.words[i] for i in ids]


@pytest.fixture
def hub(monkeypatch):
    """Configs by name, as a stand-in for transformers loads them."""
    configs = {"gemma": GEMMA, "llama": {"model_type": "llama", "num_hidden_layers": 1}, "t5": {"model_type": "t5", "num_layers": 2},
               "new": {"model_type": "of-tomorrow", "num_hidden_layers": 2}, "mamba": {"model_type": "mamba", "num_hidden_layers": 2},
               "llava": {"model_type": "llava", "text_config": {"model_type": "llama", "num_hidden_layers": 2}, "vision_config": {}}}

    class Config:
        def __init__(self, fields):
            self.fields = fields

        def to_json_file(self, file):
            with open(file, "w", encoding="utf-8") as out:
                json.dump(self.fields, out)

    module = types.ModuleType("transformers")
    module.AutoConfig = types.SimpleNamespace(from_pretrained=lambda name: Config(configs[name]))
    module.AutoTokenizer = types.SimpleNamespace(from_pretrained=lambda name: Tokenizer())
    monkeypatch.setitem(sys.modules, "transformers", module)


def test_each_mask_is_drawn_with_the_tokens(hub, capsys):
    draw = AttentionMaskVisualizer("gemma")
    assert draw(TEXT) is None
    said = capsys.readouterr().out
    assert "gemma, layers 0-4: window:keys=3" in said and "gemma, layer 5: causal" in said
    assert "gemma, no layer_types: the pattern of gemma3_text" in said
    assert said.count("<s> ") >= 2 and "mat " in said
    assert draw.masks == {"layers 0-4": Mask.parse("window:keys=3", 7), "layer 5": Mask.parse("causal", 7)}


def test_each_text_gets_masks_of_its_own(hub, capsys):
    draw = AttentionMaskVisualizer("llama")
    draw("a b")
    draw(TEXT)
    assert [mask.shape for mask in draw.masks.values()] == [(1, 1, 7, 7)]


@pytest.mark.parametrize("name, masks, said", [
    ("mamba", 0, "mamba, layers 0-1: no attention, and so no mask"), ("llava", 1, "llava, text tokens only: image tokens may see each other")])
def test_layers_that_are_not_drawn_are_reported(hub, capsys, name, masks, said):
    draw = AttentionMaskVisualizer(name)
    draw(TEXT)
    assert said in capsys.readouterr().out and len(draw.masks) == masks


@pytest.mark.parametrize("ask, said", [
    (lambda: AttentionMaskVisualizer("t5"), "^t5: an encoder-decoder"), (lambda: AttentionMaskVisualizer("new"), "^new: .*of-tomorrow"),
    (lambda: AttentionMaskVisualizer(object()), "a model without its tokenizer"),
    (lambda: AttentionMaskVisualizer("llama")(TEXT, suffix="x"), "suffix: it goes with images")])
def test_models_that_cannot_be_drawn_are_errors(hub, ask, said):
    with pytest.raises(maskctl.Error, match=said):
        ask()


def test_an_unknown_type_may_be_assumed_causal(hub, capsys):
    draw = AttentionMaskVisualizer("new", assume="causal")
    draw("a b c")
    assert list(draw.masks.values()) == [Mask.parse("causal", 4)]


def test_without_transformers_one_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(maskctl.Error, match="pip install transformers"):
        AttentionMaskVisualizer("llama")
