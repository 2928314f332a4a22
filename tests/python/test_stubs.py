"""Checks that the type stubs list the options of the commands; MASKCTL_UPDATE_GOLDEN=1 rewrites
them."""

import os

from conftest import ROOT

from maskctl._answer import options_of

STUBS = ROOT / "app/python/maskctl/__init__.pyi"
BEGIN, END = "    # The commands: written by tests/python/test_stubs.py.\n", "    # The end of the commands.\n"
VERBS = {"show": [], "stats": [], "check": [], "recognise": [], "recognize": [],
         "why": ["query: int", "key: int"], "diff": ["other: _Source"], "cost": [], "verify": []}


def type_of(value):
    if value == "":
        return "bool"
    if value == "N":
        return "int"
    return "_Source" if "SOURCE" in value else "_Words"


def stub(verb, operands):
    options = [f"{keyword}: {type_of(value)} = ..." for keyword, value, _ in options_of(verb)]
    extra = ["**arguments: _Source"] if verb == "verify" else []
    lines = ["self", *operands, "*", *options, *extra]
    return f"    def {verb}(\n" + "".join(f"        {line},\n" for line in lines) + "    ) -> Answer: ...\n"


def test_stubs_are_what_the_commands_take():
    text = STUBS.read_text()
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    made = head + BEGIN + "".join(stub(*row) for row in VERBS.items()) + END + tail
    if os.environ.get("MASKCTL_UPDATE_GOLDEN"):
        STUBS.write_text(made)
    assert STUBS.read_text() == made
    compile(made, "stubs", "exec")
