"""Checks that the type stubs list the options of the commands, which MASKCTL_UPDATE_GOLDEN=1
rewrites, and the fields of answers."""

import ast
import os

import numpy as np

from conftest import ROOT

from maskctl import Mask
from maskctl._answer import options_of

PACKAGE = ROOT / "app/python/maskctl"
STUBS = PACKAGE / "_mask.pyi"
BEGIN, END = "    # The commands: written by tests/python/test_stubs.py.\n", "    # The end of the commands.\n"
VERBS = {"show": [], "stats": [], "check": [], "recognise": [], "recognize": [],
         "why": ["query: int", "key: int"], "diff": ["other: _Source"], "cost": [], "verify": [],
         "parts": ["parts: _Source = ..."], "phases": []}


def type_of(keyword, value):
    if keyword == "tokens":
        return "_Tokens"
    if value == "":
        return "bool"
    if value == "N":
        return "int"
    return "_Source" if "SOURCE" in value else "_Words"


def stub(verb, operands):
    options = [f"{keyword}: {type_of(keyword, value)} = ..." for keyword, value, _ in options_of(verb)]
    extra = ["**arguments: _Source"] if verb == "verify" else []
    lines = ["self", *operands, "*", *options, *extra]
    answer = {"check": "CheckAnswer", "diff": "DiffAnswer", "verify": "VerifyAnswer"}.get(verb, "Answer")
    return f"    def {verb}(\n" + "".join(f"        {line},\n" for line in lines) + f"    ) -> {answer}: ...\n"


def test_stubs_have_the_options_of_the_commands():
    text = STUBS.read_text()
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    made = head + BEGIN + "".join(stub(*row) for row in VERBS.items()) + END + tail
    if os.environ.get("MASKCTL_UPDATE_GOLDEN"):
        STUBS.write_text(made)
    assert STUBS.read_text() == made
    compile(made, "stubs", "exec")


def fields_of_stubs():
    """The annotated fields of each class of the stubs: {class: {field: annotation}}."""
    return {one.name: {field.target.id: ast.unparse(field.annotation) for field in one.body
                       if isinstance(field, ast.AnnAssign)}
            for stub in sorted(PACKAGE.glob("*.pyi")) for one in ast.parse(stub.read_text()).body
            if isinstance(one, ast.ClassDef)}


STUBBED = fields_of_stubs()
VERDICTS = ["obeys", "another", "none", "unclear", "other-call", "partly"]


def hold(value, annotation, seen):
    """Checks a value against the annotation of a field."""
    kinds = annotation.split(" | ")
    if value is None:
        assert "None" in kinds
        return
    kind = kinds[0]
    if kind.startswith("list["):
        assert isinstance(value, list)
        for one in value:
            hold(one, kind[5:-1], seen)
    elif kind in STUBBED and kind.startswith("_"):
        assert set(value) <= set(STUBBED[kind]) if kind == "_Place" else set(value) == set(STUBBED[kind])
        seen.add(kind)
        for name, one in value.items():
            assert getattr(value, name) == value[name]
            hold(one, STUBBED[kind][name], seen)
    elif kind.startswith("Literal["):
        assert value in ast.literal_eval(kind[7:])
    elif kind == "_Verdict":
        assert value in VERDICTS
    else:
        types = {"int": int, "str": str, "bool": bool, "float": (int, float), "Record": dict, "Mask": Mask}
        assert isinstance(value, types[kind])


def test_fields_of_answers_are_those_of_the_stubs(tmp_path):
    ids = np.repeat([0, 1, 2], [9, 7, 8])
    causal = Mask.parse("causal", 24)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 24, 1, 8)).astype("f4") for _ in range(3))
    call = {"query": q, "key": k, "value": v}
    np.save(tmp_path / "out.npy", q)
    np.save(tmp_path / "lse.npy", np.zeros((1, 1, 24), "f4"))
    fixed = Mask(np.tri(24, dtype=bool)).check(segments=ids, write_fixed=f"{tmp_path}/fixed.npy")
    assert Mask(f"{tmp_path}/fixed.npy") == Mask.parse("doc:lens=9+7+8 | causal", 24)
    answers = [causal.check(), causal.check(segments=ids), (~causal).check(), fixed,
               Mask(np.zeros((4, 4), bool)).check(write_fixed=f"{tmp_path}/none.npy"),
               causal.check(segments=ids, expect=["causal", "window:keys=4"]),
               causal.verify(no_gradients=True), causal.verify(**call, given=q), causal.verify(**call, given=0 * q),
               causal.verify(**call, given=[f"{tmp_path}/out.npy", f"lse={tmp_path}/lse.npy"])]
    seen = set()
    for answer in answers:
        kind = type(answer).__name__
        seen.add(kind)
        fields = STUBBED[kind]
        beside = {"obeyed", "nearest"} | {"text"}
        assert set(answer.data) - beside <= set(fields)
        assert set(fields) - beside - {"solved", "not_solved"} <= set(answer.data)
        for name, annotation in fields.items():
            if name in answer.data or name in beside:
                hold(getattr(answer, name), annotation, seen)
    wanted = {name for name in STUBBED if STUBBED[name] and name[0] == "_"} | {"CheckAnswer", "VerifyAnswer"}
    assert seen >= wanted, wanted - seen
