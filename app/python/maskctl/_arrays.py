"""Arrays and masks of other libraries, known by what they look like: none of them is imported."""

import sys

from maskctl import _native
from maskctl._native import Error


def host(name, array):
    """An array in the memory of the host that DLPack or the buffer protocol can show, and notes.

    Only its own library copies an array from a device; one on the host is passed on as it is.
    """
    if getattr(array, "is_nested", False):
        raise Error(f"{name}: a nested tensor; pack its rows and give cumulative lengths "
                    "(Mask.from_cu_seqlens)")
    layout = str(getattr(array, "layout", "torch.strided"))
    if layout.startswith("torch.") and layout != "torch.strided":
        raise Error(f"{name}: a tensor of layout {layout[6:]}; give its .to_dense()")
    if getattr(array, "is_meta", False):
        raise Error(f"{name}: a meta tensor has no elements; make it on the cpu")
    if getattr(array, "requires_grad", False):
        array = array.detach()
    where = _device_of(array)
    if where is None:
        return array, []
    note = f"{name}: copied from {where} to the host"
    if hasattr(array, "cpu"):
        return array.cpu(), [note]
    if type(array).__module__.startswith("jax"):
        return sys.modules["jax"].device_get(array), [note]
    if hasattr(array, "get"):
        return array.get(), [note]
    raise Error(f"{name}: an array on {where}; copy it to the host first")


def copied(name, array):
    """A copy of an array, which later writes do not reach."""
    return _native.copied(name, host(name, array)[0])


_ON_HOST = (1, 3)  # DLPack device types: CPU memory, and CPU memory that a GPU can read


def _device_of(array):
    """Where an array is, in words; None for the host."""
    device = getattr(array, "device", None)
    kind = getattr(device, "type", None)  # for torch; cheaper than asking DLPack
    if isinstance(kind, str):
        return None if kind == "cpu" else str(device)
    ask = getattr(array, "__dlpack_device__", None)
    try:
        where = ask() if ask is not None else None
    except Exception:  # then the object shows no array either, and reading it says so
        return None
    if not isinstance(where, tuple) or not where or where[0] in _ON_HOST:
        return None
    return str(device or "a device")


def parts_of(name, value, shape):
    """(kind or None, [(key, array)], notes) of an array, or of a mask object of another library."""
    looks = type(value).__name__
    if looks == "BlockMask" and hasattr(value, "mask_mod"):
        return _block_mask(name, value)
    if looks == "SegmentIds" and hasattr(value, "q") and hasattr(value, "kv"):
        q, notes = host(name, value.q)
        kv, more = host(name, value.kv)
        return "segments", [("q", q), ("kv", kv)], notes + more
    if hasattr(value, "materialize") and type(value).__module__.startswith("xformers"):
        return _xformers_bias(name, value, shape)
    array, notes = host(name, value)
    return None, [("", array)], notes


def cells_of(name, block_mask, mask_mod, *extents):
    """[B, H, Q, K]: what a mask_mod says of every pair, on the device of a BlockMask."""
    home = sys.modules[type(block_mask).__module__]  # torch's module, which has create_mask
    device = str(block_mask.kv_num_blocks.device)
    try:
        return home.create_mask(mask_mod, *(int(n) for n in extents), device=device)
    except Exception as raised:
        raise Error(f"{name}: its mask_mod raised {type(raised).__name__}: {raised}") from raised


def _block_mask(name, value):
    array, notes = host(name, cells_of(name, value, value.mask_mod, *value.shape))
    return "dense", [("", array)], notes


def _xformers_bias(name, value, shape):
    if shape is None:
        seqlens = [getattr(value, side, None) for side in ("q_seqinfo", "k_seqinfo")]
        if None in seqlens:
            raise Error(f"{name}: a {type(value).__name__} has no extents of its own; give shape=")
        shape = [int(info.seqstart_py[-1]) for info in seqlens]
    array, notes = host(name, value.materialize(tuple(shape[-2:])))
    return "bias", [("", array)], notes
