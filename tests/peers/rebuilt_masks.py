"""Masks of projects that are not installed here, rebuilt from the formulas that their authors published and not compared
with their code: recognise() must name a chain of steps without arrays that gives exactly these cells.

    python3 tests/peers/rebuilt_masks.py [SHAPES [SEED [NAME ...]]]    1000 shapes, over all of them
"""
import sys

import numpy as np

from recognised import table


def indices(queries, keys):
    return np.arange(queries)[:, None], np.arange(keys)[None, :]


def segments(draw, most=7):
    """(parent, tokens) of each segment of a tree, in preorder: the first is the prompt."""
    out = [(-1, draw.randint(2, 6))]
    path = [0]
    for _ in range(draw.randint(2, most)):
        del path[draw.randint(1, len(path)):]
        out.append((path[-1], draw.randint(2, 5)))
        path.append(len(out) - 1)
    return out


def trl_tree(draw):
    """trl#7328: tin[k] <= tin[q] < tout[k] and k <= q, where a node's interval holds those of its descendants."""
    tree = segments(draw)
    tin = np.arange(len(tree))
    tout = np.array([1 + max(j for j in range(len(tree)) if i in ancestors(tree, j)) for i in range(len(tree))])
    node = np.repeat(tin, [tokens for _, tokens in tree])
    q, k = indices(len(node), len(node))
    return (tin[node[k]] <= tin[node[q]]) & (tin[node[q]] < tout[node[k]]) & (k <= q), tree


def ancestors(tree, node):
    while node >= 0:
        yield node
        node = tree[node][0]


def verl_tree(draw):
    """verl#6401: the path of a token, segment by segment, and causal; several prompts in a row."""
    rows = []
    for _ in range(draw.randint(1, 2)):
        tree, first = segments(draw), len(rows)
        for segment, (_, tokens) in enumerate(tree):
            rows += [(first, list(ancestors(tree, segment)), segment)] * tokens
    cells = np.array([[first == other and segment in path for other, _, segment in rows] for first, path, _ in rows])
    return cells & np.tri(len(rows), dtype=bool), ""


def eagle3(draw):
    """EAGLE-3's training (SpecForge's generate_eagle3_mask): causal, and the diagonal of each later step."""
    n, steps = draw.randint(6, 16), draw.randint(1, 4)
    q, k = indices(n, n * (1 + steps))
    return np.where(k < n, k <= q, k % n == q), f"{n} tokens, {steps} steps"


def eagle3_step(draw):
    """A later step alone, over the same keys: causal up to `step` tokens before, and the tokens of the steps since."""
    n, step = draw.randint(8, 24), draw.randint(1, 4)
    q, k = indices(n, n)
    return (k <= q - step) | (k == q), f"{n} tokens, step {step}"


def bd3lms(draw):
    """bd3lms and SDAR: block diagonal, offset block causal and block causal over noised and clean halves."""
    n, size = draw.randint(4, 20), draw.randint(1, 6)
    q, k = indices(2 * n, 2 * n)
    noised_q, noised_k, block_q, block_k = q < n, k < n, q % n // size, k % n // size
    return ((block_q == block_k) & (noised_q == noised_k) | (block_q > block_k) & noised_q & ~noised_k
            | (block_q >= block_k) & ~noised_q & ~noised_k), f"{n} tokens in blocks of {size}"


def block_causal(draw):
    """LLaDA 2 and sglang#39739: floor(q / size) >= floor(k / size), also behind a cache."""
    n, size, cached = draw.randint(9, 30), draw.randint(2, 4), draw.choice([0, draw.randint(1, 9)])
    q, k = indices(n, n + cached)
    return (q + cached) // size >= k // size, f"{n} tokens in blocks of {size} behind {cached}"


