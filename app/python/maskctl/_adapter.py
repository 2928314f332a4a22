"""What adapters of the kit share: their list, and calls on tensors of torch with the gradients of autograd."""

ADAPTERS = {}


def adapter(name, needs=(), devices=("cpu",)):
    """Registers a function of a case under the name of its library, with the modules that it needs."""

    def register(function):
        function.needs, function.devices = needs, devices
        ADAPTERS[name] = function
        return function

    return register


def of_torch(name, needs=(), devices=("cpu", "cuda")):
    """Registers call(q, k, v, case) -> out, or (out, lse), on tensors with heads before time. The
    gradients are those of autograd."""

    def register(call):
        @adapter(name, ("torch", *needs), devices)
        def run(case):
            import torch

            def tensor(array):
                made = torch.from_numpy(array).transpose(1, 2).to(case.device, getattr(torch, case.dtype))
                return made.contiguous().requires_grad_(case.cotangent is not None)

            def array(tensor):
                return tensor.detach().float().cpu().numpy()

            inputs = {name: tensor(getattr(case, name)) for name in ("query", "key", "value")}
            returned = call(*inputs.values(), case)
            out, lse = returned if isinstance(returned, tuple) else (returned, None)
            given = {"out": array(out.transpose(1, 2))}
            if lse is not None:
                given["lse"] = array(lse)
            if case.cotangent is not None:
                out.backward(torch.from_numpy(case.cotangent).transpose(1, 2).to(out.device, out.dtype))
                given |= {"grad_" + name: array(one.grad.transpose(1, 2)) for name, one in inputs.items()}
            return given

        return run

    return register


def torch_mask(case):
    """The mask as a tensor of bool; with a bias, as what is added to the logits."""
    import torch

    mask = torch.from_numpy(case.mask).to(case.device)
    if case.bias is None:
        return mask
    bias = torch.from_numpy(case.bias).to(case.device, getattr(torch, case.dtype))
    return torch.where(mask, bias, float("-inf"))


def block_mask(case):
    """The mask as a BlockMask of FlexAttention."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask

    mask = torch.from_numpy(case.mask).to(case.device)
    return create_block_mask(lambda b, h, i, j: mask[b, h, i, j], *mask.shape, device=case.device)


def plain_attention(case, mask):
    """The softmax that everybody writes first, under a mask that broadcasts: a dict of out and lse."""
    import numpy as np

    group = case.query.shape[2] // case.key.shape[2]
    key, value = (np.repeat(array, group, axis=2) for array in (case.key, case.value))
    s = np.einsum("bqhd,bkhd->bhqk", case.query, key) * case.used_scale
    if case.soft_cap is not None:
        s = case.soft_cap * np.tanh(s / case.soft_cap)
    s = np.where(mask, s + (0 if case.bias is None else case.bias), -np.inf)
    sinks = np.zeros((case.query.shape[2], 0)) if case.sinks is None else case.sinks
    s = np.concatenate([s, np.broadcast_to(sinks[None, :, None], (*s.shape[:3], sinks.shape[1]))], axis=-1)
    with np.errstate(invalid="ignore"):
        most = s.max(-1, keepdims=True)
        e = np.exp(s - most)
        total = e.sum(-1, keepdims=True)
        out = np.einsum("bhqk,bkhd->bqhd", (e / total)[..., : case.key.shape[1]], value)
        return {"out": out.astype(np.float32), "lse": (most + np.log(total))[..., 0].astype(np.float32)}
