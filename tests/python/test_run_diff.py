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


def said(answer):
    return [(one["layers"], one["first"]["query"], one["first"]["key"], one["first"]["open_in"]) for one in answer.differences]


def test_equal_runs_and_a_window_that_is_one_longer():
    whole = near(12, 5)
    same = run_of(a=whole, b=near(12, 12)).diff(run_of(a=whole, b=near(12, 12)))
    assert same and same.answer == "equal" and "equal: both masks of each layer; what else differs is rounding" in str(same)
    found = run_of(a=whole, b=whole, c=near(12, 12)).diff(run_of(a=near(12, 6), b=near(12, 6), c=near(12, 12)))
    assert not found and found.status == 1 and found.equal == ["c"]
    assert said(found) == [(["a", "b"], 5, 0, "b")]
    assert found.differences[0].cause.text == "B = A with window left 5 instead of 4"
    assert "layers  a, b\nfirst   batch 0, head 0, query 5, key 0: open in B only" in str(found)


def steps(cells, prompt):
    n = len(cells)
    return [cells[:prompt, :prompt], *[cells[q:q + 1, :q + 1] for q in range(prompt, n)]]


def test_a_sampler_that_decodes_is_compared_by_position():
    trainer = run_of(layer=near(9, 4))
    answer = trainer.diff(run_of(layer=steps(near(9, 4), 6)))
    assert answer and answer.by_last_tokens and "fewer queries than keys are taken for the last tokens" in str(answer)
    wrong = steps(near(9, 4), 6)
    wrong[-1] = wrong[-1].copy()
    wrong[-1][0, 2] = True
    found = trainer.diff(run_of(layer=wrong))
    assert said(found) == [(["layer"], 8, 2, "b")]
    # The window of one side is longer while it decodes, and all of that is one difference.
    found = trainer.diff(run_of(layer=[near(9, 4)[:6, :6], *steps(near(9, 5), 6)[1:]]))
    assert said(found) == [(["layer"], 6, 2, "b")] and found.differences[0].only_b == 3


def test_drawn_runs_agree_with_plain_cells():
    rng = np.random.default_rng(5)
    for _ in range(120):
        n = int(rng.integers(2, 8))
        a, b = (rng.random((2, n, n)) < 0.6) & np.tri(n, dtype=bool)
        if rng.random() < 0.4:
            b = a.copy()
        one, other = (int(x) for x in rng.integers(1, n + 1, 2))
        found = run_of(layer=steps(a, one)).diff(run_of(layer=steps(b, other)))
        cells = np.argwhere(a != b)
        assert bool(found) == (len(cells) == 0)
        if len(cells):
            q, k = cells[0]
            assert said(found) == [(["layer"], q, k, "a" if a[q, k] else "b")]
            assert found.differences[0].only_a == (a & ~b).sum() and found.differences[0].only_b == (b & ~a).sum()


def test_what_was_not_compared_is_said_and_is_no_yes():
    found = run_of(a=near(4, 2), b=near(4, 2)).diff(run_of(a=near(4, 2)))
    assert not found and found.only_a == ["b"] and found.status == 1
    with pytest.raises(Error, match="no layer is in both runs: A has a, B has b"):
        run_of(a=near(4, 2)).diff(run_of(b=near(4, 2)))
    unread = run_of(a=near(4, 2))
    unread.unread["a"] = "a kernel of its own"
    found = run_of(a=near(4, 2)).diff(unread)
    assert not found and found.status == 2 and found.uncompared == [{"layer": "a", "why": "not read in B: a kernel of its own"}]
    assert "equal:" not in str(found) and "nothing that was compared differs" in str(found)
    two, three = [near(6, w) for w in (1, 2)], [near(6, w) for w in (1, 2, 3)]
    found = run_of(a=two).diff(run_of(a=three))
    assert found.status == 2 and "2 in A and 3 in B have queries at the same positions" in str(found)
    both = np.ones((6, 6), bool)
    found = run_of(a=both).diff(run_of(a=both[:4, :4]))
    assert found.status == 2 and "queries 0-3 see keys from 4 on in A, which B does not have" in str(found)
    found = run_of(a=near(3, 3)).diff(run_of(a=near(9, 9)[8:]))
    assert found.status == 2 and "have no position in common: 0-2 in A, 8-8 in B" in str(found)


@pytest.mark.parametrize("suffix", ["npz", "safetensors", "h5"])
def test_saved_runs_are_compared_by_the_command_with_the_same_words(tmp_path, suffix):
    trainer, sampler = run_of(**{"m.0.attn": near(9, 4), "m.1.attn": near(9, 9)}), run_of(
        **{"m.0.attn": steps(near(9, 5), 6), "m.1.attn": steps(near(9, 9), 6)})
    sampler.unread["m.2.attn"] = "a kernel of its own"
    files = [str(tmp_path / f"{name}.{suffix}") for name in ("trainer", "sampler")]
    for run, file in zip((trainer, sampler), files):
        run.save(file)
    with pytest.raises(Error, match="force="):
        trainer.save(files[0])
    trainer.save(files[0], force=True)
    saved, held = maskctl.run("diff", *files), trainer.diff(sampler)
    assert str(saved).splitlines()[2:] == str(held).splitlines()[2:]
    assert {**saved.data, "a": 0, "b": 0} == {**held.data, "a": 0, "b": 0}
    assert str(trainer.diff(files[1])).splitlines()[2:] == str(held).splitlines()[2:]
    with pytest.raises(Error, match="expected the file of a captured run"):
        trainer.diff(str(tmp_path / "none.npz"))
    np.savez(tmp_path / "plain.npz", mask=near(9, 4))
    with pytest.raises(Error, match="is none; name a layer, as .*:m.0.attn"):
        maskctl.run("diff", files[0], str(tmp_path / "plain.npz"))
    assert maskctl.run("diff", f"{files[0]}:m.0.attn", f"{tmp_path}/plain.npz:mask")


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
