"""The kit asks adapters: what obeys, what is another mask, what is refused, and what is no pass."""

import os
import pathlib
import subprocess
import sys
import time

import maskctl
import numpy as np
import pytest

from maskctl import kit
from maskctl._adapters import ADAPTERS
from maskctl._kit_worker import results_of

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "semantics.md"


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
    answer = kit.judge(ADAPTERS["numpy"], rule=["window", "heads", "lse.natural"], without=["window.more-queries"])
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


def refusal(adapter, outcome="refuses"):
    """The text of the refusals of an adapter, or its failures, which is the same for each case."""
    answer = kit.judge(adapter, rule=["window.zero"])
    assert set(outcomes(answer).values()) == {outcome}, answer
    return {case.text for case in answer.cases}


@pytest.mark.parametrize("returned, said", [
    (None, "None"),
    ((np.zeros(1), np.zeros(1)), "a tuple of 2"),
    ({"output": np.zeros(1)}, "{'output': ...}"),
    ({"out": None, "lse": np.zeros(1)}, "{'out': None, 'lse': ...}"),
    ({}, "{}"),
])
def test_what_is_no_output_is_said_with_what_was_expected(returned, said):
    expected = "expected an array or {'out': ...}"
    assert refusal(lambda case: returned, "fails") == {f"TypeError: the adapter returned {said}; {expected}"}


@pytest.mark.parametrize("dtype", ["complex64", "object", "str", "datetime64[s]"])
def test_an_output_that_holds_no_numbers_fails(dtype):
    (text,) = refusal(lambda case: {"out": np.zeros((2, 2)).astype(dtype)}, "fails")
    assert text.startswith("TypeError: out holds ") and text.endswith("; expected floats")



class Tensor:
    """Does what the kit asks of tensors of torch: one that needs a gradient gives no array."""

    def __init__(self, numbers, dtype, needs_grad=True):
        self.numbers, self.dtype, self.needs_grad = numbers, dtype, needs_grad

    def detach(self):
        return Tensor(self.numbers, self.dtype, needs_grad=False)

    def cpu(self):
        return self

    def float(self):
        return Tensor(self.numbers, "torch.float32", self.needs_grad)

    def __array__(self, dtype=None, copy=None):
        if self.needs_grad or self.dtype == "torch.bfloat16":
            raise RuntimeError("no array of this tensor")
        return np.asarray(self.numbers)


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_tensors_with_gradients_and_of_bfloat16_are_outputs(dtype):
    out = results_of({"out": Tensor([1.0, 2.0], dtype)})["out"]
    assert out.tolist() == [1.0, 2.0]


def test_an_lse_of_none_is_not_given():
    def attend(case):
        return {"out": ADAPTERS["numpy"](case)["out"], "lse": None}

    assert set(outcomes(kit.judge(attend, rule=["lse.natural"])).values()) == {"skipped"}
    assert kit.judge(attend, rule=["window.zero"])


def test_a_refusal_has_the_first_lines_of_an_exception():
    def fails(case):
        raise RuntimeError("No kernel found.\n  Reasons:\n    dim 64 is too small\n" + "x" * 300)

    (text,) = refusal(fails)
    assert text.startswith("RuntimeError: No kernel found. Reasons: dim 64 is too small x")
    assert len(text) == 200


def test_an_adapter_that_exits_fails():
    def leaves(case):
        raise SystemExit("no GPU")

    assert refusal(leaves, "fails") == {"SystemExit: no GPU"}


def test_an_output_of_objects_fails():
    assert refusal(lambda case: np.array([object()]), "fails") == {"TypeError: out holds object; expected floats"}


def test_no_rule_left_is_an_error(capsys):
    with pytest.raises(maskctl.Error, match="no case is left to ask: causal, in without=, excludes"):
        kit.judge(causal, rule=["causal.square"], without=["causal"])
    words = ["run", "--library", "numpy", "--rule", "causal.square", "--without", "causal"]
    assert kit.main(words) == 2
    assert "drop one of --without" in capsys.readouterr().err


