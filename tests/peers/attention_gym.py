"""attention-gym's own generators beside maskctl: each mask is evaluated by their code, and recognise() must name a chain
of steps without arrays that gives exactly these cells.

    peers/bin/python tests/peers/attention_gym.py [SHAPES [SEED [NAME]]]    1000 shapes, over all generators
"""
import sys
import warnings

import numpy as np
import torch
from attn_gym import masks as gym
from attn_gym.masks.causal import causal_mask
from torch.nn.attention.flex_attention import create_mask, noop_mask

from recognised import table

warnings.filterwarnings("ignore")


def divided(draw, least=2, most=4):
    """(tiles, tokens of a tile) of one dimension."""
    return draw.randint(least, most), draw.randint(1, 3)


def lengths(draw, most=5):
    return [draw.randint(2, 8) for _ in range(draw.randint(2, most))]


def offsets(numbers):
    return torch.tensor([0, *np.cumsum(numbers)], dtype=torch.int32)


def causal(draw):
    return causal_mask, draw.randint(2, 40), draw.randint(2, 40)


def sliding_window(draw):
    n = draw.randint(2, 40)
    return gym.generate_sliding_window(draw.randint(0, n)), n, n


def prefix_lm(draw):
    n = draw.randint(6, 40)
    return gym.generate_prefix_lm_mask(draw.randint(3, n)), n, n


def dilated(draw):
    n = draw.randint(8, 48)
    return gym.generate_dilated_sliding_window(draw.randint(1, n - 1), draw.randint(2, 5)), n, n


def global_window(draw):
    n = draw.randint(8, 40)
    marked = torch.zeros(n, dtype=torch.bool)
    marked[draw.sample(range(n), draw.randint(1, 3))] = True
    return gym.generate_global_sliding_window(draw.randint(0, 4), marked), n, n


def inner(draw):
    return draw.choice([causal_mask, noop_mask, gym.generate_sliding_window(draw.randint(1, 4)),
                        gym.generate_prefix_lm_mask(draw.randint(1, 3))])


def document(draw):
    numbers = lengths(draw)
    n = sum(numbers)
    if draw.random() < 0.3:
        return gym.generate_packed_causal_doc_mask_mod(offsets(numbers)), n, n
    return gym.generate_doc_mask_mod(inner(draw), offsets(numbers)), n, n


def batchify(draw):
    size = draw.randint(2, 8)
    n = size * draw.randint(2, 5)
    return gym.batchify_mask_mod(inner(draw), size), n, n


def shared_prefix(draw):
    numbers, prefix = [], []
    for _ in range(draw.randint(1, 3)):
        first = len(numbers)
        for _ in range(draw.randint(1, 4)):
            numbers.append(draw.randint(1, 8))
            prefix.append(first)
    return (gym.generate_shared_prefix_mask_mod(offsets(numbers), torch.tensor(prefix)),
            *[sum(numbers)] * 2)


def natten(draw):
    w, h = draw.randint(3, 9), draw.randint(3, 9)
    return gym.generate_natten(w, h, draw.randint(1, min(w, h)), draw.randint(1, min(w, h))), w * h, w * h


def tiled_natten(draw):
    (tiles_w, t_w), (tiles_h, t_h) = divided(draw), divided(draw)
    w, h = tiles_w * t_w, tiles_h * t_h
    return gym.generate_tiled_natten(w, h, draw.randint(1, w), draw.randint(1, h), t_w, t_h), w * h, w * h


def morton_natten(draw):
    # The curve of codes 0 to W * H - 1 lies in canvases of W = H and of W = 2 H, powers of two.
    h = draw.choice([2, 4, 8])
    w = draw.choice([h, 2 * h])
    return gym.generate_morton_natten(w, h, draw.randint(1, w), draw.randint(1, h)), w * h, w * h


def sta(draw, dimensions, make):
    tiles, sizes = zip(*(divided(draw, 1, 4) for _ in range(dimensions)))
    kernel = [draw.randint(1, n) * size for n, size in zip(tiles, sizes)]
    canvas = [n * size for n, size in zip(tiles, sizes)]
    text = draw.choice([0, 0, draw.randint(1, 5)])
    n = int(np.prod(canvas)) + text
    return make(tuple(canvas), tuple(kernel), sizes, text), n, n


def sta_2d(draw):
    return sta(draw, 2, gym.generate_sta_mask_mod_2d)


def sta_3d(draw):
    return sta(draw, 3, gym.generate_sta_mask_mod_3d)


def block_diffusion(draw):
    n = draw.randint(4, 24)
    return gym.generate_block_diffusion_mask(n, draw.randint(1, n)), 2 * n, 2 * n


def jetspec_tree(draw):
    nodes = draw.randint(6, 16)
    parents = [-1] + [draw.randrange(i) for i in range(1, nodes)]
    prefix = draw.choice([0, draw.randint(1, 8)])
    ancestors = gym.build_tree_ancestor_matrix(parents, device="cpu")
    return gym.generate_jetspec_tree_causal_mask_mod(prefix, ancestors), nodes, prefix + nodes


def jetspec_training(draw):
    prefix, size = draw.choice([0, draw.randint(1, 9)]), draw.randint(1, 6)
    n = size * draw.randint(1, 5)
    return gym.generate_jetspec_training_mask_mod(prefix, size), n, prefix + n


def svg_spatial(draw):
    prompt, frames, tokens = draw.randint(1, 5), draw.randint(3, 5), draw.randint(3, 9)
    n = prompt + frames * tokens
    return gym.generate_spatial_head_mask_mod(prompt, frames, tokens, draw.randint(1, 2), draw.random() < 0.5,
                                              draw.randint(1, 4)), n, n


def svg_temporal(draw):
    prompt, frames, tokens = draw.randint(0, 5), draw.randint(3, 5), draw.randint(3, 9)
    n = prompt + frames * tokens
    return gym.generate_temporal_head_mask_mod(prompt, frames, tokens, draw.randint(1, frames)), n, n


def flamingo(draw):
    images, tokens, text = draw.randint(1, 4), draw.randint(1, 5), draw.randint(6, 24)
    begins = sorted(draw.sample(range(text - 1), images))
    intervals = [[begin, draw.randint(begin + 1, text)] for begin in begins]
    return (gym.generate_vision_cross_attention_mask_mod(torch.tensor(intervals), tokens), text, images * tokens)


def vsa(draw):
    tiles, tokens = draw.randint(4, 8), draw.randint(2, 6)
    chosen = torch.stack([torch.tensor(draw.sample(range(tiles), 3)) for _ in range(tiles)])
    return gym.generate_vsa_mask_mod(chosen[None, None], tokens), tiles * tokens, tiles * tokens


GENERATORS = [causal, sliding_window, prefix_lm, dilated, global_window, document, batchify, shared_prefix, natten,
              tiled_natten, morton_natten, sta_2d, sta_3d, block_diffusion, jetspec_tree, jetspec_training,
              svg_spatial, svg_temporal, flamingo, vsa]
DATA = {"vsa"}  # the blocks that scores chose: an array, in whatever step


def cells_of(mask_mod, queries, keys):
    return create_mask(mask_mod, 1, 1, queries, keys, device="cpu")[0, 0].numpy()


def main():
    def drawn(maker):
        def draw_cells(draw):
            mask_mod, queries, keys = maker(draw)
            return cells_of(mask_mod, queries, keys), getattr(mask_mod, "__name__", "")
        return draw_cells
    return table({maker.__name__: drawn(maker) for maker in GENERATORS}, DATA)


if __name__ == "__main__":
    sys.exit(main())