def dflash(draw):
    """DFlash's training: each block of drafts sees the context before its anchor and, both ways, itself."""
    size, blocks = draw.randint(2, 5), draw.randint(2, 4)
    context = draw.randint(blocks * 3, 30)
    anchors = np.array(sorted(draw.sample(range(1, context + 1), blocks)))
    q, k = indices(blocks * size, context + blocks * size)
    return np.where(k < context, k < anchors[q // size], (k - context) // size == q // size), anchors.tolist()


def nsa_compressed(draw):
    """Native sparse attention, compressed branch: key k stands for tokens k * stride to k * stride + size - 1."""
    stride = draw.randint(2, 6)
    size, n = stride * draw.randint(1, 2), draw.randint(6 * stride, 60)
    q, k = indices(n, (n - size) // stride + 1)
    return k * stride + size - 1 <= q, f"size {size}, stride {stride}"


def nsa_window(draw):
    n, keys = draw.randint(8, 40), draw.randint(1, 8)
    q, k = indices(n, n)
    return (k <= q) & (q - k < keys), f"window {keys}"


def nsa_selected(draw):
    """The selected branch: the first, the own and one more block before, which scores choose."""
    size, blocks = draw.randint(2, 4), draw.randint(4, 7)
    chosen = np.eye(blocks, dtype=bool)
    chosen[:, 0] = True
    for block in range(2, blocks):
        chosen[block, draw.randrange(block)] = True
    cells = chosen.repeat(size, 0).repeat(size, 1)
    return cells & np.tri(len(cells), dtype=bool), ""


def zigzag(draw):
    """The rows, or the rows and columns, of a rank that has a chunk from the front and one from the back."""
    ranks, size = draw.choice([2, 3, 4, 8, 16]), draw.randint(2, 5)
    n, rank = 2 * ranks * size, draw.randrange(ranks)
    mine = np.r_[rank * size:(rank + 1) * size, n - (rank + 1) * size:n - rank * size]
    return of_rank(draw, mine, n), f"rank {rank} of {ranks}"


def striped(draw):
    ranks, size = draw.choice([2, 3, 4, 8, 16]), draw.randint(4, 9)
    n, rank = ranks * size, draw.randrange(ranks)
    return of_rank(draw, np.arange(rank, n, ranks), n), f"rank {rank} of {ranks}"


def of_rank(draw, mine, n):
    q, k = indices(n, n)
    window = draw.choice([n, n, n // 2])
    return ((k <= q) & (q - k < window))[mine]


def natten(draw):
    """NATTEN's windows (arXiv:2204.07143), with dilation, stride and causal dimensions, in 1 to 3 dimensions."""
    cells, words = np.ones((1, 1), bool), []
    for _ in range(draw.randint(1, 3)):
        window, dilation = draw.randint(2, 3), draw.choice([1, 1, 2])
        extent = draw.randint(window * dilation + 1, window * dilation + 3)
        stride, causal = draw.choice([1, 1, window]), draw.random() < 0.3
        axis = np.zeros((extent, extent), bool)
        for q in range(extent):
            group = np.arange(q % dilation, extent, dilation)
            first = q // dilation // stride * stride
            if causal:
                leader = min(first + stride - 1, len(group) - 1)
                axis[q, group[max(leader - window + 1, 0):q // dilation + 1]] = True
            else:
                leader = min(first + stride // 2, len(group) - 1)
                begin = min(max(leader - window // 2, 0), len(group) - window)
                axis[q, group[begin:begin + window]] = True
        cells = np.kron(cells, axis)
        words.append((extent, window, dilation, stride, causal))
    return cells, words


FAMILIES = [trl_tree, verl_tree, eagle3, eagle3_step, bd3lms, block_causal, dflash, nsa_compressed, nsa_window,
            nsa_selected, zigzag, striped, natten]
DATA = {"nsa_selected"}  # the blocks that scores chose: an array, in whatever step


if __name__ == "__main__":
    sys.exit(table({maker.__name__: maker for maker in FAMILIES}, DATA))
