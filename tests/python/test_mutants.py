"""Wrong kernels in Python: what mutants() makes, and rules that are tried against them."""

import numpy as np
import pytest

import maskctl
from maskctl.testing import assert_mutants_caught

MASK = maskctl.Mask.parse("causal | window:keys=9", 24)
SMALL = {"dim": 8, "only": ["window-wider", "cell-closed", "mask-dropped", "right-exact"]}


def attention(mutant, cells):
    """out of the call in plain numpy, all in float64."""
    query, key, value = (getattr(mutant, name).astype(np.float64) for name in ("query", "key", "value"))
    scores = np.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(query.shape[-1])
    weights = np.exp(np.where(cells, scores, -np.inf))
    return np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), value)


def cells_of(mutant):
    """The cells that the kernel applied, by the truth."""
    if mutant.kind == "mask-dropped":  # which has more rectangles than its truth lists
        return np.ones((24, 24), bool)
    cells = np.broadcast_to(np.asarray(MASK), (1, 2, 24, 24)).copy()
    for change in mutant.cells:
        queries, keys = slice(*change["queries"]), slice(*change["keys"])
        cells[change["batch"], change["head"], queries, keys] = change["opened"]
    return cells


def test_a_mutant_is_wrong_as_its_truth_says():
    kinds = set()
    for mutant in maskctl.mutants(MASK, count=12, seed=3, dtype="f32", **SMALL):
        assert mutant.out.dtype == mutant.lse.dtype == np.float32
        assert np.abs(mutant.out - attention(mutant, cells_of(mutant))).max() < 1e-5
        off = np.abs(mutant.out - attention(mutant, np.asarray(MASK))).max()
        assert (off < 1e-5) == mutant.right == (mutant.weight < 1e-6)
        kinds.add(mutant.kind)
        assert mutant.kind in repr(mutant)
    assert kinds == set(SMALL["only"])


def test_mutants_accepts_the_options_of_the_command():
    mutant = next(iter(maskctl.mutants(MASK, count=1, heads=4, kv_heads=2, dim=16, sinks=3, bias=True)))
    assert mutant.query.shape == (1, 24, 4, 16) and mutant.key.shape == (1, 24, 2, 16)
    assert mutant.sinks.shape == (4, 3) and mutant.bias.shape == (1, 4, 1, 24)
    array = next(iter(maskctl.mutants(np.tri(8, dtype=bool), count=1, only="cell-opened", dim=4)))
    assert array.bias is None and array.opened == 2      # in both heads
    with pytest.raises(maskctl.Error, match="window-wider needs|needs a window"):
        maskctl.mutants(np.tri(8, dtype=bool), only="window-wider")
    with pytest.raises(maskctl.Error, match="option of the command only"):
        maskctl.mutants(MASK, rule="fa")
    with pytest.raises(TypeError, match="no option"):
        maskctl.mutants(MASK, head=3)
    with pytest.raises(AttributeError, match="its truth has"):
        mutant.nothing


def test_an_exact_rule_passes():
    def exact(mutant):
        return bool(np.abs(mutant.out - attention(mutant, np.asarray(MASK))).max() < 1e-5)

    assert_mutants_caught(exact, MASK, count=20, dtype="f32", **SMALL)


def test_a_rule_that_accepts_wrong_kernels_fails_and_names_them():
    with pytest.raises(AssertionError) as failure:
        assert_mutants_caught(lambda mutant: True, MASK, count=20, **SMALL)
    said = str(failure.value)
    assert "the rule accepts" in said and "mask-dropped" in said and "most weight passed" in said
    assert_mutants_caught(lambda mutant: True, MASK, count=20, bound=1.0, **SMALL)


def test_a_rule_that_refuses_right_kernels_fails():
    with pytest.raises(AssertionError, match="the rule refuses: right-exact"):
        assert_mutants_caught(lambda mutant: False, MASK, count=20, **SMALL)


def test_run_calls_the_command_mutants():
    answer = maskctl.run("mutants", np.tri(16, dtype=bool), count=5, dim=8, rule=["fa", "allclose:9,9"])
    assert not answer and [rule["rule"] for rule in answer.rules] == ["fa", "allclose:9,9"]
