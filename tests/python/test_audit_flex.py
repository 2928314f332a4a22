"""maskctl.audit_flex without torch: lists, mask_mods and outputs that do and do not agree, drawn."""

import random

import numpy as np
import pytest
from makers import BlockMask

from maskctl import Error, Mask, _mask_mods, audit_flex

S, D = 12, 16


def call(seed, batch=1, heads=2, size=S):
    draw = np.random.default_rng(seed)
    return [draw.standard_normal((batch, heads, size, D)).astype("f4") for _ in range(3)]


def attended(q, k, v, cells, scale=None):
    """Attention in plain numpy; rows without a key are 0."""
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) * (scale or D ** -0.5)
    weights = np.where(cells, np.exp(scores - scores.max(-1, keepdims=True)), 0)
    total = weights.sum(-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", weights / np.where(total == 0, 1, total), v).astype("f4")


def by_cells(cells):
    return lambda b, h, q, k: cells[q, k]


def told(block_mask, cells, size):
    """What the lists make of mask_mod, from the lists alone."""
    out = np.zeros_like(cells)
    for row in range(len(cells) // size):
        for kind, partial in (("", True), ("full_", False)):
            count = getattr(block_mask, f"{kind}kv_num_blocks")[0, 0, row]
            for column in getattr(block_mask, f"{kind}kv_indices")[0, 0, row, :count]:
                at = np.s_[row * size:(row + 1) * size, column * size:(column + 1) * size]
                out[at] = cells[at] if partial else True
    return out


CAUSAL, NEAR = np.tri(S, dtype=bool), np.tri(S, dtype=bool) & ~np.tri(S, k=-3, dtype=bool)


@pytest.mark.parametrize("meant, listed, output, verdict", [
    (CAUSAL, CAUSAL, CAUSAL, "agree"), (CAUSAL, CAUSAL, NEAR, "output"), (CAUSAL, NEAR, CAUSAL, "lists"),
    (NEAR, CAUSAL, CAUSAL, "mask_mod"), (CAUSAL, NEAR, np.ones_like(CAUSAL), "all")])
def test_the_one_of_mask_mod_lists_and_output_that_differs_is_named(meant, listed, output, verdict):
    q, k, v = call(1)
    own = by_cells(listed)
    answer = audit_flex(by_cells(meant), BlockMask(listed, own, 4), q, k, v, attended(q, k, v, output))
    assert (answer.data["verdict"], bool(answer), answer.data["ok"]) == (verdict, verdict == "agree", verdict == "agree")
    assert str(answer).splitlines()[-1].startswith("verdict")
    lists = answer.lists
    assert lists["agrees"] == (meant is listed)
    assert lists["only_mask_mod"] == 2 * (meant & ~listed).sum() and lists["only_lists"] == 2 * (listed & ~meant).sum()
    if not lists["agrees"]:
        first = np.argwhere(meant != listed)[0]
        assert (lists["first"]["query"], lists["first"]["key"]) == tuple(first)
        assert lists["first"]["open_in"] == ("mask_mod" if meant[tuple(first)] else "lists")
        assert lists["block"] == [n // 4 for n in first]
    if verdict in ("output", "all"):
        first = np.argwhere(output != (meant if verdict == "output" else listed))[0]
        assert (answer.output["first"]["query"], answer.output["first"]["key"]) == tuple(first)
        assert f"query {first[0]}, key {first[1]}" in str(answer)


def test_drawn_lists_lose_and_open_blocks():
    """The lists of a mask lose a block, or a partial one is listed as full: told from the output of each."""
    draw, seen = random.Random(60), set()
    for seed in range(30):
        ids = np.sort(np.random.default_rng(seed).integers(0, 3, S))
        cells = draw.choice([CAUSAL, NEAR, np.ones_like(CAUSAL)]) & (ids[:, None] == ids)
        block_mask = BlockMask(cells, by_cells(cells), 4)
        for name in ("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices"):
            setattr(block_mask, name, None)  # lists of the backward pass, which are not changed below
        row = draw.randrange(3)
        change = draw.choice(["none", "lost", "opened"])
        count = block_mask.kv_num_blocks[0, 0, row]
        if change != "none" and count:
            block_mask.kv_num_blocks[0, 0, row] -= 1
            column = block_mask.kv_indices[0, 0, row, count - 1]
            if change == "opened":
                full = block_mask.full_kv_num_blocks[0, 0, row]
                block_mask.full_kv_indices[0, 0, row, :full + 1] = sorted(
                    [*block_mask.full_kv_indices[0, 0, row, :full], column])
                block_mask.full_kv_num_blocks[0, 0, row] += 1
        made = told(block_mask, cells, 4)
        q, k, v = call(seed)
        for output, verdict in (cells, "lists"), (made, "mask_mod"):
            answer = audit_flex(block_mask.mask_mod, block_mask, q, k, v, attended(q, k, v, output))
            expected = "agree" if (cells == made).all() else verdict
            assert answer.data["verdict"] == expected, (seed, change, str(answer))
            seen.add(answer.data["verdict"])
            if expected != "agree":
                assert answer.lists["listed"] == ("not listed" if change == "lost" else "full")
    assert seen == {"agree", "lists", "mask_mod"}


def test_each_head_has_its_mask_mod_though_the_lists_are_shared():
    """Lists made for one head close blocks that other heads use: create_block_mask(..., H=None)."""
    q, k, v = call(3)
    heads = np.stack([NEAR, CAUSAL])
    block_mask = BlockMask(NEAR, lambda b, h, q, k: heads[h, q, k], 4)
    answer = audit_flex(block_mask.mask_mod, block_mask, q, k, v, attended(q, k, v, heads))
    assert answer.data["verdict"] == "lists" and answer.lists["first"]["head"] == 1
    assert answer.lists["listed"] == "not listed" and answer.output["obeys"] == ["mask_mod"]


def test_rows_without_keys_and_another_scale_are_judged():
    cells = CAUSAL.copy()
    cells[5] = False
    q, k, v = call(4)
    out = attended(q, k, v, cells, 0.7)
    mask_mod = by_cells(cells)
    block_mask = BlockMask(cells, mask_mod, 4)
    assert audit_flex(mask_mod, block_mask, q, k, v, out, scale=0.7)
    other = audit_flex(mask_mod, block_mask, q, k, v, out)
    assert other.data["verdict"] == "output" and "softmax_scale 0.7 instead of 0.25" in str(other)


def test_an_output_of_zeros_is_unclear():
    q, k, v = call(5)
    mask_mod = by_cells(CAUSAL)
    answer = audit_flex(mask_mod, BlockMask(CAUSAL, mask_mod, 4), q, k, v * 0, v * 0)
    assert answer.status == 2 and not answer and answer.data["verdict"] == "unclear"


@pytest.mark.parametrize("change, words", [
    (lambda q, k, v, out: (q[0], k, v, out), "are .B, H, S, D."),
    (lambda q, k, v, out: (q[:, :, :5], k, v, out), "block_mask is of 12 x 12, but there are 5 queries and 12 keys")])
def test_arrays_that_do_not_fit_are_refused(change, words):
    q, k, v = call(6)
    mask_mod = by_cells(CAUSAL)
    with pytest.raises(Error, match=words):
        audit_flex(mask_mod, BlockMask(CAUSAL, mask_mod, 4), *change(q, k, v, v))


def test_a_mask_mod_that_raises_is_named():
    q, k, v = call(7)
    with pytest.raises(Error, match="mask_mod: its mask_mod raised ZeroDivisionError"):
        audit_flex(lambda b, h, q, k: 1 // 0, BlockMask(CAUSAL, by_cells(CAUSAL), 4), q, k, v, v)


def test_rows_of_one_head_at_a_time_are_the_same_mask(monkeypatch):
    """Bits of parts that end within a byte are put together; mask_mod sees a few rows of one head."""
    called = []
    draw = random.Random(8)
    for seed in range(20):
        extents = (draw.randint(1, 2), draw.randint(1, 3), draw.randint(1, 9), draw.randint(1, 11))
        cells = np.random.default_rng(seed).random(extents) < 0.5
        block_mask = BlockMask(cells[0, 0], lambda b, h, q, k, cells=cells: called.append((b, h, q)) or cells[b, h, q, k], 4)
        monkeypatch.setattr(_mask_mods, "_CELLS_AT_ONCE", draw.choice([1, 7, 16, 30]))
        kind, array, _ = _mask_mods.array_of("m", block_mask, block_mask.mask_mod, extents)
        made = _mask_mods.mask_of("m", block_mask, block_mask.mask_mod, extents)
        assert made == Mask(cells, "dense") and made.shape == extents
        assert kind == "dense" or bytes(array) == np.packbits(cells, bitorder="little").tobytes()
    monkeypatch.setattr(_mask_mods, "_CELLS_AT_ONCE", 40)
    block_mask = BlockMask(CAUSAL, by_cells(CAUSAL), 4)
    assert Mask(block_mask) == Mask(CAUSAL)
    q, k, v = call(9)
    assert audit_flex(block_mask.mask_mod, block_mask, q, k, v, attended(q, k, v, CAUSAL))