@pytest.mark.parametrize("code, said", [
    ("def attend(case:\n", "SyntaxError: "),
    ("import sys\nsys.exit('no licence')\n", "SystemExit: no licence"),
    ("import os\nos._exit(5)\n", "exit status 5"),
    ("attend = 3\n", "is of type int; expected a function of a case"),
    ("def attend():\n    pass\n", "is no function of one argument, the case: too many positional arguments"),
    ("def attend(case, scale):\n    pass\n", "missing a required argument: 'scale'"),
    ("", "has no 'attend'"),
])
def test_a_file_without_an_adapter_is_one_line(tmp_path, capsys, code, said):
    (tmp_path / "mine.py").write_text(code)
    assert kit.main(["run", "--library", f"{tmp_path}/mine.py:attend", "--rule", "pad.flags"]) == 2
    err = capsys.readouterr().err
    assert said in err and len(err.splitlines()) == 1


def test_what_cannot_be_called_is_no_adapter():
    with pytest.raises(maskctl.Error, match="expected a function of a case"):
        kit.judge(np.zeros(1), rule=["causal.square"])


def test_messages_name_arguments_in_python_and_options_in_the_shell(tmp_path, capsys):
    (tmp_path / "kit.json").write_text("no json")
    with pytest.raises(maskctl.Error, match="baseline='.*kit.json': no maskctl.kit/1; expected what json= of"):
        kit.judge(causal, rule="window.zero", baseline=str(tmp_path / "kit.json"))
    words = ["run", "--library", "numpy", "--rule", "window.zero", "--baseline", f"{tmp_path}/kit.json"]
    assert kit.main(words) == 2
    err = capsys.readouterr().err
    assert f"--baseline '{tmp_path}/kit.json': no maskctl.kit/1; expected what --format json of" in err


def test_one_rule_may_be_a_string():
    assert {case.id for case in kit.cases(rule="causal.square", without="causal.square-1")} == {
        f"causal.square-{n}" for n in range(2, 6)}
    assert set(outcomes(kit.judge(causal, rule="causal.square-1"))) == {"causal.square-1"}


def test_an_interrupt_ends_the_run(tmp_path, capsys):
    def interrupted(case):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kit.judge(interrupted, rule="causal.square")
    (tmp_path / "mine.py").write_text("def attend(case):\n    raise KeyboardInterrupt\n")
    assert kit.main(["run", "--library", f"{tmp_path}/mine.py:attend", "--rule", "causal.square"]) == 130
    assert not capsys.readouterr().out


def test_an_adapter_imports_from_the_folder_of_its_file(tmp_path):
    (tmp_path / "their_library.py").write_text("from maskctl._adapters import ADAPTERS\ncall = ADAPTERS['numpy']\n")
    (tmp_path / "mine.py").write_text("import their_library\nattend = their_library.call\n")
    assert kit.judge(f"{tmp_path}/mine.py:attend", rule="causal.square-1")


def asked_by_name(tmp_path, code, timeout=3, rule="causal.square"):
    """The answer about the function `attend` of a file, which is asked in another process."""
    (tmp_path / "mine.py").write_text("import os, signal, sys, time\nfrom maskctl._adapters import ADAPTERS\n" + code)
    return kit.judge(f"{tmp_path}/mine.py:attend", rule=[rule], timeout=timeout)


def test_a_case_that_hangs_has_a_verdict_of_its_own_and_the_others_are_asked(tmp_path):
    answer = asked_by_name(tmp_path, """
def attend(case):
    while case.id == "causal.square-2":
        time.sleep(1)
    return ADAPTERS["numpy"](case)
""")
    texts = {case.id: (case.outcome, case.text) for case in answer.cases if case.outcome != "obeys"}
    assert len(answer.cases) == 5 and texts == {"causal.square-2": ("timed out", "ran longer than 3 s")}


def test_a_case_that_ends_the_process_fails(tmp_path):
    answer = asked_by_name(tmp_path, """
def attend(case):
    if case.id == "causal.square-1":
        os.kill(os.getpid(), signal.SIGSEGV)
    if case.id == "causal.square-4":
        os._exit(3)
    print("a library that prints")
    return ADAPTERS["numpy"](case)
""", timeout=60)
    texts = {case.id: (case.outcome, case.text) for case in answer.cases if case.outcome != "obeys"}
    assert texts == {"causal.square-1": ("fails", "ended by signal 11"),
                     "causal.square-4": ("fails", "exit status 3")}


def test_a_refusal_that_becomes_a_crash_is_worse_than_before(tmp_path):
    words = {"rule": ["bias.added-1"]}
    refused = kit.judge(causal, library="mine", **words)
    (tmp_path / "kit.json").write_text(kit.judge(causal, library="mine", format="json", **words).text)
    baseline = str(tmp_path / "kit.json")
    assert refused.status == 1 and kit.judge(causal, library="mine", baseline=baseline, **words)
    answer = kit.judge(lambda case: np.zeros(1, complex), library="mine", baseline=baseline, **words)
    assert answer.status == 1 and "1 worse" in answer.text



