"""The whole matrix: for each output the inputs that it depends on."""

import numpy as np

_COST = 2.5  # of a backward pass, in forward passes
_SHORT = 256  # rows of so many tokens are asked by changes alone
_CHECKS = 4

def exact(probe, rows):
    """Amounts [B, S, T], a pass for each token: all entries at once where they do not mix."""
    return _of_groups(probe, [[token] for token in range(probe.subject.shape[1])], rows)


def fast(probe, rows):
    """The same cells in fewer passes. Blocks of tokens are changed first; tokens of blocks that move no output
    in common then share a pass, in which each output still belongs to one token."""
    tokens = probe.subject.shape[1]
    size = max(1, int(np.sqrt(tokens)))
    blocks = [list(range(begin, min(begin + size, tokens))) for begin in range(0, tokens, size)]
    reach = (_of_groups(probe, blocks, rows)[..., [block[0] for block in blocks]] > 0).any(0)  # [S, blocks]
    groups = []  # (outputs that its tokens may move, tokens)
    for number, block in enumerate(blocks):
        for token in block:
            if not reach[:, number].any():
                continue
            group = next((one for one in groups if not (one[0] & reach[:, number]).any()), None)
            if group is None:
                groups.append((reach[:, number].copy(), [token]))
            else:
                np.logical_or(group[0], reach[:, number], out=group[0])
                group[1].append(token)
    amounts = _of_groups(probe, [tokens for _, tokens in groups], rows)
    for number, block in enumerate(blocks):
        amounts[:, ~reach[:, number][:amounts.shape[1]], block[0]:block[-1] + 1] = 0
    return amounts


def _of_groups(probe, groups, rows):
    """Amounts [B, S, T], where the tokens of a group are changed in one pass and share its amounts."""
    batch, tokens = probe.subject.shape
    amounts = np.zeros((batch, probe.shape[1], tokens), np.float32)
    together = [np.ones(batch, bool)] if probe.entries_mix is False or batch == 1 else list(np.eye(batch, dtype=bool))
    sets, of = [], []
    for group in groups:
        for entries in together:
            one = np.zeros((batch, tokens), bool)
            one[np.ix_(entries, group)] = True
            sets.append(one)
            of.append((group, entries))
    step = 64
    for begin in range(0, len(sets), step):
        for (group, entries), moved in zip(of[begin:begin + step], probe.moved(sets[begin:begin + step])):
            moved = np.where(rows, moved, 0)
            amounts[np.ix_(entries, np.arange(amounts.shape[1]), group)] = moved[entries][:, :, None]
    return amounts


def of_outputs(probe, rows):
    """Amounts [B, S, T] by products with random cotangents, a pass for each output that is asked for."""
    batch, tokens = probe.subject.shape
    amounts = np.zeros((batch, probe.shape[1], tokens), np.float32)
    together = [np.ones(batch, bool)] if probe.entries_mix is False or batch == 1 else list(np.eye(batch, dtype=bool))
    places = [(output, entries) for output in np.flatnonzero(rows.any(0)) for entries in together]
    for (output, entries), found in zip(places, probe.reaching(_single(probe.shape, *place) for place in places)):
        amounts[entries, output] = found[entries]
    return amounts


def _single(shape, output, entries):
    one = np.zeros(shape, bool)
    one[entries, output] = True
    return one


def of_rows(probe, rows):
    """Amounts of the outputs that are asked for in the fewest passes, and notes on how."""
    if probe.way == "cotangents":
        return of_outputs(probe, rows), []
    if by_outputs(probe, rows.any(0).sum(), probe.shape[1]):
        amounts = _of_products(probe, rows)
        if amounts is not None:
            return amounts, ["outputs were differentiated by products with random cotangents, and changes of tokens agree where "
                             "they were tried"]
    return fast(probe, rows), []


def by_outputs(probe, outputs, tokens):
    """Whether so many outputs of so many tokens are best asked one by one, by products with cotangents."""
    if probe.way == "cotangents":
        return True
    able = probe.way == "differences" and "cotangents" in probe.subject.ways and not probe.entries_mix
    return able and tokens > _SHORT and _COST * outputs < tokens


def _of_products(probe, rows):
    """Amounts by products, where changes of tokens agree in some outputs: all that do not reach one together, and the
    one that reaches it least. None where not: something is chosen by comparison, or fades into rounding."""
    try:
        amounts = of_outputs(probe, rows)
    except Exception:  # the model is not differentiable, or takes too much memory
        return None
    outputs = np.flatnonzero(rows.any(0))
    some = outputs[np.linspace(0, len(outputs) - 1, _CHECKS).astype(int)]
    least = np.where(amounts[:, some] > 0, amounts[:, some], np.inf)  # [B, checks, T]
    weakest = (least == least.min(-1, keepdims=True)) & np.isfinite(least)
    weakest &= weakest.cumsum(-1) == 1  # one of equals
    closed, weak = (probe.moved(one[:, number] for number in range(len(some))) for one in (amounts[:, some] == 0, weakest))
    for number, output in enumerate(some):
        if closed[number][:, output].any() or not weak[number][weakest[:, number].any(-1), output].all():
            return None
    return amounts
