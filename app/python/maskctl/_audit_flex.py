"""FlexAttention's three masks: what mask_mod means, what the blocks say, what the output obeys."""

from maskctl import _native, flex
from maskctl._answer import Answer, Line
from maskctl._mask import Mask
from maskctl._mask_mods import mask_of
from maskctl._native import Error
from maskctl._seen import pattern


def audit_flex(mask_mod, block_mask, q, k, v, out, *, scale=None):
    """Whether flex_attention(q, k, v, block_mask=block_mask, scale=scale), which gave `out`, applied mask_mod.

    Three masks are compared: mask_mod, called for every cell of every batch and head; the lists, which are all
    cells of full blocks and in partial blocks what block_mask.mask_mod opens; and the one that the output obeys,
    judged as Mask.verify() does. The answer is true where they are one mask; it names the odd one (`verdict`), and
    the first cell of each difference. Arrays are [B, H, S, D]; a score_mod may not have moved the scores.
    """
    if any(len(array.shape) != 4 for array in (q, k, v, out)):
        raise Error("audit_flex: q, k, v and out are [B, H, S, D]")
    extents = (*map(int, q.shape[:3]), int(k.shape[2]))
    if tuple(map(int, block_mask.seq_lengths)) != extents[2:]:
        raise Error(f"audit_flex: block_mask is of {block_mask.seq_lengths[0]} x {block_mask.seq_lengths[1]}, but there "
                    f"are {extents[2]} queries and {extents[3]} keys")
    meant = mask_of("mask_mod", block_mask, mask_mod, extents)
    same = block_mask.mask_mod is mask_mod
    own = meant if same else mask_of("block_mask", block_mask, block_mask.mask_mod, extents)
    partial, full = flex.listed("block_mask", block_mask)
    line = Line("verify")
    line.operands.append(line.word("mask_mod", meant))
    for name, value in {"query": q, "key": k, "value": v, "given": out, "layout": "bhtd", "softmax_scale": scale}.items():
        if value is not None:
            line.option(name, value)
    line.options += [("--block", "x".join(str(int(n)) for n in block_mask.BLOCK_SIZE)), *(
        (f"--{name}", line.word(name, mask)) for name, mask in (("own", own), ("partial", partial), ("full", full)))]
    text, *said = _native.audit_flex(line.operands, line.options, line.given)
    return Answer(f"mask_mod   {'x'.join(map(str, extents))}, {pattern(meant)}\n{text}", *said)
