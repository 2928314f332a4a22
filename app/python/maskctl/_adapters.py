"""How the kit calls libraries: an adapter each, which gives the arrays of a case to one function."""

import functools

ADAPTERS = {}


def adapter(name):
    """Registers a function of a case under the name of its library."""

    def register(function):
        ADAPTERS[name] = function
        return function

    return register


def of_torch(name):
    """Registers call(q, k, v, case) -> out, or (out, lse), on tensors with heads before time. The
    gradients are those of autograd."""

    def register(call):
        @adapter(name)
        @functools.wraps(call)
        def run(case):
            import torch

            def tensor(array):
                made = torch.from_numpy(array).transpose(1, 2).to(getattr(torch, case.dtype))
                return made.contiguous().requires_grad_(case.cotangent is not None)

            inputs = {name: tensor(getattr(case, name)) for name in ("query", "key", "value")}
            out, lse = _pair(call(*inputs.values(), case))
            given = {"out": out.detach().transpose(1, 2).float().numpy()}
            if lse is not None:
                given["lse"] = lse.detach().float().numpy()
            if case.cotangent is not None:
                out.backward(torch.from_numpy(case.cotangent).transpose(1, 2).to(out.dtype))
                given |= {"grad_" + name: one.grad.transpose(1, 2).float().numpy() for name, one in inputs.items()}
            return given

        return run

    return register


def _pair(result):
    return result if isinstance(result, tuple) else (result, None)


def _torch_mask(case):
    """The mask as a tensor of bool; with a bias, as what is added to the logits."""
    import torch

    mask = torch.from_numpy(case.mask)
    if case.bias is None:
        return mask
    bias = torch.from_numpy(case.bias).to(getattr(torch, case.dtype))
    return torch.where(mask, bias, torch.tensor(float("-inf"), dtype=bias.dtype))


@adapter("numpy")
def plain(case):
    """The softmax that everybody writes first."""
    import numpy as np

    group = case.query.shape[2] // case.key.shape[2]
    key, value = (np.repeat(array, group, axis=2) for array in (case.key, case.value))
    s = np.einsum("bqhd,bkhd->bhqk", case.query, key) * case.used_scale
    if case.soft_cap is not None:
        s = case.soft_cap * np.tanh(s / case.soft_cap)
    s = np.where(case.mask, s + (0 if case.bias is None else case.bias), -np.inf)
    sinks = np.zeros((case.query.shape[2], 0)) if case.sinks is None else case.sinks
    s = np.concatenate([s, np.broadcast_to(sinks[None, :, None], (*s.shape[:3], sinks.shape[1]))], axis=-1)
    with np.errstate(invalid="ignore"):
        most = s.max(-1, keepdims=True)
        e = np.exp(s - most)
        total = e.sum(-1, keepdims=True)
        out = np.einsum("bhqk,bkhd->bqhd", (e / total)[..., : case.key.shape[1]], value)
        return {"out": out.astype(np.float32), "lse": (most + np.log(total))[..., 0].astype(np.float32)}


def _sdpa(q, k, v, case, backend=None):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    case.only("scale", "bias")
    with sdpa_kernel(getattr(SDPBackend, backend)) if backend else torch.enable_grad():
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=_torch_mask(case), scale=case.scale, enable_gqa=q.shape[1] != k.shape[1])


of_torch("torch.sdpa")(_sdpa)
of_torch("torch.sdpa.math")(functools.partial(_sdpa, backend="MATH"))
of_torch("torch.sdpa.flash")(functools.partial(_sdpa, backend="FLASH_ATTENTION"))


@of_torch("torch.sdpa.is_causal")
def sdpa_is_causal(q, k, v, case):
    """is_causal=True wherever a case is causal and nothing else."""
    from torch.nn.functional import scaled_dot_product_attention

    case.only("scale")
    if case.steps.split(":")[0] != "causal" or "|" in case.steps:
        raise ValueError("is_causal is the only mask of this adapter")
    return scaled_dot_product_attention(q, k, v, is_causal=True, scale=case.scale, enable_gqa=q.shape[1] != k.shape[1])


def _flex(q, k, v, case, compiled=False):
    import torch
    from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

    case.only("scale", "soft_cap", "bias")
    mask = torch.from_numpy(case.mask)
    bias = None if case.bias is None else torch.from_numpy(case.bias)

    def score_mod(score, b, h, i, j):
        if case.soft_cap is not None:
            score = case.soft_cap * torch.tanh(score / case.soft_cap)
        return score if bias is None else score + bias[0, h, i, j]

    blocks = create_block_mask(lambda b, h, i, j: mask[b, h, i, j], *mask.shape, device="cpu")
    run = torch.compile(flex_attention) if compiled else flex_attention
    modified = score_mod if case.soft_cap is not None or bias is not None else None
    out, aux = run(q, k, v, score_mod=modified, block_mask=blocks, scale=case.scale,
                   enable_gqa=q.shape[1] != k.shape[1], return_aux=AuxRequest(lse=True))
    return out, aux.lse


of_torch("torch.flex")(_flex)
of_torch("torch.flex.compiled")(functools.partial(_flex, compiled=True))


