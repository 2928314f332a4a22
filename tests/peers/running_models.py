"""maskctl.watch and maskctl.capture on tiny models with random weights of transformers, in the ways in which
their users run them. Each row has to be the mask that the weights of eager attention show, or to say that it
was not read; outputs keep every bit, and nothing stays behind. Faults that are planted are found in their
layer.

    peers/bin/pip install a wheel of maskctl, then
    peers/bin/python tests/peers/running_models.py [TYPE...]
"""
import collections
import contextlib
import os
import random
import sys
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import torch
import transformers
from tiny_models import made
from torch.nn import functional

import maskctl

DECODERS = ["llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "starcoder2", "olmo2",
            "olmo3", "cohere", "cohere2", "granite", "glm", "glm4", "smollm3", "exaone4", "ministral3", "mixtral",
            "qwen2_moe", "qwen3_moe", "olmoe", "gpt_oss", "arcee", "gpt2", "gpt_neox", "gpt_neo", "gptj", "codegen",
            "opt", "biogpt", "persimmon", "stablelm", "phi", "seed_oss", "bloom", "falcon", "mpt", "xglm", "llama4_text",
            "deepseek_v3", "jetmoe", "ctrl", "bitnet", "lfm2", "qwen3_next", "minimax"]
ENCODERS = ["bert", "roberta", "electra", "camembert", "distilbert", "albert", "deberta", "mpnet", "modernbert",
            "longformer", "big_bird", "xlm", "flaubert", "squeezebert", "convbert", "funnel", "xlnet", "nystromformer",
            "yoso", "ibert", "roformer", "rembert", "megatron-bert", "mobilebert", "esm", "layoutlm", "ernie"]
TOKENS = 24


def attention_modules(model):
    """The modules whose output has the weights of a softmax."""
    return {name: module for name, module in model.named_modules() if "Attention" in type(module).__name__
            and not any("Attention" in type(one).__name__ for one in list(module.modules())[1:])}


def weights_of(model, run):
    """The cells that have a weight, call by call of each layer, as forward hooks on eager attention see them."""
    seen, hooks = collections.defaultdict(list), []
    for name, module in attention_modules(model).items():
        def hook(module, arguments, output, name=name):
            for one in output if isinstance(output, tuple) else ():
                if isinstance(one, torch.Tensor) and one.ndim == 4 and one.shape[-2] <= TOKENS + 8:
                    sums = one.float().sum(-1)
                    if one.min() >= 0 and (sums < 1.01).all() and not (one.shape[-1] == one.shape[1] == one.shape[2]):
                        seen[name].append(one)
        hooks.append(module.register_forward_hook(hook))
    try:
        run(output_attentions=True)
    finally:
        for hook in hooks:
            hook.remove()
    return seen


def dense(mask):
    return torch.from_dlpack(mask).bool().reshape(mask.shape)


def same(one, other, rows):
    """Whether two masks agree in the rows of queries that are no padding."""
    if one.shape[-2:] != other.shape[-2:]:
        return False
    heads = max(one.shape[1], other.shape[1])
    batch = max(one.shape[0], other.shape[0])
    one, other = (cells.expand(batch, heads, -1, -1) for cells in (one, other))
    if rows is not None and len(rows) == batch and one.shape[2] >= rows.shape[1]:
        keep = functional.pad(rows, (0, one.shape[2] - rows.shape[1]), value=1).bool()[:, None, :, None]
        one, other = one & keep, other & keep
    return torch.equal(one, other)


def state():
    """What has to be as before."""
    found = [functional.scaled_dot_product_attention, torch.nn.Module.__call__, torch.softmax, torch.matmul, torch.bmm,
             torch.baddbmm, torch.einsum, torch.cat, torch._ops.OpOverload.__call__, functional.softmax,
             functional.multi_head_attention_forward, *transformers.AttentionInterface._global_mapping.values()]
    found += [key for key in vars(torch.Tensor) if key in ("softmax", "matmul", "bmm", "baddbmm", "__matmul__")]
    for name, module in sys.modules.items():
        if name.startswith("transformers.models.") and hasattr(module, "eager_attention_forward"):
            found.append(module.eager_attention_forward)
    return [id(one) if not isinstance(one, str) else one for one in found]


def tensors_of(output):
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return [tensor for one in output for tensor in tensors_of(one)]
    return []


def equal(one, other):
    return len(one) == len(other) and all(torch.equal(a, b) or (a.isnan() == b.isnan()).all() and torch.equal(
        a.nan_to_num(), b.nan_to_num()) for a, b in zip(one, other))


class Tally(collections.Counter):
    def __str__(self):
        return ", ".join(f"{count} {what}" for what, count in sorted(self.items()))


def watched(eye, model, run, tally, what):
    """Runs inside `eye`; checks that nothing is disturbed."""
    before = state()
    torch.manual_seed(3)
    plain = tensors_of(run())
    torch.manual_seed(3)
    with eye(model) as rows:
        inside = tensors_of(run())
    tally["models"] += 1
    if state() != before or not equal(plain, inside):
        tally["DISTURBED"] += 1
        print(f"DISTURBED: {what}, {eye.__name__}")
    return rows


