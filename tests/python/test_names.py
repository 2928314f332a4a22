"""Names that act on terminals: what the module prints shows them escaped, and takes them as they are."""

import unicodedata

import numpy as np
import pytest

import maskctl
from maskctl import Error, Mask

NAMES = ["\x1b]0;t\x07\x1b[2J\x9b1m\b\r\x7fx", "b\u202ec\u2066d\u2069\u2028e\u061cf\u200eg\th",
         "a\nFORGED 0 findings", "\"><&'{0}"]
OF_DIRECTION = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def faults(text):
    raw = {c for c in text if c != "\n" and (unicodedata.category(c) == "Cc" or c in OF_DIRECTION)}
    return sorted(raw), [line for line in text.split("\n") if line.startswith("FORGED")]


CLEAN = ([], [])


@pytest.mark.parametrize("name", NAMES)
def test_masks_and_answers_show_names_escaped(name):
    mask = Mask(np.tri(4, dtype=bool), name=name)
    other = Mask(np.ones((4, 4), bool), name="s" + name)
    for shown in (repr(mask), str(mask), repr(~mask), repr(mask & other), mask._repr_html_()):
        assert faults(shown) == CLEAN
    for answer in (mask.stats(), mask.check(), mask.recognise(), mask.diff(other, show=True),
                   mask.show(), mask.why(1, 2), maskctl.run("check", mask, other)):
        assert faults(str(answer)) == CLEAN and faults(repr(answer)) == CLEAN
        assert faults(answer._repr_html_()) == CLEAN
        assert all(faults(note) == CLEAN for note in answer.notes)
    assert mask.name == name and mask.stats().source == name


@pytest.mark.parametrize("name", NAMES)
def test_errors_show_names_escaped(name, tmp_path):
    def error_of(ask):
        with pytest.raises((Error, TypeError)) as caught:
            ask()
        return str(caught.value)

    mask = Mask(np.tri(4, dtype=bool))
    for ask in (lambda: Mask.read(tmp_path / name), lambda: Mask.parse(name, 4), lambda: Mask(np.ones(()), name=name),
                lambda: mask.apply(name), lambda: mask.check(expect=name), lambda: maskctl.run(name, mask),
                lambda: mask.show(tile=name), lambda: mask.stats(**{name: 1}), lambda: Mask(np.ones((2, 2)), name)):
        assert faults(error_of(ask)) == CLEAN


@pytest.mark.parametrize("name", NAMES)
def test_files_are_read_by_their_names(name, tmp_path):
    path = tmp_path / name.replace("/", "|")
    np.save(path, np.tri(4, dtype=bool))
    mask = Mask.read(f"{path}.npy")
    assert mask.count() == 10 and faults(repr(mask)) == CLEAN and faults(str(mask)) == CLEAN


def test_layers_show_names_escaped():
    from maskctl._seen import Seen

    seen = Seen()
    for n, name in enumerate(NAMES):
        seen._add(name, Mask(np.tri(3 + n, dtype=bool), name=name))
    assert faults(str(seen)) == CLEAN and faults(repr(seen)) == CLEAN and len(seen) == len(NAMES)