@of_torch("torch.mha")
def mha(q, k, v, case):
    """nn.MultiheadAttention with projections that change nothing; its attn_mask is true where closed."""
    import torch

    case.only()
    (batch, heads, queries, dim), keys = q.shape, k.shape[2]
    if k.shape[1] != heads or v.shape[3] != dim:
        raise ValueError("embed_dim must be divisible by num_heads: query, key and value have equal heads and widths")
    layer = torch.nn.MultiheadAttention(heads * dim, heads, bias=False, batch_first=True, dtype=q.dtype)
    eye = torch.eye(heads * dim, dtype=q.dtype)
    layer.load_state_dict({"in_proj_weight": eye.repeat(3, 1), "out_proj.weight": eye})
    packed = [x.transpose(1, 2).reshape(batch, -1, heads * dim) for x in (q, k, v)]
    closed = ~torch.from_numpy(case.mask).reshape(batch * heads, queries, keys)
    out, _ = layer(*packed, attn_mask=closed, need_weights=False)
    return out.reshape(batch, queries, heads, dim).transpose(1, 2)


def _transformers(q, k, v, case, path):
    import types

    import torch
    from importlib import import_module

    module, function = path.split(":")
    case.only("scale", "bias") if "flex" not in path else case.only("scale")
    layer = types.SimpleNamespace(num_key_value_groups=q.shape[1] // k.shape[1], training=False, is_causal=False)
    mask = _torch_mask(case)
    if "eager" in function and mask.dtype is torch.bool:  # eager adds its mask to the logits
        mask = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, torch.finfo(q.dtype).min)
    if "flex" in path:
        from torch.nn.attention.flex_attention import create_block_mask

        dense = mask
        mask = create_block_mask(lambda b, h, i, j: dense[b, h, i, j], *dense.shape, device="cpu")
    out, _ = getattr(import_module(module), function)(layer, q, k, v, mask, scaling=case.used_scale, dropout=0.0)
    return out.transpose(1, 2)


for _name, _path in {
    "eager": "transformers.models.llama.modeling_llama:eager_attention_forward",
    "sdpa": "transformers.integrations.sdpa_attention:sdpa_attention_forward",
    "flex": "transformers.integrations.flex_attention:flex_attention_forward",
}.items():
    of_torch("transformers." + _name)(functools.partial(_transformers, path=_path))


@of_torch("xformers")
def xformers(q, k, v, case):
    import torch
    from xformers.ops import memory_efficient_attention

    case.only("scale", "bias")
    mask = _torch_mask(case)
    if mask.dtype is torch.bool:
        mask = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, float("-inf"))
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    packed = [x.transpose(1, 2) for x in (q, k, v)]
    return memory_efficient_attention(*packed, attn_bias=mask, scale=case.scale).transpose(1, 2)


@adapter("jax.nn")
def jax_nn(case):
    import jax
    import jax.numpy as jnp
    import numpy as np

    case.only("scale", "bias")

    def call(q, k, v):
        bias = None if case.bias is None else jnp.asarray(case.bias, q.dtype)
        return jax.nn.dot_product_attention(q, k, v, bias=bias, mask=jnp.asarray(case.mask), scale=case.scale)

    inputs = [jnp.asarray(array, getattr(jnp, case.dtype)) for array in (case.query, case.key, case.value)]
    out, pull = jax.vjp(call, *inputs)
    given = {"out": np.asarray(out, np.float32)}
    if case.cotangent is not None:
        gradients = pull(jnp.asarray(case.cotangent, out.dtype))
        names = ("grad_query", "grad_key", "grad_value")
        given |= {name: np.asarray(array, np.float32) for name, array in zip(names, gradients)}
    return given


@adapter("keras")
def keras_ops(case):
    import os

    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras
    import torch

    case.only("scale", "bias")
    arrays = [torch.from_numpy(array).to(getattr(torch, case.dtype)) for array in (case.query, case.key, case.value)]
    bias = None if case.bias is None else torch.from_numpy(case.bias).to(arrays[0].dtype)
    out = keras.ops.dot_product_attention(*arrays, bias=bias, mask=torch.from_numpy(case.mask), scale=case.scale)
    return out.detach().cpu().float().numpy()


@adapter("onnxruntime")
def onnx_attention(case):
    """The operator Attention of opset 23, with its mask, scale and soft cap."""
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper

    case.only("scale", "soft_cap", "bias")
    if case.dtype != "float32":
        raise ValueError("this adapter has float32 only")
    mask = case.mask if case.bias is None else np.where(case.mask, case.bias, np.float32(-np.inf))
    given = {"Q": case.query.transpose(0, 2, 1, 3), "K": case.key.transpose(0, 2, 1, 3),
             "V": case.value.transpose(0, 2, 1, 3), "M": mask}
    numbers = {"scale": case.used_scale, "softcap": case.soft_cap or 0.0}
    node = helper.make_node("Attention", list(given), ["Y"], **numbers)
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
              for name, array in given.items()]
    graph = helper.make_graph([node], "attention", inputs,
                              [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {name: np.ascontiguousarray(array) for name, array in given.items()})[0].transpose(0, 2, 1, 3)
