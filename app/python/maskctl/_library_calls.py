"""Calls of other libraries, read by the rows that `maskctl translate --table all` lists."""

import functools
import inspect
import numbers

from maskctl._mask import Mask
from maskctl._native import Error, mask_arguments, read_call

about_mask = functools.lru_cache(mask_arguments)
_signature = functools.lru_cache(inspect.signature)


def is_plain(value):
    """True for what a row reads as text: None, flags, numbers, texts, and lists of these."""
    if isinstance(value, (tuple, list)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (bool, numbers.Number, str))


def _value(value):
    """A text; (shape, its numbers or None) of an array; None for other objects."""
    if hasattr(value, "shape") and hasattr(value, "tolist"):
        whole = not any(kind in str(value.dtype) for kind in ("float", "complex"))
        readable = whole and len(value.shape) < 2
        return tuple(map(int, value.shape)), list(map(int, value.reshape(-1).tolist())) if readable else None
    return repr(value) if is_plain(value) else None


def at_default(function, given):
    """The names of the arguments that have the function's own default."""
    parameters = _signature(function).parameters
    defaults = {name: parameters[name].default for name in given if name in parameters}
    return {name for name, default in defaults.items()
            if given[name] is default or (is_plain(given[name]) and is_plain(default) and given[name] == default)}


def mask_of_call(library, function, size, given, defaults=()):
    """The mask of a call with `given` arguments on `size` queries and keys. `defaults` are the names of
    those that were left alone. An Error names what is not read."""
    says = about_mask(library, function)
    arguments = [(name, _value(value) if name in says or is_plain(value) else None, name in defaults)
                 for name, value in given.items()]
    source, unread = read_call(library, function, arguments, *size)
    if unread:
        raise Error(", ".join(unread))
    return Mask._made(function, source, function, (), {})
