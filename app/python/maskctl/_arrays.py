"""Arrays and masks of other libraries, known by what they look like: none of them is imported."""

import numbers
import sys
from array import array as packed

from maskctl import _native
from maskctl._answer import text_of
from maskctl._native import Error


def host(name, array):
    """An array in the memory of the host that DLPack or the buffer protocol can show, and notes.

    Only its own library copies an array from a device; one on the host is passed on as it is.
    """
    if type(array).__module__ == "numpy":  # the most frequent: always with elements on the host
        return array, []
    name = _native.printable(name)
    if array is None or isinstance(array, (str, bytes)):
        raise Error(f"{name}: a {type(array).__name__} cannot be read as an array; give one, or a list of numbers")
    if isinstance(array, (list, tuple)):
        return _array_of_lists(name, array), []
    try:
        refused = _without_elements(array)
        grad = getattr(array, "requires_grad", False)
        where = _device_of(array)
    except Exception as raised:  # as of an array of JAX that was deleted
        raise Error(f"{name}: a {type(array).__name__} cannot be read as an array: {raised}") from raised
    if refused:
        raise Error(f"{name}: {refused}")
    if grad:
        array = array.detach()
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


def _without_elements(array):
    """Why a tensor has no elements in a row; None for others."""
    if getattr(array, "is_nested", False):
        return "a nested tensor; pack its rows and give cumulative lengths (Mask.from_cu_seqlens)"
    layout = str(getattr(array, "layout", "torch.strided"))
    if layout.startswith("torch.") and layout != "torch.strided":
        return f"a tensor of layout {layout[6:]}; give its .to_dense()"
    if getattr(array, "is_meta", False):
        return "a meta tensor has no elements; make it on the cpu"
    if hasattr(array, "fake_mode"):
        return "a fake tensor has no elements; make it outside of FakeTensorMode"
    return None


def _array_of_lists(name, lists):
    """Nested lists of numbers as an array, as numpy would read them, without numpy."""
    shape, row = [], lists
    while isinstance(row, (list, tuple)) and len(shape) <= 8:
        shape.append(len(row))
        row = row[0] if row else None
    if 0 in shape or len(shape) > 8:
        raise Error(f"{name}: lists of shape {tuple(shape)}; expected numbers in 1 to 8 levels")
    leaves = list(_leaves(name, lists, shape))
    whole = all(isinstance(one, numbers.Integral) for one in leaves)
    flags = all(type(one).__name__ in ("bool", "bool_") for one in leaves)  # Python's and numpy's
    small = whole and all(-(1 << 31) <= one < 1 << 31 for one in leaves)  # as lengths have to be
    code = "?" if flags else "i" if small else "q" if whole else "d"
    try:
        flat = packed("b", map(bool, leaves)) if flags else packed(code, leaves)
        return memoryview(flat).cast("B").cast(code, shape)
    except (TypeError, OverflowError) as error:
        raise Error(f"{name}: a list cannot be read as an array: {error}") from None


def _leaves(name, lists, shape):
    if len(lists) != shape[0]:
        raise Error(f"{name}: lists of {shape[0]} and of {len(lists)} elements side by side")
    for one in lists:
        nested = isinstance(one, (list, tuple))
        if nested != (len(shape) > 1):
            raise Error(f"{name}: lists and numbers side by side")
        if nested:
            yield from _leaves(name, one, shape[1:])
        else:
            yield one


def with_shape(name, array):
    """An array, and its extents: one or more."""
    array = host(name, array)[0]
    if not hasattr(array, "shape"):
        try:
            array = memoryview(array)
        except TypeError:
            raise Error(f"{name}: a {type(array).__name__} cannot be read as an array") from None
    extents = tuple(array.shape)
    if not extents:
        raise Error(f"{name}: a number; expected an array [S] or [B, S]")
    return array, extents


def copied(name, array):
    """A copy of an array, which later writes do not reach."""
    return _native.copied(name, host(name, array)[0])


