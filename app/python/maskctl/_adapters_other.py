"""How the kit calls xformers, keras and NATTEN."""

import os

from maskctl._adapter import adapter, of_torch, plain_attention, torch_mask
from maskctl._kit_cases import Unsupported


@of_torch("xformers", ("xformers",))
def xformers(q, k, v, case):
    import torch
    from xformers.ops import memory_efficient_attention

    case.only("scale", "bias")
    mask = torch_mask(case)
    if mask.dtype is torch.bool:
        mask = torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill(~mask, float("-inf"))
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    packed = [x.transpose(1, 2) for x in (q, k, v)]
    return memory_efficient_attention(*packed, attn_bias=mask, scale=case.scale).transpose(1, 2)


def _xformers_bias(case):
    """The bias of xformers that is made of arguments like those of the steps of a case."""
    from xformers.ops.fmha import attn_bias as biases

    queries, keys = case.query.shape[1], case.key.shape[1]
    steps = dict(case.chain("causal", "window", "doc", "kv-lengths"))
    causal, window, documents = (steps.get(name) for name in ("causal", "window", "doc"))
    corner = {step.get("align") for step in steps.values()} - {None}
    if "kv-lengths" in steps and len(steps) == 1:
        import numpy as np

        lengths = np.broadcast_to(steps["kv-lengths"]["lens"], case.query.shape[0])
        return biases.BlockDiagonalPaddedKeysMask.from_seqlens([queries] * len(lengths), keys, lengths.tolist())
    if documents is not None and "lens" in documents:
        bias = biases.BlockDiagonalMask.from_seqlens(documents["lens"])
        if window is None:
            return bias if causal is None else bias.make_causal()
        if window["right"] == 0 or causal is not None:
            return bias.make_causal().make_local_attention(window["left"] + 1)
    if documents is None and window is not None and causal is None and corner <= {"bottom-right"}:
        if None in (window["left"], window["right"]):
            raise Unsupported("a window has two sides")
        return biases.LocalAttentionFromBottomRightMask(window_left=window["left"], window_right=window["right"])
    if list(steps) == ["causal"] and not set(causal) - {"align"}:
        bottom = corner == {"bottom-right"}
        return biases.LowerTriangularFromBottomRightMask() if bottom else biases.LowerTriangularMask()
    raise Unsupported(f"no bias for {case.steps}")


_NUMBERS = {"row", "nan", "scale", "cap", "bias", "sink-logits", "heads", "value", "lse", "gradient"}


def _attention_of(case, mask):
    """Plain attention under a mask that a bias means, with zeros for queries without a key: a bias says no more."""
    import numpy as np

    given = plain_attention(case, mask)
    empty = np.broadcast_to(~mask.any(-1), given["lse"].shape)
    return {"out": np.where(empty.transpose(0, 2, 1)[..., None], 0, given["out"])}


@adapter("xformers.biases", ("torch", "xformers"))
def xformers_biases(case):
    """What the biases of xformers materialize, in plain attention: its kernels need a GPU."""
    batch, queries, keys = case.query.shape[0], case.query.shape[1], case.key.shape[1]
    if case.rule.split(".")[0] in _NUMBERS:
        raise Unsupported("a bias is a mask, and says nothing of numbers")
    bias = _xformers_bias(case)
    packed = hasattr(bias, "k_seqinfo")  # batch entries follow each other in one
    if not packed or batch == 1:
        return _attention_of(case, (bias.materialize((queries, keys)).numpy() == 0)[None, None])
    import numpy as np

    whole = bias.materialize((batch * queries, batch * keys)).numpy() == 0
    blocks = whole.reshape(batch, queries, batch, keys)
    return _attention_of(case, np.stack([blocks[b, :, b] for b in range(batch)])[:, None])


@adapter("keras", ("torch", "keras"))
def keras_ops(case):
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras
    import torch

    case.only("scale", "bias")
    arrays = [torch.from_numpy(array).to(getattr(torch, case.dtype)) for array in (case.query, case.key, case.value)]
    bias = None if case.bias is None else torch.from_numpy(case.bias).to(arrays[0].dtype)
    out = keras.ops.dot_product_attention(*arrays, bias=bias, mask=torch.from_numpy(case.mask), scale=case.scale)
    return out.detach().cpu().float().numpy()


@of_torch("natten", ("natten",))
def natten(q, k, v, case):
    """Neighbourhoods in one and two dimensions, by the path that is FlexAttention where there is no libnatten;
    causal is a neighbourhood of all tokens."""
    import natten as library

    case.only("scale")
    queries, keys = q.shape[2], k.shape[2]
    if queries != keys:
        raise Unsupported("query and key have equal lengths")
    causal = not case.steps.startswith("neighbourhood")
    if causal:
        left, right = case.window("top-left")
        if right != 0:
            raise Unsupported(f"no neighbourhood for {case.steps}")
        shape, window = [queries], [queries if left is None else left + 1]
    else:
        (_, given), = case.chain("neighbourhood")
        shape, window = ([one] if isinstance(one, int) else one for one in (given["shape"], given["window"]))
    attend = {1: library.na1d, 2: library.na2d}[len(shape)]
    grid = [x.transpose(1, 2).reshape(x.shape[0], *shape, x.shape[1], x.shape[3]) for x in (q, k, v)]
    backend = {} if library.HAS_LIBNATTEN else {"backend": "flex-fna"}
    out = attend(*grid, kernel_size=tuple(window), is_causal=(causal,) * len(shape), scale=case.scale, **backend)
    return out.flatten(1, len(shape)).transpose(1, 2)
