"""Batches as transformers makes them are sound: check() has no error and no warning about the masks that
tiny models with random weights apply, of right and left padding, of packed documents, and of each
step of generation with each cache; asked without anything, and with what the user has.

    sound_masks.py [TYPE...]    the types of TYPES without one

A mask that really opens cells between documents, as of models that do not read position_ids, must
have a finding instead.
"""
import collections
import hashlib
import os
import signal
import sys
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import numpy as np
import torch
import transformers
from tiny_models import made, too_long

import maskctl
from maskctl import Error

TYPES = ["llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi", "phi3", "starcoder2", "olmo2",
         "olmo3", "cohere", "cohere2", "granite", "glm", "glm4", "helium", "smollm3", "exaone4", "ministral3", "mixtral",
         "qwen2_moe", "qwen3_moe", "olmoe", "gpt_oss", "arcee", "ernie4_5", "bert", "roberta", "electra", "camembert",
         "gpt2", "gpt_neo", "gpt_neox", "gptj", "opt", "bloom", "falcon", "mpt", "biogpt", "persimmon", "stablelm",
         "modernbert", "seed_oss", "apertus", "lfm2", "bitnet", "cwm", "llama4_text", "t5", "bart", "pegasus", "distilbert"]
LENGTHS = [24, 15, 7]
DOCUMENTS = [9, 7, 8]
CACHES = ["dynamic", "static"]
STEPS = 4


def padded(side):
    """A batch of rows of several lengths, as a tokenizer pads them."""
    tokens = torch.randint(3, 60, (len(LENGTHS), LENGTHS[0]))
    valid = torch.zeros_like(tokens)
    for row, length in enumerate(LENGTHS):
        valid[row, slice(-length, None) if side == "left" else slice(length)] = 1
    return {"input_ids": tokens * valid, "attention_mask": valid}


def positions_of(valid):
    """As generate() makes them: counted from the first token, 1 in padding."""
    return (valid.cumsum(-1) - 1).masked_fill(valid == 0, 1)


class Sound:
    """Asks check() about masks, each once, and counts what it finds."""

    def __init__(self):
        self.asked = self.masks = self.leaking = 0
        self.alarms = collections.defaultdict(list)
        self.known = set()

    def ask(self, where, mask, expected=None, **known):
        """`expected`: the only finding that is true of the mask, if there is one."""
        cells = np.asarray(mask.to("dense"))
        told = [(name, array.numpy().tobytes(), array.shape) for name, array in sorted(known.items())]
        key = hashlib.sha256(repr((cells.shape, told, expected)).encode() + cells.tobytes()).hexdigest()
        self.masks += 1
        if key in self.known:
            return
        self.known.add(key)
        self.asked += 1
        found = [one for one in mask.check(**known).findings if one["severity"] != "note"]
        if expected:
            self.leaking += 1
            if not any(one["id"] == expected for one in found):
                self.alarms[f"{expected} is missing"].append((where, tuple(known), ""))
            return
        for one in found:
            self.alarms[one["id"]].append((where, tuple(known), one["message"]))


def seen(model, call):
    with maskctl.watch(model) as masks, torch.no_grad():
        call()
    return list(masks)


def tokens_used(mask):
    """How many keys are not slots at the end that no query sees, as in a static cache."""
    seen_keys = np.flatnonzero(np.asarray(mask.to("dense")).any((0, 1, 2)))
    return int(seen_keys[-1]) + 1 if len(seen_keys) else 0


def crosses(mask, ids):
    cells = np.asarray(mask.to("dense")) != 0
    ids = ids.numpy()
    return bool((cells & (ids[:, None, :, None] != ids[:, None, None, :])).any())


def check_padding(sound, name, model, side):
    batch = padded(side)
    extra = {}
    if model.config.is_encoder_decoder:
        extra["decoder_input_ids"] = torch.randint(3, 60, (len(LENGTHS), 10))
    valid = batch["attention_mask"]
    for mask in seen(model, lambda: model(**batch, **extra)):
        where = f"{name}, {side} padding, {mask.name}"
        sound.ask(where, mask)
        if mask.shape[3] != valid.shape[1]:
            continue  # the decoder's own tokens
        if mask.shape[2] == valid.shape[1]:
            sound.ask(where, mask, padding=valid)
            sound.ask(where, mask, padding=valid, positions=positions_of(valid))


