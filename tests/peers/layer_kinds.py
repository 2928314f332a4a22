"""Which kinds of layers a tiny model of transformers has, and which the default config of its class: a type whose
first two layers are alike has no layer of another kind in a model of two.

    peers/bin/python tests/peers/layer_kinds.py [TYPE...]    the types whose first two layers lack a kind
"""
import inspect
import logging
import os
import re
import signal
import sys
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)  # of keys that a class does not take, which are tried

import torch
from tiny_models import made
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

MOST = 12  # layers of a model that has each kind
MIXERS = re.compile("Attention|Conv|Mixer|Mamba|Delta|Recurrent|Rec$|SSM|Linear.*Block")
# Where the default config has one kind of layers, and the class another.
CHOICES = {"lfm2": {"layer_types": ["conv", "full_attention"]}, "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
           "bamba": {"attn_layer_indices": [1]},
           "qwen4_exp_text": {"layer_types": ["linear_attention", "indexed_attention"], "indexer_n_heads": 4, "indexer_kv_heads": 1,
                              "indexer_head_dim": 8, "indexer_budget": 8, "indexer_compress_ratio": 2}}
LISTS = ("layer_types", "layers_block_type", "mlp_layer_types")


def without_cache(model):
    """use_cache=False, where a model takes it, perhaps among arguments that it hands on."""
    parameters = inspect.signature(model.forward).parameters
    hands_on = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    takes = "use_cache" in parameters or (hands_on and hasattr(model.config, "use_cache"))
    return {"use_cache": False} if takes else {}


def layers_of(model):
    """The kind of each layer: what the config calls it, and the classes of the modules inside that hold numbers."""
    lists = [one for one in model.modules() if isinstance(one, torch.nn.ModuleList)]
    decoder = max(lists, key=lambda one: sum(p.numel() for p in one.parameters()), default=[])
    called = [values for name in ("layer_types", "mlp_layer_types") if isinstance(values := getattr(model.config, name, None), (list, tuple)) and len(values) == len(decoder)]
    kinds = []
    for number, layer in enumerate(decoder):
        classes = {type(one).__name__ for one in layer.modules() if next(one.parameters(recurse=False), None) is not None}
        kinds.append((*(str(values[number]) for values in called), *sorted(classes)))
    return kinds


def unused(model):
    """The classes of mixers that the file of a model defines and the model does not have, of text."""
    used = {type(one).__name__ for one in model.modules()}
    file = inspect.getmodule(type(model))
    return sorted(name for name, one in vars(file).items() if inspect.isclass(one) and issubclass(one, torch.nn.Module) and
                  one.__module__ == file.__name__ and MIXERS.search(name) and name not in used and
                  not re.search("Vision|Audio|Image|Cross|Encoder|PreTrained|Model$|For[A-Z]", name))


def with_each_kind(model_type):
    """A tiny model with a layer of each kind, two in all at least, and the kinds that it lacks."""
    if model_type in CHOICES:
        return made(model_type, 2, CHOICES[model_type])[0], []
    config = CONFIG_MAPPING[model_type]()
    try:
        full = layers_of(made(model_type, getattr(config, "num_hidden_layers", None) or 2, {}, 10 ** 9)[0])
    except TimeoutError:
        raise
    except Exception:  # in a way in which a model of two layers is not
        return made(model_type, 2, {})[0], [("unknown",)]
    first = sorted({kind: number for number, kind in reversed(list(enumerate(full)))}.values())
    lists = {name: values for name in LISTS if isinstance(values := getattr(config, name, None), list) and len(values) == len(full)}
    last = max(first, default=0) + 1
    chosen = [first, first * 2, list(range(last))] if lists else []
    tries = [(2, {})] + [(len(one), {name: [values[at] for at in one] for name, values in lists.items()}) for one in chosen] + [(last, {})]
    best, error = None, LookupError("no layers")
    for layers, extra in tries:
        if not 2 <= layers <= MOST or (best is not None and not set(full) - set(layers_of(best))):
            continue
        try:
            one = made(model_type, layers, extra)[0]
            with torch.no_grad():
                one(input_ids=torch.arange(3, 27)[None], **without_cache(one))
        except TimeoutError:
            raise
        except Exception as refused:  # the class wants other lists, or its sizes do not fit each other
            error = refused
            continue
        if best is None or len(set(layers_of(one)) & set(full)) > len(set(layers_of(best)) & set(full)):
            best = one
    if best is None:
        raise error
    return best, sorted(set(full) - set(layers_of(best)))


def said(kinds):
    """Kinds in words: what not all of them have."""
    common = set.intersection(*map(set, kinds)) if len(kinds) > 1 else set()
    return "; ".join(" ".join(word for word in kind if word not in common) or "the same" for kind in dict.fromkeys(kinds))


def two_layers_of(name):
    try:
        return layers_of(made(name, 2, {})[0])
    except TimeoutError:
        raise
    except Exception:  # not of this class
        return []


def too_long(*_):
    raise TimeoutError("more than 60 processor seconds")


def main():
    torch.set_num_threads(1)
    signal.signal(signal.SIGPROF, too_long)
    lacking = whole = failed = 0
    for name in sys.argv[1:] or sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES):
        signal.setitimer(signal.ITIMER_PROF, 60)
        try:
            model, lacks = with_each_kind(name)
            two = two_layers_of(name)
        except Exception:  # it does not build so small
            failed += 1
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        whole += not lacks
        more = unused(model)
        if set(layers_of(model)) != set(two) or lacks or more:
            lacking += 1
            print(f"{name}: of two layers {said(two) or 'none'} | asked with {len(layers_of(model))}: {said(layers_of(model))}"
                  + (f" | still lacks {said(lacks)}" if lacks else "") + (f" | its class defines {', '.join(more)}" if more else ""), flush=True)
    print(f"{lacking} types whose first two layers lack a kind; {whole} asked with each kind; {failed} not built")


if __name__ == "__main__":
    main()
