"""The cache classes of transformers against their rows in maskctl, and tiny models in each of them.

    phases.py [TYPE...]     (40 types without one)

First each class gets positions for keys, in all steps of up to 24 tokens: which tokens it gives back must be what its
row says, and what masking_utils.py opens of them must be the rows of the mask. Then maskctl.phases runs tiny models
with random weights in each cache and prints a line for each; where a phase differs, the largest difference of the
logits from those of a run without a cache is printed beside it, which a phase that is equal must not have either.
Exits 1 where a row is wrong, or a model differs in logits and not in phases, or the other way round.
"""
import sys
import time

from tiny_models import made  # sets what transformers reads of the environment

import numpy as np
import torch
from transformers import cache_utils, masking_utils

import maskctl
from maskctl._native import Error

TYPES = """llama mistral gemma gemma2 gemma3_text gemma4_text qwen2 qwen3 qwen3_moe phi3 phimoe mixtral cohere cohere2 gpt2
gpt_neox gpt_oss gptj granite granitemoe olmo olmo2 olmo3 starcoder2 stablelm smollm3 exaone4 llama4_text cwm falcon bloom opt mpt
glm glm4 minimax_m2 lfm2 qwen3_next arcee helium""".split()
CACHES = ("dynamic", "static", "quantized")
WINDOW, TOKENS = 6, 24


def layer_of(name):
    if name == "Fp8QuantizedLayer":
        layer = cache_utils.Fp8QuantizedLayer()
        layer._quantize = lambda tensor, scale=None: (tensor, 1.0)
        layer._dequantize = lambda quantised: quantised[0]
        return layer
    static = {"max_cache_len": TOKENS} if "Static" in name else {}
    sliding = {"sliding_window": WINDOW} if "Sliding" in name else {}
    return getattr(cache_utils, name)(**static, **sliding)


def given_by(layer, count, seen):
    """(the token of each slot, what masking_utils opens of it) in the next step of a layer."""
    length, offset = layer.get_mask_sizes(count)
    first = int(layer.get_seq_length())
    numbers = torch.arange(seen + 1, seen + count + 1, dtype=torch.float64).reshape(1, 1, -1, 1)
    held = layer.update(numbers, numbers.clone())[0].reshape(-1).numpy().astype(int) - 1
    assert len(held) == length and first == seen
    rule = (masking_utils.sliding_window_causal_mask_function(WINDOW) if layer.is_sliding else
            masking_utils.causal_mask_function)
    q, k = first + torch.arange(count)[:, None], offset + torch.arange(length)[None]
    return held, rule(0, 0, q, k).expand(count, length).numpy() & (held >= 0)[None] | rule(0, 0, q, k).numpy() & (held < 0)[None]


def check_row(name):
    """All steps of `count` tokens behind `seen`, reached by prompts at once, in chunks and by single tokens."""
    sliding = "Sliding" in name
    kept = WINDOW - 1 if sliding else TOKENS
    mask = maskctl.Mask.parse(f"window:left={kept if sliding else TOKENS},right=0", TOKENS)
    steps, wrong = [], 0
    for way in (TOKENS, 1, 4, 7):
        for seen in range(TOKENS):
            for count in range(1, TOKENS - seen + 1):
                layer = layer_of(name)
                for begin in range(0, seen, way):
                    part = torch.arange(begin + 1, min(begin + way, seen) + 1, dtype=torch.float64).reshape(1, 1, -1, 1)
                    layer.update(part, part.clone())
                held, opened = given_by(layer, count, seen)
                want = set(range(max(seen - kept, 0), seen + count))
                wrong += set(held[held >= 0]) != want
                steps.append((held, opened, seen, count))
    most = max(len(held) for held, *_ in steps)
    positions, queries = np.full((len(steps), most), -1), np.full((len(steps), TOKENS), -1)
    opened = np.zeros((len(steps), 1, TOKENS, most), bool)
    for number, (held, cells, seen, count) in enumerate(steps):
        positions[number, :len(held)] = held
        queries[number, :count] = np.arange(seen, seen + count)
        opened[number, 0, :count, :len(held)] = cells
    answer = maskctl.phases(mask, positions=positions, queries=queries, open=opened)
    print(f"{name:<28}{len(steps)} steps: {wrong} keep other tokens than the row says; {answer.text.splitlines()[0]}")
    return wrong == 0 and bool(answer)