def check_packing(sound, name, model):
    """Documents by position_ids alone. Models that do not read them leak, which must be found."""
    positions = torch.cat([torch.arange(n) for n in DOCUMENTS])[None]
    ids = torch.cat([torch.full((n,), i) for i, n in enumerate(DOCUMENTS)])[None]
    tokens = torch.randint(3, 60, positions.shape)
    try:
        masks = seen(model, lambda: model(input_ids=tokens, position_ids=positions, use_cache=False))
    except TypeError:
        return  # the model takes no position_ids
    for mask in masks:
        where = f"{name}, packing, {mask.name}"
        if mask.shape[3] > len(ids[0]):
            mask = mask[..., :len(ids[0])]  # one more column is a sink
        expected = "document-leak" if crosses(mask, ids) else None
        sound.ask(where, mask)
        sound.ask(where, mask, expected, positions=positions)
        sound.ask(where, mask, expected, segments=ids)


def check_generation(sound, name, model, cache):
    batch = padded("left")
    valid = torch.cat([batch["attention_mask"], batch["attention_mask"].new_ones(len(LENGTHS), STEPS)], 1)
    call = lambda: model.generate(**batch, max_new_tokens=STEPS, min_new_tokens=STEPS, do_sample=False,
                                  cache_implementation=cache, pad_token_id=0)
    for mask in seen(model, call):
        where = f"{name}, {cache} cache, {mask.name}"
        sound.ask(where, mask)
        used = tokens_used(mask)
        if model.config.is_encoder_decoder or not LENGTHS[0] <= used <= valid.shape[1]:
            continue  # the keys of a window are not counted from the first token
        # The slots after the last token are cut off: flags of padding are of the tokens so far.
        sound.ask(where, mask[..., :used] if used < mask.shape[3] else mask, padding=valid[:, :used])


def check_type(sound, model_type):
    model, _ = made(model_type, 4, {})
    if model.can_generate():
        model.generation_config.eos_token_id = None
    ran = []
    for implementation in ("eager", "sdpa"):
        try:
            model.set_attn_implementation(implementation)
        except ValueError:
            continue  # this model has no sdpa
        name = f"{model_type}, {implementation}"
        jobs = [("right", lambda: check_padding(sound, name, model, "right")),
                ("left", lambda: check_padding(sound, name, model, "left"))]
        if not model.config.is_encoder_decoder:
            jobs.append(("packing", lambda: check_packing(sound, name, model)))
        if model.can_generate():
            jobs += [(cache, lambda cache=cache: check_generation(sound, name, model, cache)) for cache in CACHES]
        for job, run in jobs:
            try:
                run()
                ran.append(job)
            except (ValueError, TypeError, NotImplementedError, RuntimeError, Error) as error:
                print(f"{name}, {job}: not run: {type(error).__name__}: {str(error)[:90]}", flush=True)
    return ran


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    signal.signal(signal.SIGALRM, too_long)
    sound = Sound()
    types = 0
    for model_type in sys.argv[1:] or TYPES:
        try:
            signal.alarm(120)
            types += bool(check_type(sound, model_type))
        except Exception as error:  # report it and try the next type
            print(f"{model_type}: {type(error).__name__}: {str(error)[:100]}", flush=True)
        finally:
            signal.alarm(0)
    for finding, places in sound.alarms.items():
        print(f"{finding}: {len(places)} masks")
        for where, known, message in places[:4]:
            print(f"    {where}; given {', '.join(known) or 'nothing'}: {message}")
    alarms = sum(len(places) for places in sound.alarms.values())
    print(f"transformers {transformers.__version__}, torch {torch.__version__}: {types} model types, {sound.masks} masks, "
          f"{sound.asked} of them different questions, {sound.leaking} with leaks that are found; {alarms} false alarms")
    sys.exit(alarms > 0)


if __name__ == "__main__":
    main()
