"""Mask.plot() with matplotlib, AttentionMaskVisualizer with transformers, rows with pandas where it is
installed; writes pictures to a folder, to be looked at.

    pictures.py FOLDER
"""
import contextlib
import io
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import matplotlib

matplotlib.use("Agg")
import numpy as np
import torch
from matplotlib import pyplot
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModel, BertConfig, Gemma3TextConfig, LlamaConfig, MistralConfig, PreTrainedTokenizerFast

import maskctl
from maskctl import Mask

TEXT = "the cat sat on the mat and slept again today"
SMALL = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=6, num_attention_heads=4,
             num_key_value_heads=2, head_dim=8, max_position_embeddings=64)
CONFIGS = {"gemma3": Gemma3TextConfig(**SMALL, sliding_window=3), "llama": LlamaConfig(**SMALL),
           "mistral": MistralConfig(**SMALL, sliding_window=4), "bert": BertConfig(**SMALL)}


def tokenizer_of(text):
    words = {word: i for i, word in enumerate(["[UNK]", *dict.fromkeys(text.split())])}
    tokens = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokens, unk_token="[UNK]")


def said_by(draw):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        draw(TEXT)
    return out.getvalue()


def visualize(folder):
    """What the config says is what the model applies, in each layer."""
    tokenizer = tokenizer_of(TEXT)
    for name, config in CONFIGS.items():
        config.save_pretrained(f"{folder}/{name}")
        tokenizer.save_pretrained(f"{folder}/{name}")
        of_config = maskctl.AttentionMaskVisualizer(f"{folder}/{name}")
        model = AutoModel.from_config(config).eval()
        model.set_attn_implementation("eager")
        of_model = maskctl.AttentionMaskVisualizer(model, tokenizer)
        said = said_by(of_config) + said_by(of_model)
        assert said.count("slept") >= 2 * len(of_config.masks), said
        applied = [mask[0, 0] for mask in of_model.masks.values()]
        assert len(applied) == len(of_config.masks) and all(one in applied for one in of_config.masks.values()), name
        print(f"{name}: {', '.join(mask.pipeline for mask in of_config.masks.values())}")


def plots(folder):
    tokenizer = tokenizer_of(TEXT)
    ids = torch.tensor([tokenizer(TEXT)["input_ids"]])
    near, nearer = Mask.parse("window:keys=4096", 1 << 17), Mask.parse("window:keys=4097", 1 << 17)
    packed = Mask.parse("doc:lens=40000+60000+31072 | window:keys=16384 | open:q=100000,k=20000", 1 << 17)
    distance = -0.1 * np.abs(np.subtract.outer(np.arange(300), np.arange(300)))
    drawn = {"tokens": Mask.parse("causal", 10).plot(tokens=(tokenizer, ids), title=r"$\frac{1}{"),
             "packed": packed.plot(), "marks": near.plot(marks=near ^ nearer), "decode": packed[..., -1:, :].plot(),
             "bias": Mask.parse("window:keys=100 | doc:lens=120+180", 300).plot(bias=torch.from_numpy(distance).bfloat16())}
    for name, ax in drawn.items():
        ax.figure.savefig(f"{folder}/{name}.png")
    figure, sides = pyplot.subplots(1, 2, figsize=(10, 5))
    assert packed.plot(sides[0], title="") is sides[0] and near.plot(sides[1]) is sides[1]
    figure.savefig(f"{folder}/both.png")


def frames():
    try:
        import pandas
    except ImportError:
        return print("no pandas")
    answer = Mask.parse("causal", 24).check(segments=np.repeat([0, 1], 12))
    frame = pandas.DataFrame(answer.rows())
    assert list(frame["id"]) == ["document-leak"] and list(pandas.DataFrame(answer.findings)["id"]) == ["document-leak"]
    print(frame.T)


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    visualize(sys.argv[1])
    plots(sys.argv[1])
    frames()
