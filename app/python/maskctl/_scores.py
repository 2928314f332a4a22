"""Softmaxes over the keys: which product of queries and keys feeds one, and what its axes are."""

import dataclasses

import torch

_KEPT = 8  # products of one module that no softmax has taken yet
_MOST_SINKS = 8


@dataclasses.dataclass
class Product:
    """Scores that were made of queries and keys."""

    rows: int  # batch, heads and queries
    columns: int
    keys: slice  # the columns that are keys: others are sinks


def _of_weights(tensor, module):
    """Whether it is a parameter of a module, or a view of one."""
    for one in (tensor, tensor._base):
        if isinstance(one, torch.nn.Parameter):
            return True
    if tensor.ndim != 2 or type(tensor) is not torch.Tensor or tensor.is_meta or module is None:
        return False
    storage = tensor.untyped_storage().data_ptr()  # in inference mode views do not know their base
    return any(one.untyped_storage().data_ptr() == storage for one in module.parameters())


def note_product(frame, query, key, scores):
    """Remembers scores [.., Q, K] of the module that runs; false where a product is not of queries and keys."""
    if not scores.is_floating_point() or scores.ndim < 2 or not scores.numel():
        return False
    if _of_weights(query, frame.module) or _of_weights(key, frame.module):
        return False
    made = _product_of(frame, query)
    if made is not None and axes_of(frame, query) is not None:  # times the values, and no softmax took it
        frame.bare = "x".join(map(str, query.shape))
    columns = scores.shape[-1]
    frame.products.append(Product(scores.numel() // columns, columns, slice(0, columns)))
    del frame.products[:-_KEPT]
    return True


def are_scores(equation):
    """Whether an equation of einsum makes [.., q, k] of queries and keys."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    sides = inputs.split(",")
    if not arrow or len(sides) != 2 or len(output) < 2 or "." in output[-2:]:
        return False
    query, key = output[-2:]
    return any(query in one and key not in one and key in other and query not in other
               for one, other in (sides, sides[::-1]))


def note_columns(frame, parts, axis):
    """Scores that get more columns by cat(): sinks, before or behind the keys."""
    if len(parts) != 2 or axis not in (-1, parts[0].ndim - 1) or not frame.products:
        return
    for at, (one, other) in enumerate((parts, parts[::-1])):
        product = _product_of(frame, one)
        if product is not None and 0 < other.shape[-1] <= _MOST_SINKS and other.ndim == one.ndim:
            before = other.shape[-1] if at else 0
            keys = slice(product.keys.start + before, product.keys.stop + before)
            frame.products.append(Product(product.rows, product.columns + other.shape[-1], keys))
            return


def _product_of(frame, scores):
    columns = scores.shape[-1] if scores.ndim else 0
    return next((one for one in reversed(frame.products)
                 if columns and one.columns == columns and one.rows * columns == scores.numel()), None)


def has_parameters(module):
    """Whether a module has parameters of its own; one without is a function in the shape of a module."""
    return module is None or any(True for _ in module.parameters(False))


def take_product(frames, scores):
    """(the frame, the product) that feeds a softmax of the module that runs, or of the one that calls it
    for the softmax, which then has it no more; (None, None) for other softmaxes."""
    for frame in reversed(frames):
        product = _product_of(frame, scores)
        if product is not None:
            frame.products.clear()
            return frame, product
        if has_parameters(frame.module) or frame is frames[1]:
            break
    return None, None


def axes_of(frame, scores):
    """[B, H, Q, K] of the scores of the queries that a module was given; None for others, as those of
    pieces of its queries."""
    *outer, queries, keys = scores.shape
    given = _tokens(frame.arguments)
    if len(outer) == 2:
        batch = outer[0]
        # A module that is given [B * S, E] has batch and queries in one axis.
        fits = not given or (batch, queries) in given or (1, batch * queries) in given
        return scores.shape if fits else None
    if len(outer) == 1:
        for batch, tokens in given:
            if tokens == queries and outer[0] % batch == 0:
                return batch, outer[0] // batch, queries, keys
    if len(outer) == 3 and (outer[0], queries) in given:
        return outer[0], outer[1] * outer[2], queries, keys
    if not outer and (1, queries) in given:
        return 1, 1, queries, keys
    return None


def are_of_tokens(frame, scores, dim):
    """Whether numbers [B, H, S, S] have a row and a column for each token of a module, as scores have."""
    square = scores.ndim == 4 and scores.shape[-1] == scores.shape[-2] > 1 and dim in (-1, 3)
    return square and axes_of(frame, scores) is not None


def tokens_of_rows(frame, lengths):
    """How many tokens a module was given, where a call has several rows for each, as heads that are packed
    into queries; else 0."""
    if len(lengths) != 4:
        return 0
    batch, _, queries, _ = lengths
    given = [tokens for entries, tokens in _tokens(frame.arguments) if entries == batch]
    if queries in given:
        return 0
    return next((tokens for tokens in given if 0 < tokens < queries and queries % tokens == 0), 0)


def _tensors(values, depth=3):
    for value in values:
        if isinstance(value, torch.Tensor):
            if not value.is_nested:  # which has no extents
                yield value
        elif depth and isinstance(value, (list, tuple)):
            yield from _tensors(value, depth - 1)
        elif depth and isinstance(value, dict):
            yield from _tensors(value.values(), depth - 1)


def _tokens(arguments):
    """(batch, tokens), as the axes of the first argument may mean it: hidden states, queries or ids."""
    tensors = [tensor for tensor in _tensors(arguments) if tensor.ndim > 1]
    tensor = next((one for one in tensors if one.is_floating_point()), tensors[0] if tensors else None)
    if tensor is None:
        return ()
    batch, *rest = tensor.shape
    if not tensor.is_floating_point():
        return ((batch, rest[0]),)
    if len(rest) == 1:  # [S, E] or [B, E]
        return ((1, batch), (batch, 1))
    if len(rest) == 2:  # [B, S, E], [S, B, E] or [B, E, S]
        return ((batch, rest[0]), (rest[0], batch), (batch, rest[1]))
    if len(rest) == 3:  # [B, S, H, D], [B, H, S, D], pictures [B, C, Y, X] and [B, Y, X, C]
        return ((batch, rest[0]), (batch, rest[1]), (batch, rest[1] * rest[2]), (batch, rest[0] * rest[1]))
    volume = rest[0] * rest[1] * rest[2]
    return ((batch, volume // rest[0] * rest[-1]), (batch, volume)) if len(rest) == 4 else ()
