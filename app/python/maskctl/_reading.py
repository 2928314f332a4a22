"""The words with which the command reads a mask."""

import operator
import os

from maskctl._answer import shape_text, text_of
from maskctl._native import Error


def reading_options(kind, keep_value=None, closed_below=None, shape=None, pad_id=None, max_bytes=None):
    """The command's options of reading."""
    options = []
    if kind is not None:
        options.append(("--as", text_of("kind", kind)))
    if keep_value is not None:
        options.append(("--keep-value", whole_number("keep_value", keep_value)))
    if closed_below is not None:
        options.append(("--closed-below", text_of("closed_below", str(closed_below))))
    if shape is not None:
        options.append(("--shape", shape_text(shape)))
    if pad_id is not None:
        options.append(("--pad-id", whole_number("pad_id", pad_id)))
    if max_bytes is not None:
        options.append(("--max-bytes", text_of("max_bytes", str(max_bytes))))
    return options


def whole_number(role, value):
    """A whole number, as text."""
    try:
        return str(operator.index(value))
    except TypeError:
        raise Error(f"{role}={value!r}: expected a whole number") from None


def file_name(path):
    """The name of a file, as text."""
    if not isinstance(path, (str, os.PathLike)):
        raise Error(f"a {type(path).__name__} is no name of a file")
    return text_of("file", os.fspath(path))


def with_missing_array(error):
    """The error, with what to do where a step names an array that was not given."""
    import re

    found = re.match(r"cannot read ([^\W\d]\w*): No such file", str(error))
    return Error(f"{error}; give the array, {found[1]}=...") if found else error


def all_open(b, h, q, k):
    """The generator of a mask in which all is open."""
    if b * h == 1 and q == k:
        return f"gen:full:n={q}"
    return f"gen:full:q={q},k={k}" if b * h == 1 else f"gen:full:b={b},h={h},q={q},k={k}"
