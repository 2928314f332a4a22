"""Mask(object) beside the libraries that made the object: masks of splash attention, torch's CausalBias, xformers' biases
and the mask_mods of attention-gym, each against the cells that the library itself says.

    peers/bin/python tests/peers/mask_objects.py [ROUNDS [SEED]]    libraries that are absent are left out
"""
import random
import sys
import warnings

import numpy as np

import maskctl

warnings.filterwarnings("ignore")


def splash(draw):
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

    def single(shape, depth=0):
        offset = draw.randint(-3, 3)
        kinds = [lambda: masks.CausalMask(shape, offset), lambda: masks.FullMask(shape),
                 lambda: masks.LocalMask(shape, (draw.choice([None, 0, 3]), draw.choice([None, 0, 2])), offset),
                 lambda: masks.ChunkedCausalMask(shape, draw.randint(1, 5)),
                 lambda: masks.NumpyMask(np.random.default_rng(draw.randrange(99)).random(shape) < 0.5)]
        if depth < 2:
            kinds += [lambda: single(shape, depth + 1) & single(shape, depth + 1),
                      lambda: single(shape, depth + 1) | single(shape, depth + 1)]
        return draw.choice(kinds)()

    shape = draw.randint(1, 12), draw.randint(1, 12)
    if draw.random() < 0.5:
        made = single(shape)
        return made, np.asarray(made[:, :])
    made = masks.MultiHeadMask([single(shape) for _ in range(draw.randint(1, 3))])
    return made, np.stack([np.asarray(one[:, :]) for one in made.masks])[None]


def causal_bias(draw):
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    made = draw.choice([causal_lower_right, causal_upper_left])(draw.randint(1, 12), draw.randint(1, 12))
    return made, made._materialize().numpy()


def xformers(draw):
    from xformers.ops.fmha import attn_bias as biases

    lengths = [draw.randint(1, 5) for _ in range(draw.randint(1, 3))]
    made = biases.BlockDiagonalMask.from_seqlens(lengths, [n + draw.randint(0, 3) for n in lengths])
    method = draw.choice(["make_causal", "make_causal_from_bottomright", "make_local_attention"])
    made = getattr(made, method)(*([draw.randint(1, 4)] if "local" in method else []))
    extents = [int(info.seqstart_py[-1]) for info in (made.q_seqinfo, made.k_seqinfo)]
    return made, made.materialize(tuple(extents)).numpy() == 0


def main():
    numbers = [int(word) for word in sys.argv[1:]] + [100, 1]
    draw, wrong = random.Random(numbers[1]), 0
    for maker in splash, causal_bias, xformers:
        try:
            for _ in range(numbers[0]):
                made, cells = maker(draw)
                read = np.asarray(maskctl.Mask(made).to("dense"))
                if not np.array_equal(read.reshape(cells.shape), cells):
                    wrong += 1
                    print(f"{maker.__name__}: {made}\n{read}\n{cells}")
            print(f"{maker.__name__}: {numbers[0]} objects read")
        except ImportError as error:
            print(f"{maker.__name__}: {error}")
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