def test_a_closed_pipe_is_one_line(tmp_path):
    (tmp_path / "mine.py").write_text("def attend(case): raise NotImplementedError")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "maskctl.kit", "run", "--library", f"{tmp_path}/mine.py:attend", "--rule",
                           "causal"], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 2 and done.stderr == "maskctl.kit: standard output: Broken pipe\n"


def test_a_limit_of_time_is_for_names(capsys):
    with pytest.raises(maskctl.Error, match="timeout: a function runs in this process, which cannot end it"):
        kit.judge(causal, timeout=3)
    with pytest.raises(SystemExit):
        kit.main(["run", "--library", "numpy", "--timeout", "0"])
    assert "expected 1 to 1000000 seconds" in capsys.readouterr().err


def test_a_library_that_is_absent_or_runs_elsewhere_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(ADAPTERS["keras"], "needs", ("nothing_of_that_name",))
    with pytest.raises(maskctl.Error, match="needs nothing_of_that_name, which is not installed"):
        kit.judge(ADAPTERS["keras"])
    assert kit.main(["run", "--library", "numpy", "--device", "cuda"]) == 2
    assert "numpy runs on cpu, not on cuda" in capsys.readouterr().err


def test_a_chain_gives_the_numbers_of_its_steps():
    made = {case.id: case for case in kit.cases(rule=["causal", "window", "doc", "pad", "heads.groups", "block.map"])}
    assert made["causal.offset-3"].chain("causal") == [("causal", {"align": "top-left", "offset": [128, 64]})]
    assert made["window.keys-2"].chain("window") == [("window", {"left": 15, "right": 0})]
    assert made["window.both-1"].chain("window") == [("window", {"left": 3, "right": 3})]
    assert made["window.unbounded-2"].chain("window") == [("window", {"left": 7, "right": None})]
    assert made["doc.causal-1"].chain("doc", "causal") == [("doc", {"lens": [5, 8, 4]}), ("causal", {})]
    assert made["heads.groups-3"].chain() == []
    (name, given), = made["pad.flags-1"].chain("pad")
    assert name == "pad" and given["of"] == "kv" and given["array"].tolist() == [[1] * 11 + [0] * 6]
    with pytest.raises(kit.Unsupported, match="no argument for within"):
        made["doc.ragged-1"].chain("causal", "doc")


@pytest.mark.parametrize("align", ["top-left", "bottom-right"])
def test_a_window_opens_the_pairs_of_the_mask_or_is_refused(align):
    obeyed = 0
    for case in kit.cases(rule=["window", "causal", "heads", "lse.natural", "doc.causal", "pad.left"]):
        try:
            left, right = case.window(align)
        except kit.Unsupported:
            continue
        queries, keys = case.mask.shape[2:]
        shift = keys - queries if align == "bottom-right" else 0
        distance = np.arange(keys) - np.arange(queries)[:, None] - shift
        seen = (left is None or distance >= -left) & (right is None or distance <= right) & np.ones_like(distance, bool)
        assert (case.mask == seen).all(), case.id
        obeyed += 1
    assert obeyed > 20


def lengths_and_window(case):
    """What docs/semantics.md asks of a chain."""
    lengths = window = None
    for name, given in case.chain("window", "pad", "kv-lengths"):
        if given.get("align") == "top-left" or "offset" in given or given.get("side") == "left" or "array" in given:
            raise kit.Unsupported(case.steps)
        if name == "window":
            window = given["left"], given["right"]
        else:
            lengths = given["lens"]
    return lengths, window


def test_lengths_and_a_window_open_the_pairs_of_the_mask_or_are_refused():
    assert "given.get(\"side\") == \"left\" or \"array\" in given" in PAGE.read_text()
    obeyed = set()
    for case in kit.cases(rule=["window", "pad", "lengths", "row.empty", "heads"]):
        try:
            lengths, window = lengths_and_window(case)
        except kit.Unsupported:
            continue
        batch, _, queries, keys = case.mask.shape
        left, right = window or (None, None)
        distance = np.arange(keys) - np.arange(queries)[:, None] - (keys - queries)
        seen = (left is None or distance >= -left) & (right is None or distance <= right) & np.ones_like(distance, bool)
        valid = np.arange(keys) < np.broadcast_to(keys if lengths is None else lengths, batch)[:, None]
        assert (case.mask == (seen & valid[:, None])[:, None]).all(), case.id
        obeyed.add(case.rule)
    assert {"pad.right", "pad.window", "row.empty", "window.bottom-right"} <= obeyed


