"""Runs that were captured, compared by layer and position, against plain cells; and outputs split into what is mask
and what is not, against plain loops."""

import numpy as np
import pytest

import maskctl
from maskctl import Error, Mask
from maskctl._rows import Run


def run_of(**layers):
    run = Run()
    for layer, masks in layers.items():
        for mask in masks if isinstance(masks, list) else [masks]:
            run._add(layer, Mask(mask, "dense"))
    return run


def near(n, window):
    q, k = np.ogrid[:n, :n]
    return (k <= q) & (q - k < window)


def test_equal_runs_and_a_window_that_is_one_longer():
    whole = near(12, 5)
    assert run_of(a=whole, b=near(12, 12)).diff(run_of(a=whole, b=near(12, 12)))
    assert "2 layers have the same mask in both runs; what else differs is beside the masks" in str(
        run_of(a=whole, b=near(12, 12)).diff(run_of(a=whole, b=near(12, 12))))
    found = run_of(a=whole, b=whole, c=near(12, 12)).diff(run_of(a=near(12, 6), b=near(12, 6), c=near(12, 12)))
    assert not found and found.equal == ["c"]
    assert [one.layers for one in found.differences] == [["a", "b"]]
    assert found.differences[0].first == (5, 0, "B")
    assert "window left" in str(found) and "query 5, key 0, which is open in B" in str(found)


def test_a_sampler_that_decodes_is_compared_by_position():
    trainer = run_of(layer=near(9, 4))
    steps = [near(9, 4)[:6, :6], *[near(9, 4)[q:q + 1, :q + 1] for q in range(6, 9)]]
    assert trainer.diff(run_of(layer=steps))
    wrong = near(9, 4)[8:9, :9].copy()
    wrong[0, 2] = True
    found = trainer.diff(run_of(layer=[*steps[:-1], wrong]))
    assert not found and found.differences[0].first == (8, 2, "B")


def test_drawn_runs_agree_with_plain_cells():
    rng = np.random.default_rng(5)
    for _ in range(60):
        a, b = rng.random((2, 7, 7)) < 0.6
        if rng.random() < 0.4:
            b = a.copy()
        queries = int(rng.integers(1, 8))
        found = run_of(layer=a).diff(run_of(layer=b[7 - queries:]))
        cells = np.argwhere(a[7 - queries:] != b[7 - queries:])
        assert bool(found) == (len(cells) == 0)
        if len(cells):
            q, k = cells[0]
            assert found.differences[0].first == (q + 7 - queries, k, "A" if a[q + 7 - queries, k] else "B")


def test_layers_of_one_run_and_runs_without_a_common_layer():
    found = run_of(a=near(4, 2), b=near(4, 2)).diff(run_of(a=near(4, 2)))
    assert not found and found.only == ["b"]
    with pytest.raises(Error):
        run_of(a=near(4, 2)).diff(run_of(b=near(4, 2)))


def attended(q, k, v, mask):
    out = np.zeros((*q.shape[:3], v.shape[-1]))
    group = q.shape[2] // k.shape[2]
    for b, t, h in np.ndindex(*q.shape[:3]):
        keys = [j for j in range(k.shape[1]) if mask[t, j]]
        scores = np.array([q[b, t, h] @ k[b, j, h // group] / q.shape[-1] ** 0.5 for j in keys])
        weights = np.exp(scores - scores.max()) if keys else []
        for weight, j in zip(weights, keys):
            out[b, t, h] += weight / weights.sum() * v[b, j, h // group]
    return out


def test_what_of_a_difference_is_mask():
    rng = np.random.default_rng(6)
    q, k, v = rng.standard_normal((1, 8, 4, 16)), rng.standard_normal((1, 8, 2, 16)), rng.standard_normal((1, 8, 2, 16))
    one, other = near(8, 3), near(8, 4)
    out_a, out_b = attended(q, k, v, one), attended(q, k, v, other)
    split = maskctl.split_outputs(one, other, q, k, v, out_a, out_b)
    assert split.rest < 1e-12 and abs(split.mask - np.sqrt(np.mean((out_b - out_a) ** 2))) < 1e-12
    noise = 1e-3 * rng.standard_normal(out_a.shape)
    split = maskctl.split_outputs(one, one, q, k, v, out_a, out_a + noise)
    assert split.mask == 0 and abs(split.rest - np.sqrt(np.mean(noise ** 2))) < 1e-12
    assert "is left" in str(split)
    split = maskctl.split_outputs(Mask(one), Mask(other), q, k, v, out_a, out_b + noise)
    assert abs(split.rest - np.sqrt(np.mean(noise ** 2))) < 1e-12
    with pytest.raises(Error):
        maskctl.split_outputs(one, other, q[0], k, v, out_a, out_b)
