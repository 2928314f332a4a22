"""Modules that ran attention of which nothing was seen."""

import functools
import re

import torch

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