def test_a_baseline_allows_what_was_so_before(tmp_path, capsys):
    (tmp_path / "mine.py").write_text("""from maskctl._adapters import ADAPTERS
def attend(case):
    case.only("scale")
    return ADAPTERS["numpy"](case)
""")
    words = ["run", "--library", f"{tmp_path}/mine.py:attend", "--rule", "causal.square-2", "--rule", "bias.added"]
    assert kit.main([*words, "--format", "json"]) == 1
    (tmp_path / "kit.json").write_text(capsys.readouterr().out)
    known = [*words, "--baseline", f"{tmp_path}/kit.json"]
    assert kit.main(known) == 0
    assert "0 worse, 0 better" in capsys.readouterr().out
    (tmp_path / "mine.py").write_text("from maskctl._adapters import ADAPTERS\nattend = ADAPTERS['numpy']\n")
    assert kit.main(known) == 0
    assert "better  bias.added-1: refuses, now obeys" in capsys.readouterr().out
    (tmp_path / "mine.py").write_text("def attend(case):\n    case.only()\n    raise RuntimeError('no kernel')\n")
    assert kit.main(known) == 1
    out = capsys.readouterr().out
    assert "1 worse, 0 better" in out
    assert "worse   causal.square-2: obeys, now refuses: RuntimeError: no kernel" in out


def test_a_case_has_the_time_that_the_library_took():
    def slow(case):
        time.sleep(0.2)
        return ADAPTERS["numpy"](case)

    (case,) = kit.judge(slow, rule=["causal.square-2"]).cases
    assert case.outcome == "obeys" and 0.2 <= case.seconds < 60


def test_a_case_can_be_left_out():
    answer = kit.judge(causal, rule=["causal.square", "causal.bottom-right"], without=["causal.bottom-right"])
    assert answer
    assert set(outcomes(kit.judge(causal, rule=["causal.square"], without=["causal.square-1"]))) == {
        f"causal.square-{n}" for n in range(2, 6)}


def test_a_lower_precision_than_that_of_the_arrays_is_said():
    answer = kit.judge(lambda case: ADAPTERS["numpy"](case)["out"].astype(np.float16), rule=["causal.square-2"])
    assert answer and "out holds float16 for arrays of float32, and is judged as that" in answer.text
    assert answer.cases[0].note


def test_an_output_of_whole_numbers_fails():
    answer = kit.judge(lambda case: np.zeros_like(ADAPTERS["numpy"](case)["out"], np.int32), rule=["causal.square-2"])
    assert answer.status == 1 and answer.cases[0].outcome == "fails"
    assert answer.cases[0].text == "out holds int32; expected floats"


@pytest.mark.parametrize("change, said", [
    (lambda case, lse: lse * np.nan, "rows of NaN, though no key holds NaN (all of lse)"),
    (lambda case, lse: lse / np.log(2), "lse to base 2 (lse / ln 2)"),
    (lambda case, lse: lse * case.used_scale, "lse times 0.125, which is the scale"),
    (lambda case, lse: lse / case.used_scale, "lse times 8, which is 1 / the scale"),
    (lambda case, lse: lse * case.used_scale / np.log(2), "which is the scale / ln 2: to base 2"),
    (lambda case, lse: -lse, "lse times -1"),
])
def test_another_lse_is_named(change, said):
    def attend(case):
        given = ADAPTERS["numpy"](case)
        return {**given, "lse": change(case, np.asarray(given["lse"]))}

    for case in kit.judge(attend, rule=["lse.natural"]).cases:
        assert case.outcome == "wrong numbers" and said in case.text, case.text


@pytest.mark.parametrize("value, said", [(np.nan, "NaN"), (0.0, "0"), (np.inf, "inf"), (-1e30, "-1e+30")])
def test_the_lse_of_rows_without_a_key_is_named(value, said):
    def attend(case):
        empty = ~case.mask.any(-1)
        with np.errstate(all="ignore"):
            given = ADAPTERS["numpy"](case)
        return {"out": np.nan_to_num(given["out"]), "lse": np.where(empty, value, given["lse"])}

    for case in kit.judge(attend, rule=["row.empty-lse"]).cases:
        assert f"an lse of {said} instead of minus infinity in rows without a key" in case.text, case.text