def check_rollback(name):
    """The next step once drafts that were written are taken back: as if they had not been."""
    wrong = 0
    for seen in range(1, TOKENS - 4):
        for drafts in (1, 3):
            layer = layer_of(name)
            if layer.is_sliding and seen + drafts >= WINDOW:
                continue
            numbers = torch.arange(1, seen + drafts + 1, dtype=torch.float64).reshape(1, 1, -1, 1)
            layer.update(numbers[:, :, :seen], numbers[:, :, :seen].clone())
            layer.update(numbers[:, :, seen:] + 100, numbers[:, :, seen:].clone())
            layer.crop(-drafts)
            held, opened = given_by(layer, 1, seen)
            wrong += sorted(held[opened[0]]) != list(range(seen + 1))
    print(f"{name:<28}taken back: {wrong} next steps open other tokens than without the drafts")
    return wrong == 0


def logits_differ(model, prompt, cache):
    """The largest difference of logits of a prompt in chunks of 7 from those of a run without a cache."""
    from maskctl._phases_run import _cache

    with torch.no_grad():
        whole = model(input_ids=prompt, use_cache=False).logits
        made_cache = _cache(cache, model, prompt.shape[1] + 5)
        parts = [model(input_ids=prompt[:, begin:begin + 7], past_key_values=made_cache, use_cache=True).logits
                 for begin in range(0, prompt.shape[1], 7)]
    return float((torch.cat(parts, 1) - whole).abs().max() / whole.abs().max())


def main():
    sound = all([check_row(name) for name in ("DynamicLayer", "DynamicSlidingWindowLayer", "DynamicIndexedLayer", "StaticLayer",
                                              "StaticSlidingWindowLayer", "StaticIndexedLayer", "Fp8QuantizedLayer")])
    sound &= all([check_rollback(name) for name in ("DynamicLayer", "DynamicSlidingWindowLayer", "StaticLayer")])
    torch.manual_seed(1)
    prompt = torch.randint(3, 60, (1, 15))
    counts = {"equal": 0, "differs": 0, "refused": 0, "odd": 0}
    for kind in sys.argv[1:] or TYPES:
        try:
            model, _ = made(kind, 4, {})
        except Exception as error:
            print(f"{kind:<16}not built: {str(error).splitlines()[0][:80]}")
            continue
        for cache in CACHES:
            begin = time.time()
            try:
                answer = maskctl.phases(model, prompt, cache=cache, chunks=(1, 7), new_tokens=3)
                off = logits_differ(model, prompt, cache)
            except (Error, ValueError, TypeError, AttributeError, NotImplementedError, KeyError, RuntimeError, IndexError) as error:
                counts["refused"] += 1
                print(f"{kind:<16}{cache:<11}refused: {type(error).__name__} {str(error).splitlines()[0][:90]}")
                continue
            tolerance = 0.2 if cache == "quantized" else 1e-4  # fp8 keys are rounded
            off_by_keys = off > tolerance
            wrong = [one for one in answer.answers if not one.equal]
            state = "differs" if wrong else "equal"
            # Layers that have no mask, or were not judged, may differ without a phase that does.
            if state == "equal" and off_by_keys and not answer.notes or state == "differs" and not off_by_keys and any(
                    one.phase == "chunks of 7" for one in wrong):
                counts["odd"] += 1
                sound = False
            counts[state] += 1
            layers = len({layer for one in answer.answers for layer in one.layers})
            said = f"; {wrong[0].phase}, {wrong[0].layers[0]}: {wrong[0].first['text']}" if wrong else ""
            notes = f"; {len(answer.notes)} notes: {answer.notes[0]}" if answer.notes else ""
            print(f"{kind:<16}{cache:<11}{state}: {layers} layers, logits off by {off:.1e}, {time.time() - begin:.0f} s{said}{notes}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    sys.exit(not sound)


main()
