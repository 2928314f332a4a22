"""The whole matrix: for each output the inputs that it depends on."""

import numpy as np


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
    for output in np.flatnonzero(rows.any(0)):
        for entries in [np.ones(batch, bool)] if probe.entries_mix is False or batch == 1 else list(np.eye(batch, dtype=bool)):
            one = np.zeros(probe.shape, bool)
            one[entries, output] = True
            amounts[entries, output] = probe.reaching([one])[0][entries]
    return amounts
