"""maskctl.see on tiny causal models of transformers with random weights, packed, and padded in a batch of two: its
matrix against plain loops, one run of the model for each token, and how often the model ran for the questions.

    peers/bin/python tests/peers/see_exact.py RESULTS.json [TYPE...]    adds to the file, and prints the figures
"""
import functools
import json
import math
import os
import signal
import statistics
import sys
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
warnings.filterwarnings("ignore")

import numpy as np
import torch
from layer_kinds import with_each_kind, without_cache
from packing import LENGTHS, SECONDS, TOKENS, too_long
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

import maskctl


def plain_amounts(answer, model, batch):
    """Amounts [B, S, T] by a run for each token of each entry, in which only this token is another, as see changes it."""
    ids, others = batch["input_ids"], answer._probe.subject._others()

    def outputs(tokens):
        with torch.no_grad():
            out = model(**{**batch, "input_ids": tokens})
        return out["logits" if "logits" in out else "last_hidden_state"].double().flatten(2)

    plain = outputs(ids)
    amounts = np.zeros((len(ids), plain.shape[1], ids.shape[1]))
    for entry in range(len(ids)):
        for token in range(ids.shape[1]):
            changed = ids.clone()
            changed[entry, token] = others[entry, token]
            moved, size = (outputs(changed) - plain).norm(dim=-1), plain.norm(dim=-1)
            amounts[entry, :, token] = torch.where(size > 0, moved / size, moved)[entry].nan_to_num(nan=np.inf)
    return amounts


def compared(model, batch, **given):
    """What see says of a batch, beside the plain loops."""
    answer = maskctl.see(model, batch, layers=False, **given)
    questions = answer.passes
    found = {"passes": questions, "leaks": [one.name for one in answer.data.questions if one.leaks], "floor": answer.floor}
    amounts = plain_amounts(answer, model, batch)
    for name, mask in (("fast", answer.matrix()), ("exact", answer.matrix(exact=True))):
        cells = np.asarray(mask)[:, 0]
        wrong = cells != (amounts > answer.floor)
        found[name] = {"wrong": int(wrong.sum()), "amounts": [float(f"{one:.3g}") for one in np.sort(amounts[wrong])[-3:]]}
    found["runs"] = answer.passes - questions
    if len(batch["input_ids"]) == 1:
        found["one by one"] = maskctl.see(functools.partial(of_one, model), batch, layers=False, **given).passes
    return found


def of_one(model, **arguments):
    """The model, if it took one row only, so that no copies run beside each other."""
    if len(arguments["input_ids"]) > 1:
        raise ValueError("one row only")
    return model(**arguments)


def facts_of(model_type):
    """{batch: what was found} of a type."""
    model = with_each_kind(model_type)[0]
    draw = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 60, (2, TOKENS), generator=draw)
    positions = torch.cat([torch.arange(n) for n in LENGTHS])[None]
    segments = np.repeat(range(len(LENGTHS)), LENGTHS)
    padding = torch.ones_like(ids)
    padding[0, -5:] = 0
    facts = {}
    for name, batch, given in (("packed", {"input_ids": ids[:1], "position_ids": positions}, {"segments": segments}),
                               ("padded", {"input_ids": ids, "attention_mask": padding}, {})):
        try:
            facts[name] = compared(model, {**batch, **without_cache(model)}, **given)
        except TimeoutError:
            raise
        except Exception as error:  # an argument that the class does not take
            facts[name] = {"refused": f"{type(error).__name__}: {(str(error) or ' ').splitlines()[0][:100]}"}
    return facts


def figures(types):
    """Prints what came out, batch by batch."""
    for name, documents in (("packed", len(LENGTHS)), ("padded", 0)):
        of = {one: facts[name] for one, facts in types.items() if "not built" not in facts}
        ran = {one: fact for one, fact in of.items() if "refused" not in fact}
        for kind in ("fast", "exact"):
            wrong = {one: fact[kind] for one, fact in ran.items() if fact[kind]["wrong"]}
            print(f"{name}, {kind}: {len(ran) - len(wrong)} of {len(ran)} matrices equal plain loops; not {wrong}")
        beside = statistics.median(fact["passes"] for fact in ran.values())
        passes = [fact.get("one by one", fact["passes"]) for fact in ran.values()]
        clean = [fact.get("one by one", fact["passes"]) for fact in ran.values() if not fact["leaks"]]
        print(f"{name}: questions in {statistics.median(passes)} passes (without a leak {statistics.median(clean) if clean else 'none'}, at most {max(passes)}; "
              f"{beside} where copies run beside each other), bar {4 + documents + 2 * math.log2(TOKENS):.1f}; {len(of) - len(ran)} "
              "refuse the batch")
    print(f"{sum('not built' in facts for facts in types.values())} types not built")


def main():
    path = sys.argv[1]
    torch.set_num_threads(1)
    signal.signal(signal.SIGPROF, too_long)
    types = {}
    if os.path.exists(path):
        with open(path) as file:
            types = json.load(file)
    for name in sys.argv[2:] or sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES):
        if name in types:
            continue
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            types[name] = facts_of(name)
        except Exception as error:  # report it and try the next type
            types[name] = {"not built": f"{type(error).__name__}: {(str(error) or ' ').splitlines()[0][:100]}"}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        print(name, json.dumps(types[name]), flush=True)
        with open(path, "w") as file:
            json.dump(types, file, indent=1)
    figures(types)


if __name__ == "__main__":
    main()
