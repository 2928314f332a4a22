"""The masks that maskctl reads from configs, against those that tiny models of transformers apply,
cell by cell: each model type of tiny_models.py, its config as saved and the keys alone that were given
to its class. Prints a line for each difference and refusal, then the counts.

    configs.py MASKCTL DIR    DIR is what tiny_models.py wrote
"""
import glob
import io
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

TOKENS = 40
DECODERS = ("bart", "blenderbot", "blenderbot-small", "marian", "mbart", "mvp", "pegasus",
            "plbart", "whisper")


def run(program, *words):
    return subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)


def layer_mask(program, path, layer):
    made = run(program, "gen", "--hf-config", path, "--layer", layer, f"n={TOKENS}", "-o", "-")
    if made.returncode != 0:
        return made.stderr.decode().strip()
    return np.load(io.BytesIO(made.stdout)).reshape(TOKENS, TOKENS)


def layers_of(entry, config):
    """Yields part and number of each layer, and the mask that the model applied; leaves out layers
    without weights."""
    parts = {"attentions": "", "encoder_attentions": "encoder:", "decoder_attentions": "decoder:",
             "cross_attentions": "cross:"}
    types = entry["saved"].get("layer_types") or entry["saved"].get("layers_block_type")
    for name, masks in entry["masks"].items():
        attention = [i for i, kind in enumerate(types or [])
                     if kind in ("full_attention", "sliding_attention", "chunked_attention",
                                 "attention", "hybrid")]
        if name == "attentions" and types and len(masks) == len(attention) != len(types):
            places = attention  # other layers have no weights
        elif entry["model_type"] == "recurrent_gemma":
            places = [2, 5][:len(masks)]
        else:
            places = range(len(masks))
        part = parts[name]
        if name == "attentions" and entry["model_type"] in DECODERS and config.get(
                "is_encoder_decoder", True):
            part = "decoder:"  # the class has only the decoder
        for place, mask in zip(places, masks):
            if place >= entry["given"].get("num_hidden_layers", 1000):
                continue  # the model runs its layers a second time
            if mask is not None and np.array(mask).shape == (TOKENS, TOKENS):
                if name == "cross_attentions" and "encoder_attentions" not in entry["masks"]:
                    continue
                yield part + str(place), np.array(mask, bool)


def main():
    program, where = sys.argv[1:]
    models = same = refused = wrong = layers = 0
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(glob.glob(os.path.join(where, "*.json"))):
            with open(path) as file:
                entry = json.load(file)
            given = {"model_type": entry["model_type"], **entry["given"]}
            for kind, config in (("saved", entry["saved"]), ("given", given)):
                config_path = os.path.join(scratch, "config.json")
                with open(config_path, "w") as file:
                    json.dump(config, file)
                models += 1
                answer = run(program, "translate", "--hf-config", config_path)
                if answer.returncode == 2:
                    refused += 1
                    print(f"{entry['model_type']} ({kind}): "
                          + re.sub(r"^.*?json: ", "", answer.stderr.decode().strip())[:150])
                    continue
                bad = []
                for layer, want in layers_of(entry, config):
                    layers += 1
                    have = layer_mask(program, config_path, layer)
                    if isinstance(have, str) or (have != want).any():
                        bad.append((layer, have if isinstance(have, str)
                                    else f"{(have != want).sum()} cells"))
                if bad:
                    wrong += 1
                    print(f"WRONG {entry['model_type']} ({kind}): {bad[:3]}")
                else:
                    same += 1
    print(f"{models} configs: {same} the same in all of their {layers} layers, {refused} refused, "
          f"{wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