def compare(rows, seen, valid, tally, what):
    """Each row against the weights: true, not read, or false."""
    for call in rows.calls:
        tally["rows"] += 1
        if call.mask is None or call.unread:
            tally["not read"] += 1
            tally[f"  not read: {what.split(',')[0]}: {call.unread[:60]}"] += 1
            continue
        layer = next((name for name in seen if call.layer == name or call.layer.startswith(name + ".")
                      or name.startswith(call.layer + ".")), None)
        if layer is None:
            tally["without weights to compare"] += 1
            continue
        mask = dense(call.mask)
        keys = mask.shape[-1]
        if any(same(mask, weights[..., :keys] > 0, valid) for weights in seen[layer]):
            tally["true"] += 1
        else:
            tally["FALSE"] += 1
            print(f"FALSE: {what}: {call.layer} {call.function} {call.lengths} {call.given} {maskctl._seen.pattern(call.mask)}; "
                  f"weights {[tuple(one.shape) for one in seen[layer]]}")
    missing = [name for name in seen if not any(
        call.layer == name or call.layer.startswith(name + ".") or name.startswith(call.layer + ".") for call in rows.calls)]
    if missing:
        tally["OMITTED"] += len(missing)
        print(f"OMITTED: {what}: {missing}")


def batches(model, ids):
    """(name, arguments, rows that are no padding) of the ways to call a text model."""
    valid = torch.ones_like(ids)
    valid[1, 15:] = 0
    cache = {"use_cache": False} if "use_cache" in model.config.to_dict() else {}
    yield "plain", {"input_ids": ids, **cache}, None
    yield "padded right", {"input_ids": ids, "attention_mask": valid, **cache}, valid
    yield "padded left", {"input_ids": ids, "attention_mask": valid.flip(1), **cache}, valid.flip(1)


def packed(ids):
    positions = torch.cat([torch.arange(n) for n in (9, 7, 8)])[None]
    return {"input_ids": ids[:1], "position_ids": positions, "use_cache": False}


def generations(ids):
    """(name, options) of generate()."""
    yield "generate", {}
    yield "generate static", {"cache_implementation": "static"}
    yield "generate beams", {"num_beams": 2}
    yield "generate sampled", {"do_sample": True}
    yield "generate without cache", {"use_cache": False}


def implementations(model):
    for name in ("eager", "sdpa"):
        try:
            model.set_attn_implementation(name)
        except (ValueError, ImportError):
            continue
        if all(getattr(part.config, "_attn_implementation", name) == name for part in model.modules() if hasattr(part, "config")):
            yield name


def check(model_type, tally, is_decoder):
    try:
        model, _ = made(model_type, 3, {})
    except Exception as error:
        print(f"{model_type}: not made: {str(error)[:80]}")
        return
    torch.manual_seed(1)
    ids = torch.randint(3, 60, (2, TOKENS))
    jobs = list(batches(model, ids))
    if is_decoder:
        jobs.append(("packed", packed(ids), None))
    for name, arguments, valid in jobs:
        def run(**more):
            with torch.no_grad():
                return model(**{**arguments, **more})
        each(model, model_type, name, run, valid, tally)
    if not is_decoder or not hasattr(model, "generate"):
        return
    for name, options in generations(ids):
        valid = torch.ones_like(ids)
        valid[1, :9] = 0

        def run(**more):
            if "output_attentions" in more:
                more["return_dict_in_generate"] = True
            return model.generate(ids, attention_mask=valid, max_new_tokens=3, min_new_tokens=3, pad_token_id=0,
                                  **options, **more)
        each(model, model_type, name, run, valid, tally)


def each(model, model_type, name, run, valid, tally):
    what = f"{model_type}, {name}"
    try:
        model.set_attn_implementation("eager")
        torch.manual_seed(3)
        seen = weights_of(model, run)
    except Exception as error:
        tally["ways that a model refuses"] += 1
        tally[f"  refused: {what}: {type(error).__name__} {str(error)[:50]}"] += 1
        return
    rows = valid
    if valid is not None and "beams" in name:
        rows = valid.repeat_interleave(2, 0)
    for implementation in implementations(model):
        for eye in (maskctl.watch, maskctl.capture):
            try:
                found = watched(eye, model, run, tally, f"{what}, {implementation}")
            except maskctl.Error as error:
                tally["nothing seen"] += 1
                print(f"{what}, {implementation}, {eye.__name__}: {error}")
                continue
            compare(found, seen, rows, tally, f"{what}, {implementation}, {eye.__name__}")


def main():
    torch.set_num_threads(1)
    asked = sys.argv[1:]
    tally = Tally()
    for types, is_decoder in ((DECODERS, True), (ENCODERS, False)):
        for model_type in types:
            if not asked or model_type in asked:
                check(model_type, tally, is_decoder)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    for what, count in tally.items():
        print(f"{count:6} {what}")


if __name__ == "__main__":
    main()
