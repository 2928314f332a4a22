"""What tokens of tiny causal models of transformers see, with random weights, asked by maskctl.see: packed
documents with position_ids, with an all-ones mask besides, with a block mask; eager, sdpa and flex attention; left
padding; the future; without a cache. Writes the table of docs/stacks/packing.md.

    peers/bin/python tests/peers/packing.py FACTS.json [TYPE...]    asks, and adds to the file
    peers/bin/python tests/peers/packing.py --page FACTS.json PAGE.md
"""
import json
import os
import re
import signal
import sys
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # flex_attention as it is written
warnings.filterwarnings("ignore")

LENGTHS = (11, 13)
TOKENS = sum(LENGTHS)
SECONDS = 120


def facts_of(model_type):
    """{what was passed: what was seen} of a type."""
    import torch
    from layer_kinds import with_each_kind, without_cache

    import maskctl

    model, lacks = with_each_kind(model_type)
    ids = torch.randint(3, 60, (1, TOKENS), generator=torch.Generator().manual_seed(1))
    positions = torch.cat([torch.arange(n) for n in LENGTHS])[None]
    segments = torch.arange(2).repeat_interleave(torch.tensor(LENGTHS))[None]
    cells = ((segments[0][:, None] == segments[0]) & torch.ones(TOKENS, TOKENS).tril().bool())[None, None]
    block = torch.where(cells, 0.0, torch.finfo(torch.float32).min)
    ends = torch.tensor([0, *torch.tensor(LENGTHS).cumsum(0)], dtype=torch.int32)
    flat = {"seq_idx": segments.int(), "cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": max(LENGTHS), "max_length_k": max(LENGTHS)}
    passed = {"positions": {"position_ids": positions}, "ones": {"position_ids": positions, "attention_mask": torch.ones_like(ids)},
              "block": {"position_ids": positions, "attention_mask": block},
              "bool": {"position_ids": positions, "attention_mask": cells}, "flat": {"position_ids": positions, **flat}}

    def asked(arguments, wholly=False):
        try:
            answer = maskctl.see(model, {"input_ids": ids, **without_cache(model), **arguments}, segments=segments, layers=wholly)
        except TimeoutError:
            raise
        except Exception as error:  # an argument that the class does not take
            return {"refused": f"{type(error).__name__}: {str(error).splitlines()[0][:80]}" if str(error) else type(error).__name__}
        of = {one.name: one for one in answer.data.questions}
        one = of["documents"]
        return {"leaks": one.leaks, "future": of["future"].leaks, "layer": one.layer, "module": one.module,
                "shape": one.shape and one.shape.kind, "passes": answer.passes,
                "same": answer.matrix() == answer.matrix(exact=True) if wholly else None}

    facts = {"lacks": [" ".join(one) for one in lacks], "states": states_of(model)}
    facts |= {name: asked(arguments, name == "positions") for name, arguments in passed.items()}
    for attention in ("sdpa", "flex_attention"):
        try:
            model.set_attn_implementation(attention)
        except Exception as error:
            facts[attention] = {"refused": str(error).splitlines()[0][:80]}
            continue
        facts[attention] = asked(passed["positions"])
    model.set_attn_implementation("eager")
    facts["left"] = left_padding(model, ids)
    return facts


def states_of(model):
    """The classes of its convolutions and states."""
    from maskctl._unseen import beside_attention

    names = {id(module): name for name, module in model.named_modules()}
    return sorted(set(re.findall(r"\((\w+)\)", beside_attention(names, model))))


def left_padding(model, ids):
    """How far the last logits move, of their size, when four tokens of padding come before: with attention_mask
    alone, and with position_ids that count from the first token."""
    import torch

    row = torch.cat([ids[:, :4], ids], 1)
    mask = torch.ones_like(row)
    mask[:, :4] = 0
    positions = (mask.cumsum(1) - 1).clamp(min=0)

    def last(**arguments):
        with torch.no_grad():
            return model(use_cache=False, **arguments).logits[0, -1]

    plain, found = last(input_ids=ids), {}
    for name, more in (("mask", {}), ("positions", {"position_ids": positions})):
        try:
            found[name] = float((last(input_ids=row, attention_mask=mask, **more) - plain).norm() / plain.norm())
        except Exception as error:
            found[name] = type(error).__name__
    return found


def too_long(*_):
    raise TimeoutError(f"more than {SECONDS} processor seconds")


def ask(path, names):
    import torch
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    torch.set_num_threads(1)
    signal.signal(signal.SIGPROF, too_long)
    known = {}
    if os.path.exists(path):
        with open(path) as file:
            known = json.load(file)
    known["versions"] = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
    types = known.setdefault("types", {})
    for name in names or sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES):
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
            json.dump(known, file, indent=1)


