"""maskctl.audit_flex beside torch: drawn mask_mods, whose BlockMasks lose blocks, open them, or are of another
mask_mod or of one head, and outputs of SDPA and of flex_attention. What is found is compared with plain cells.

    peers/bin/python tests/peers/audit_flex.py [ROUNDS [SEED]] [--compiled]
"""
import collections
import random
import sys
import time
import warnings

import torch
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, create_mask, flex_attention

import maskctl

warnings.filterwarnings("ignore")
BATCH, HEADS, SIZE = 2, 3, 16


def mask_mods(draw, tokens):
    """A mask_mod, and another that differs from it."""
    width = draw.randint(2, tokens)
    cuts = torch.tensor(sorted(draw.sample(range(tokens), 3)))
    document = torch.bucketize(torch.arange(tokens), cuts)
    prefix = draw.randint(1, tokens // 2)
    made = [lambda b, h, q, k: q >= k, lambda b, h, q, k: (q >= k) & (q - k < width),
            lambda b, h, q, k: (q >= k) & (document[q] == document[k]), lambda b, h, q, k: (q >= k) | (k < prefix),
            lambda b, h, q, k: (q >= k) & (q - k < width * (h + 1)), lambda b, h, q, k: k < prefix + b]
    return draw.sample(made, 2)


def blocks_of(mask_mod, heads, tokens):
    return create_block_mask(mask_mod, BATCH, heads, tokens, tokens, device="cpu", BLOCK_SIZE=SIZE)


def told(block_mask, tokens):
    """[B, H, Q, K] of lists, block by block."""
    own = create_mask(block_mask.mask_mod, BATCH, HEADS, tokens, tokens, device="cpu")
    out = torch.zeros_like(own)
    for kind in "", "full_":
        counts, indices = (getattr(block_mask, f"{kind}kv_{name}") for name in ("num_blocks", "indices"))
        for b, h, row in torch.cartesian_prod(*map(torch.arange, (BATCH, HEADS, counts.shape[2]))).tolist():
            shared = min(h, counts.shape[1] - 1)
            for column in indices[b, shared, row, :counts[b, shared, row]].tolist():
                at = (b, h, slice(row * SIZE, (row + 1) * SIZE), slice(column * SIZE, (column + 1) * SIZE))
                out[at] = True if kind else own[at]
    return out


def with_fault(draw, fault, block_mask, other, tokens):
    """The BlockMask with a fault; the same for none."""
    if fault == "stale":
        return blocks_of(other, HEADS, tokens)
    if fault == "one head":
        return blocks_of(block_mask.mask_mod, None, tokens)
    names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices")
    counts, indices, full_counts, full_indices = (getattr(block_mask, name).clone() for name in names)
    place = (counts > 0).nonzero()
    if fault in ("lost", "opened") and len(place):
        at = tuple(place[draw.randrange(len(place))].tolist())
        counts[at] -= 1
        if fault == "opened":
            full_indices[at][full_counts[at]] = indices[at][counts[at]]
            full_counts[at] += 1
            end = full_counts[at]
            full_indices[at][:end] = full_indices[at][:end].sort().values
    return BlockMask.from_kv_blocks(counts, indices, full_counts, full_indices, BLOCK_SIZE=SIZE,
                                    mask_mod=block_mask.mask_mod, seq_lengths=(tokens, tokens))


def main():
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()] + [100, 1]
    draw = random.Random(numbers[1])
    torch.manual_seed(numbers[1])
    seen, wrong, spent = collections.Counter(), 0, 0.0
    for number in range(numbers[0]):
        tokens = draw.randint(20, 90)
        mask_mod, other = mask_mods(draw, tokens)
        fault = draw.choice(["none", "lost", "opened", "stale", "one head"])
        block_mask = with_fault(draw, fault, blocks_of(mask_mod, HEADS, tokens), other, tokens)
        q, k, v = (torch.randn(BATCH, HEADS, tokens, 32) for _ in range(3))
        meant = create_mask(mask_mod, BATCH, HEADS, tokens, tokens, device="cpu")
        lists = told(block_mask, tokens)
        output = draw.choice(["mask_mod", "lists", "flex"])
        if output == "flex":  # not compiled, it applies mask_mod alone
            out = flex_attention(q, k, v, block_mask=block_mask)
            applied = create_mask(block_mask.mask_mod, BATCH, HEADS, tokens, tokens, device="cpu")
        else:
            applied = meant if output == "mask_mod" else lists
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=applied)
        begin = time.process_time()
        answer = maskctl.audit_flex(mask_mod, block_mask, q, k, v, out)
        spent += time.process_time() - begin
        expected = ("agree" if torch.equal(meant, lists) and torch.equal(lists, applied) else
                    "output" if torch.equal(meant, lists) else "lists" if torch.equal(meant, applied) else
                    "mask_mod" if torch.equal(lists, applied) else "all")
        differ = (meant != lists).nonzero()
        first = tuple(answer.lists["first"][axis] for axis in ("batch", "head", "query", "key")) if len(differ) else None
        right = answer.data["verdict"] == expected and answer.lists["only_mask_mod"] == int((meant & ~lists).sum()) and \
            (first is None or first == tuple(differ[0].tolist()))
        seen[expected] += 1
        if not right:
            wrong += 1
            print(f"round {number}, {fault}, output of {output}: expected {expected}\n{answer}")
    print(f"{numbers[0]} calls, {dict(seen)}: {wrong} wrong; {spent / numbers[0]:.2f} s each")
    if "--compiled" in sys.argv:
        mask_mod = lambda b, h, q, k: q >= k
        block_mask = create_block_mask(mask_mod, 1, 1, 256, 256, device="cpu")
        lost = BlockMask.from_kv_blocks(block_mask.kv_num_blocks, block_mask.kv_indices, BLOCK_SIZE=128,
                                        mask_mod=mask_mod, seq_lengths=(256, 256))
        q, k, v = (torch.randn(1, 2, 256, 32) for _ in range(3))
        print(maskctl.audit_flex(mask_mod, lost, q, k, v, torch.compile(flex_attention)(q, k, v, block_mask=lost)))


if __name__ == "__main__":
    main()
