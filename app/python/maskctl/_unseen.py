"""Modules that ran attention of which nothing was seen."""

import functools
import re

import torch

_UNSEEN = "its forward ran, but no attention function that is known, and no softmax of a product of queries and keys"


@functools.lru_cache(None)
def is_attention(kind):
    return re.search("attention|attn", kind, re.IGNORECASE) is not None


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
