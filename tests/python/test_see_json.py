"""The JSON of maskctl.see against answers that are stored, from which docs/schemas are made and to which docs/json.md is
held. MASKCTL_UPDATE_GOLDEN=1 writes them again."""

import json
import os
import pathlib

import numpy as np
from test_see import IDS, PACKED, SHAPES, T, TOKENS, through

import maskctl
from maskctl import _see, _see_subjects

STORED = pathlib.Path(__file__).resolve().parents[1] / "data" / "see_answers.json"


class Layered(_see_subjects.Function):
    """A model of two layers, which leak each in its way."""

    cached, arguments = False, ()

    def layers(self, within=None, changed=None):
        functions = [] if within is not None else [self.function, through(SHAPES["near"])]
        return [(f"layers.{n}", one, _see_subjects.Function(one, self.values)) for n, one in enumerate(functions)]


def answers():
    yield maskctl.see(through(PACKED), TOKENS, segments=IDS)
    yield maskctl.see(through(np.ones((T, T))), TOKENS, valid=IDS < 2)
    yield maskctl.see(lambda x: through(PACKED)(x) + x[..., None].mean(0), TOKENS, segments=IDS)
    for kind in ("near", "decay"):
        yield maskctl.see(through(SHAPES[kind]), TOKENS[:1], segments=IDS)
    yield _see._of_subject(Layered(through(SHAPES["document"]), TOKENS), TOKENS, segments=IDS, layers=True)


def without_measures(value):
    """The value, where numbers that depend on how a machine rounds are left out."""
    if isinstance(value, dict):
        return {key: None if key in ("noise", "floor", "half_life") else without_measures(one) for key, one in value.items()}
    return [without_measures(one) for one in value] if isinstance(value, list) else value


def test_the_json_of_see_is_what_is_stored():
    found = [json.loads(json.dumps(one.data)) for one in answers()]
    if os.environ.get("MASKCTL_UPDATE_GOLDEN"):
        STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    assert without_measures(found) == without_measures(stored)
    types = lambda one: {key: type(value) for key, value in one.items()}
    for one, other in zip(found, stored):
        assert types(one) == types(other)
        for question, stored_question in zip(one["questions"], other["questions"]):
            assert (question["shape"] is None) == (stored_question["shape"] is None)
            if question["shape"] is not None:
                assert types(question["shape"]) == types(stored_question["shape"])