def word(fact):
    return "refused" if "refused" in fact else "leaks" if fact["leaks"] else "apart"


def row_of(facts):
    """The cells of a type in the table."""
    other = {name: word(facts[name]) for name in ("sdpa", "flex_attention")}
    kernels = [f"{name.removesuffix('_attention')} {said}" for name, said in other.items()
               if said != word(facts["positions"]) and said != "refused"]
    apart = [name for name in ("positions", "block") if word(facts[name]) == "apart"]
    safe = {"positions": "position_ids and use_cache=False, no attention_mask",
            "block": "position_ids, a 4-D bias and use_cache=False"}
    left = facts["left"]
    moved = [not isinstance(left[name], float) or left[name] > 1e-3 for name in ("mask", "positions")]
    return (word(facts["positions"]) + (f" ({', '.join(kernels)})" if kernels else ""), word(facts["ones"]), word(facts["block"]),
            "no" if not moved[0] else "yes" if moved[1] else "without position_ids",
            "yes" if facts["positions"].get("future") else "no", safe[apart[0]] if apart else "one document a row")


def page(path, out):
    with open(path) as file:
        known = json.load(file)
    rows, shapes, packed = {}, {}, {}
    missing = [name for name, facts in sorted(known["types"].items()) if "not built" in facts]
    for name, facts in sorted(known["types"].items()):
        if "not built" in facts or "refused" in facts["positions"]:
            continue
        rows.setdefault(row_of(facts), []).append(name)
        if facts["states"]:
            what = "not taken" if facts["flat"].get("refused", "").startswith("TypeError") else word(facts["flat"])
            packed.setdefault(what, []).append(name)
        one = facts["positions"]
        if one["leaks"]:
            attention = one["shape"] in ("all", "document")  # of which each module is the attention of its type
            shapes.setdefault(one["shape"], []).append(f"{name} ({one['module']})" if one["module"] and not attention else name)
    count = sum(map(len, rows.values()))
    lines = ["| types | position_ids | and ones | and a 4-D bias | left padding moves logits | sees the future | to be safe pass |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for cells, names in sorted(rows.items(), key=lambda one: -len(one[1])):
        lines.append(f"| {', '.join(names)} | {' | '.join(cells)} |")
    versions = known["versions"]
    head = (f"{count} causal types of transformers {versions['transformers']} (torch {versions['torch']}, CPU, random weights, 2 layers or one of "
            f"each kind; documents of {LENGTHS[0]} and {LENGTHS[1]} tokens); {len(missing)} others were not built so small or took too long:")
    added = [facts["bool"] for names in rows.values() for name in names for facts in [known["types"][name]]
             if word(facts["block"]) == "apart"]
    wrong = sum(word(fact) == "leaks" for fact in added)
    said = {"decay": "a state that fades", "document": "whole documents", "near": "the tokens before a border",
            "column": "single tokens", "choice": "a choice among tokens", "cell": "single cells", "all": "every token",
            "shift": "the token at one distance", "joined": "some documents", "unknown": "in no pattern that is known"}
    told = [f"* {said[kind]}: {', '.join(names)}" for kind, names in sorted(shapes.items())]
    lacking = [name for names in rows.values() for name in names if known["types"][name]["lacks"]]
    head = head[:-1] + (f"; not each kind of {', '.join(sorted(lacking))}:" if lacking else ":")
    of_flat = {"refused": "refused for want of a kernel", "leaks": "**leaks** all the same", "not taken": "no argument of the class",
               "apart": "apart"}
    flat = [f"* {of_flat[what]}: {', '.join(names)}" for what, names in sorted(packed.items())]
    begin, end = "<!-- tests/peers/packing.py writes from here -->", "<!-- to here -->"
    with open(out) as file:
        text = file.read()
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    body = "\n".join([begin, head, "", *lines, "", "What reaches over with position_ids alone, and the module that leaks first:", "", *told, "",
                      "Convolutions and states given `seq_idx` and cumulative lengths, too, as DataCollatorWithFlattening makes them, without "
                      "causal_conv1d, mamba_ssm and fla:", "", *flat, "",
                      f"The same mask as bool leaks in {wrong} of the {len(added)} types that a 4-D bias keeps apart: eager attention adds it to "
                      "the scores, so that True is 1.", end])
    with open(out, "w") as file:
        file.write(before + body + after)


if __name__ == "__main__":
    if sys.argv[1] == "--page":
        page(*sys.argv[2:])
    else:
        ask(sys.argv[1], sys.argv[2:])
