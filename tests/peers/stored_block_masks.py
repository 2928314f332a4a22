"""Writes tests/data/block_masks.npz: what torch's create_block_mask gives for the masks of CASES.

    python tests/peers/stored_block_masks.py tests/data/block_masks.npz
"""

import sys

import numpy as np
import torch
from torch.nn.attention.flex_attention import create_block_mask

IDS = torch.tensor([0] * 70 + [1] * 130 + [2] * 100)
LISTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
         "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")


def causal(b, h, q, k):
    return q >= k


def documents(b, h, q, k):
    return (IDS[q] == IDS[k]) & (q >= k)


def window(b, h, q, k):
    return (q >= k) & (q - k < 40)


def of_batch_and_head(b, h, q, k):
    return (q >= k) & (q - k < 20 + 60 * h + 100 * b)


# The cases by name: mask_mod, B, H, queries, keys, block size.
CASES = {
    "causal": (causal, 1, 1, 300, 300, 128),
    "whole": (causal, 1, 1, 256, 256, 64),
    "documents": (documents, 1, 1, 300, 300, 16),
    "window": (window, 1, 1, 500, 500, 256),
    "cross": (causal, 1, 1, 200, 333, (32, 64)),
    "heads": (of_batch_and_head, 2, 3, 150, 150, 32),
}


def main(path):
    arrays = {}
    for name, (mask_mod, *extents, block) in CASES.items():
        made = create_block_mask(mask_mod, *extents, device="cpu", BLOCK_SIZE=block)
        for key in LISTS:
            arrays[f"{name}/{key}"] = getattr(made, key).numpy()
        arrays[f"{name}/BLOCK_SIZE"] = np.array(made.BLOCK_SIZE)
        arrays[f"{name}/seq_lengths"] = np.array(made.seq_lengths)
    np.savez_compressed(path, **arrays)


if __name__ == "__main__":
    main(sys.argv[1])
