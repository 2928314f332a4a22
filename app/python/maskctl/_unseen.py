"""Modules that ran attention of which nothing was seen."""

import functools
import re

import torch

from maskctl._seen import joined

_UNSEEN = "its forward ran, but no attention function that is known, and no softmax of a product of queries and keys"


@functools.lru_cache(None)
def is_attention(kind):
    return re.search("attention|attn", kind, re.IGNORECASE) is not None


# Kernels that do not have attention in the names of their operators.
_OPERATORS = re.compile(r"attention|attn|^xformers_flash\w*::|^_vllm_fa\w*::|^sgl_kernel::(fwd|.*mla)|"
                        r"^flashinfer::.*(prefill|decode|paged_run|ragged_run|mla)", re.IGNORECASE)


@functools.lru_cache(None)
def is_attention_operator(name):
    """Whether an operator of torch.ops, "xformers::efficient_attention_forward_cutlass", is attention, and forward."""
    return _OPERATORS.search(name) is not None and re.search("backward|bwd|combine|merge", name) is None


_STATES = re.compile(r"(Mamba\w*(Mixer|Layer)|Delta(Net|Rule|Attention)|(Lightning|Linear)Attention|Rglru|RwkvSelfAttention|"
                     r"LSTM\w*Layer|Retention|Hyena\w*)$")


def beside_attention(names, module):
    """The modules with a convolution along the tokens, or with a state: "layers.0-2.conv (ShortConv)"; empty where there
    are none. names: of modules, by id."""
    found, inside = {}, set()
    for one in module.modules():
        kind = type(one).__name__
        mixes = isinstance(one, torch.nn.RNNBase) or _STATES.search(kind) or any(
            isinstance(child, torch.nn.Conv1d) and child.kernel_size[0] > 1 for child in one.children())
        if mixes and id(one) not in inside:
            inside.update(map(id, one.modules()))
            found.setdefault(kind, []).append(names[id(one)] or "the model")
    return ", ".join(f"{joined(layers)} ({kind})" for kind, layers in found.items())


def reason(frame, seen):
    """Why attention of a module that ran was not seen, where so many calls were; empty where there is none."""
    if frame.bare:
        return f"its forward weighs values with a product of queries and keys, {frame.bare}, and no softmax of it was seen"
    module = frame.module
    if seen != frame.before:
        return ""
    if isinstance(module, torch.jit.ScriptModule):
        graph = str(module.inlined_graph) if hasattr(module, "inlined_graph") else ""
        return "its forward is TorchScript" if "softmax" in graph or "scaled_dot_product" in graph else ""
    if is_attention(type(module).__name__) and not isinstance(module, (torch.nn.Dropout, torch.nn.Softmax)):
        return f"{_UNSEEN}: {frame.other} is not one" if frame.other else _UNSEEN
    return ""