def of_numpy(values):
    """An array of numpy's, on the same memory, where numpy is there and has the type."""
    try:
        from numpy import asarray
    except ImportError:
        return values
    made = asarray(values)
    return values if made.dtype.hasobject else made


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


def is_block_mask(value):
    """True for what looks like torch's BlockMask."""
    return type(value).__name__ == "BlockMask" and hasattr(value, "mask_mod")


def _is_segment_ids(value):
    return type(value).__name__ == "SegmentIds" and hasattr(value, "q") and hasattr(value, "kv")


def _is_xformers_bias(value):
    return hasattr(value, "materialize") and type(value).__module__.startswith("xformers")


def _is_causal_bias(value):
    return type(value).__name__ == "CausalBias" and hasattr(value, "seq_len_kv")


def _is_splash_mask(value):
    return any(base.__name__ == "Mask" and base.__module__.endswith("splash_attention_mask")
               for base in type(value).__mro__)


def is_mask_of_library(value):
    """True for mask objects of other libraries, which are no arrays, or whose elements are no mask."""
    return any(known(value) for known, _ in _OF_LIBRARIES)


def is_array(value):
    """True for what shows itself as an array, and for lists."""
    return isinstance(value, (list, tuple, memoryview)) or any(
        hasattr(value, name) for name in ("__dlpack__", "__array__", "__array_interface__"))


def parts_of(name, value, shape):
    """(kind or None, [(key, array)], notes) of an array, of a dict of arrays as to() gives it, or of
    a mask object of another library."""
    for known, parts in _OF_LIBRARIES:
        if known(value):
            return parts(name, value, shape)
    if isinstance(value, dict):
        shown = {text_of(f"{name}, a key", key): host(f"{name}[{key!r}]", one) for key, one in value.items()}
        return None, [(key, array) for key, (array, _) in shown.items()], sum((more for _, more in shown.values()), [])
    array, notes = host(name, value)
    return None, [("", array)], notes


def _block_mask(name, value, _):
    from maskctl._mask_mods import array_of

    kind, array, notes = array_of(name, value, value.mask_mod, value.shape)
    return kind, [("", array)], notes


def _segment_ids(name, value, _):
    q, notes = host(name, value.q)
    kv, more = host(name, value.kv)
    return "segments", [("q", q), ("kv", kv)], notes + more


def _causal_bias(name, value, _):
    """torch's CausalBias is a tensor whose memory holds no mask: it is known by its lengths."""
    queries, keys = int(value.seq_len_q), int(value.seq_len_kv)
    own = 0 if value.variant.name == "UPPER_LEFT" else keys - queries  # the key of query 0
    ends = [min(query + own + 1, keys) for query in range(max(0, -own), queries)]
    empty = queries - len(ends)
    return "runs", [("begin", packed("i", [0] * len(ends))), ("end", packed("i", ends)),
                    ("indptr", packed("q", [0] * empty + list(range(len(ends) + 1)))),
                    ("shape", packed("q", [1, 1, queries, keys]))], []


def _splash_mask(name, value, _):
    """A mask of splash attention is lazy: its cells are computed where it is indexed."""
    try:
        cells = value[(slice(None),) * len(value.shape)]
    except Exception as raised:
        raise Error(_native.printable(f"{name}: a {type(value).__name__} raised {type(raised).__name__}: {raised}")) from raised
    return "dense", [("", cells if len(value.shape) == 2 else cells[None])], []


def _xformers_bias(name, value, shape):
    if shape is None:
        seqlens = [getattr(value, side, None) for side in ("q_seqinfo", "k_seqinfo")]
        if None in seqlens:
            raise Error(f"{_native.printable(name)}: a {type(value).__name__} has no extents of its own; give shape=")
        shape = [int(info.seqstart_py[-1]) for info in seqlens]
    array, notes = host(name, value.materialize(tuple(shape[-2:])))
    return "bias", [("", array)], notes


_OF_LIBRARIES = [(is_block_mask, _block_mask), (_is_segment_ids, _segment_ids), (_is_xformers_bias, _xformers_bias),
                 (_is_causal_bias, _causal_bias), (_is_splash_mask, _splash_mask)]
