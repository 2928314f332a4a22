"""The kit asks adapters: what obeys, what is another mask, what is refused, and what is no pass."""

import numpy as np
import pytest

from maskctl import kit
from maskctl._adapters import ADAPTERS


def causal(case, shift=0):
    """Attention that is causal, `shift` keys further, whatever the case asks."""
    case.only("scale")
    queries, keys = case.mask.shape[2:]
    seen = np.arange(keys) <= np.arange(queries)[:, None] + shift
    case.mask = np.broadcast_to(seen, case.mask.shape)
    return ADAPTERS["numpy"](case)["out"]


def outcomes(answer):
    return {case.id: case.outcome for case in answer.cases}


def test_a_right_library_obeys():
    answer = kit.judge(ADAPTERS["numpy"], rule=["window", "heads", "lse.natural"])
    assert answer, answer
    assert set(outcomes(answer).values()) == {"obeys"}


def test_a_shifted_diagonal_is_another_mask():
    answer = kit.judge(lambda case: causal(case, shift=1), library="shifted", rule=["causal.square"])
    assert not answer and answer.status == 1
    assert outcomes(answer)["causal.square-2"] == "another mask"
    assert "shifted" in answer.text


def test_another_alignment_is_named():
    answer = kit.judge(causal, rule=["causal.bottom-right"])
    assert set(outcomes(answer).values()) == {"another mask"}
    assert "aligned the other way" in answer.cases[0].text


def test_what_an_adapter_raises_is_its_refusal():
    answer = kit.judge(causal, rule=["bias.added"])
    assert set(outcomes(answer).values()) == {"refuses"}
    assert answer.cases[0].text == "Unsupported: no argument for bias"


def test_an_output_without_its_lse_is_no_pass():
    answer = kit.judge(causal, rule=["lse.natural"])
    assert not answer
    assert set(outcomes(answer).values()) <= {"skipped", "refuses"}


def test_a_function_in_a_file_is_an_adapter(tmp_path, capsys):
    (tmp_path / "mine.py").write_text("def attend(case):\n    raise MemoryError('too large')\n")
    assert kit.main(["run", "--library", f"{tmp_path}/mine.py:attend", "--rule", "pad.flags"]) == 1
    assert "MemoryError: too large" in capsys.readouterr().out
    assert kit.main(["run", "--library", "nobody"]) == 2
    assert "no library 'nobody'" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_inputs_hold_numbers_of_their_dtype(dtype):
    for case in kit.cases(dtype=dtype, rule=["causal.square"]):
        bits = case.query.view(np.uint32)
        assert not (bits & (0xFFFF if dtype == "bf16" else 0x1FFF)).any()
