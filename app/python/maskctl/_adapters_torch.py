"""How the kit calls torch, and what transformers makes of it."""

import functools

from maskctl._adapter import block_mask, of_torch, torch_mask
from maskctl._kit_cases import Unsupported


def _sdpa(q, k, v, case, backend=None):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    case.only("scale", "bias")
    with sdpa_kernel(getattr(SDPBackend, backend)) if backend else torch.enable_grad():
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=torch_mask(case), scale=case.scale, enable_gqa=q.shape[1] != k.shape[1])


of_torch("torch.sdpa")(_sdpa)
of_torch("torch.sdpa.math")(functools.partial(_sdpa, backend="MATH"))
of_torch("torch.sdpa.flash")(functools.partial(_sdpa, backend="FLASH_ATTENTION"))
of_torch("torch.sdpa.efficient", devices=("cuda",))(functools.partial(_sdpa, backend="EFFICIENT_ATTENTION"))
of_torch("torch.sdpa.cudnn", devices=("cuda",))(functools.partial(_sdpa, backend="CUDNN_ATTENTION"))


def _is_causal(q, k, v, case, backend=None):
    """is_causal=True wherever a case is causal and nothing else; no mask where all is open."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    case.only("scale")
    steps = case.chain("causal")
    if len(steps) > 1 or any("offset" in given for _, given in steps):
        raise Unsupported("is_causal is the only mask of this adapter")
    with sdpa_kernel(getattr(SDPBackend, backend)) if backend else torch.enable_grad():
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=bool(case.steps), scale=case.scale, enable_gqa=q.shape[1] != k.shape[1])


of_torch("torch.sdpa.is_causal")(_is_causal)
of_torch("torch.sdpa.flash.is_causal", devices=("cuda",))(functools.partial(_is_causal, backend="FLASH_ATTENTION"))
of_torch("torch.sdpa.cudnn.is_causal", devices=("cuda",))(functools.partial(_is_causal, backend="CUDNN_ATTENTION"))


@of_torch("flash_attn.cute", ("flash_attn.cute",), ("cuda",))
def _flash_cute(q, k, v, case):
    """FlashAttention 4 with causal, window_size and softcap; it takes arrays with time before heads."""
    import torch
    from flash_attn.cute import flash_attn_func

    case.only("scale", "soft_cap")
    left, right = case.window("bottom-right")
    causal = left is None and right == 0
    out, lse = flash_attn_func(
        *(one.transpose(1, 2) for one in (q, k, v)), softmax_scale=case.scale, causal=causal,
        window_size=(None, None) if causal else (left, right), softcap=case.soft_cap or 0.0, return_lse=True)
    return out.transpose(1, 2), lse.to(torch.float32)


@functools.cache
def _compiled_flex():
    """FlexAttention, compiled once for all cases. Were it to run as it is written after some compilations, as it does
    by default, that would be judged as compiled."""
    import torch
    from torch.nn.attention.flex_attention import flex_attention

    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 100_000
    return torch.compile(flex_attention, fullgraph=True, dynamic=False)


def _flex(q, k, v, case, compiled=False):
    import torch
    from torch.nn.attention.flex_attention import AuxRequest, flex_attention

    case.only("scale", "soft_cap", "bias")
    bias = None if case.bias is None else torch.from_numpy(case.bias).to(case.device)

    def score_mod(score, b, h, i, j):
        if case.soft_cap is not None:
            score = case.soft_cap * torch.tanh(score / case.soft_cap)
        return score if bias is None else score + bias[0, h, i, j]

    if not compiled:
        torch._dynamo.reset()  # which traces it nevertheless, and would trace this case for any shape
    run = _compiled_flex() if compiled else flex_attention
    modified = score_mod if case.soft_cap is not None or bias is not None else None
    # On a CPU the compiled kernel gives no lse.
    want_lse = not compiled or case.device != "cpu"
    returned = run(q, k, v, score_mod=modified, block_mask=block_mask(case), scale=case.scale,
                   enable_gqa=q.shape[1] != k.shape[1], **({"return_aux": AuxRequest(lse=True)} if want_lse else {}))
    return (returned[0], returned[1].lse) if want_lse else returned


of_torch("torch.flex")(_flex)
of_torch("torch.flex.compiled")(functools.partial(_flex, compiled=True))


@of_torch("torch.mha")
def mha(q, k, v, case):
    """nn.MultiheadAttention with projections that change nothing; its attn_mask is true where closed."""
    import torch

    case.only()
    (batch, heads, queries, dim), keys = q.shape, k.shape[2]
    if k.shape[1] != heads or v.shape[3] != dim:
        raise Unsupported("query, key and value have equal heads and widths")
    kind = {"dtype": q.dtype, "device": q.device}
    layer = torch.nn.MultiheadAttention(heads * dim, heads, bias=False, batch_first=True, **kind)
    eye = torch.eye(heads * dim, **kind)
    layer.load_state_dict({"in_proj_weight": eye.repeat(3, 1), "out_proj.weight": eye})
    packed = [x.transpose(1, 2).reshape(batch, -1, heads * dim) for x in (q, k, v)]
    closed = ~torch.from_numpy(case.mask).to(case.device).reshape(batch * heads, queries, keys)
    out, _ = layer(*packed, attn_mask=closed, need_weights=False)
    return out.reshape(batch, queries, heads, dim).transpose(1, 2)


def _transformers(q, k, v, case, kind):
    """An attention function as the layers of llama find it, with the mask as its models make it: finite numbers that
    are added for eager, of bool for sdpa, a BlockMask for flex_attention."""
    import types

    import torch
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
    from transformers.models.llama.modeling_llama import eager_attention_forward

    layer = types.SimpleNamespace(num_key_value_groups=q.shape[1] // k.shape[1], training=False, is_causal=False)
    bias = None if case.bias is None else torch.from_numpy(case.bias).to(q.device, q.dtype)
    extra = {}
    if kind == "flex_attention":
        case.only("scale", "soft_cap", "bias")
        torch._dynamo.reset()  # its compiled kernel is for the shapes of this case, not for those of any
        mask = block_mask(case)
        extra = {"softcap": case.soft_cap, "position_bias": None if bias is None else bias.expand(len(q), -1, -1, -1)}
    else:
        case.only("scale", "bias")
        mask = torch.from_numpy(case.mask).to(q.device)
    if kind == "sdpa":
        extra = {"position_bias": bias} if bias is not None else {}
    if kind == "eager":
        mask = torch.where(mask, 0.0 if bias is None else bias, torch.finfo(q.dtype).min).to(q.dtype)
    attend = eager_attention_forward if kind == "eager" else ALL_ATTENTION_FUNCTIONS[kind]
    out, lse = attend(layer, q, k, v, mask, scaling=case.used_scale, dropout=0.0, **extra)
    return out.transpose(1, 2), lse if kind == "flex_attention" else None


for _kind in ("eager", "sdpa", "flex_attention"):
    of_torch("transformers." + _kind, ("transformers",))(functools.partial(_transformers, kind=_kind))
