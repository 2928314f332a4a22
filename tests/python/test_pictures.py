"""Checks what notebooks show of masks and answers, and findings as rows."""

import pickle
import re
from xml.dom import minidom

import numpy as np
import pytest

from maskctl import Mask

HOSTILE = "<script>alert(1)</script>&\"'\x1b[2J"
CAUSAL = Mask.parse("causal", 24)
IDS = np.repeat([0, 1, 2], [9, 7, 8])


def named(mask):
    return Mask(np.asarray(mask), name=HOSTILE)


def drawn(shown):
    """The SVG in what is shown; it has to be XML."""
    svg = re.search(r"<svg.*</svg>", shown, re.S).group(0)
    minidom.parseString(svg)
    return svg


SHOWN = {
    "mask": named(CAUSAL),
    "check": named(CAUSAL).check(segments=IDS),
    "clean check": named(Mask.from_segments(IDS).apply("causal")).check(segments=IDS),
    "diff": named(CAUSAL).diff(named(Mask.parse("window:keys=3", 24))),
}


@pytest.mark.parametrize("what", SHOWN)
def test_pictures_are_shown_in_each_form(what):
    one = SHOWN[what]
    assert drawn(one._repr_html_()) in one._repr_svg_()
    assert one._repr_png_()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("what", SHOWN)
def test_hostile_names_are_escaped(what):
    for shown in (SHOWN[what]._repr_html_(), SHOWN[what]._repr_svg_()):
        assert "<script" not in shown and "\x1b" not in shown


def test_answers_keep_their_text_beside_the_picture():
    shown = CAUSAL.check(segments=IDS)._repr_html_()
    assert shown.startswith("<pre>error: document-leak") and shown.endswith("</svg>\n")
    assert "leak" in drawn(shown)


def test_the_picture_shows_the_batch_and_head_of_the_first_finding():
    cells = np.tile(np.asarray(Mask.from_segments(IDS).apply("causal")).reshape(1, 1, 24, 24), (3, 2, 1, 1))
    cells[2, 1, 20, 1] = True
    answer = Mask(cells).check(segments=IDS)
    assert "batch 2, head 1" in drawn(answer._repr_html_())


def test_a_picture_shows_the_arrays_as_they_were_when_check_ran():
    ids = IDS.copy()
    checked = CAUSAL.check(segments=ids)
    before = CAUSAL.check(segments=IDS)._repr_svg_()
    ids[:] = 0
    assert checked._repr_svg_() == before
    third = np.tri(24, dtype=bool)
    third[5, 5] = False
    compared = CAUSAL.diff(third)
    fresh = CAUSAL.diff(third)._repr_svg_()
    third[:] = True
    assert compared._repr_svg_() == fresh


def test_no_copy_is_kept_of_a_large_array():
    large = np.ones((4200, 4200), bool)
    answer = Mask.parse("causal", 4200).diff(large)
    assert answer._repr_svg_() is None and answer._repr_html_().startswith("<pre>")


def test_equal_masks_other_answers_and_empty_masks_have_no_picture():
    for answer in (CAUSAL.diff(CAUSAL), CAUSAL.stats(), CAUSAL.recognise(), pickle.loads(pickle.dumps(SHOWN["check"]))):
        assert answer._repr_svg_() is None and answer._repr_png_() is None and answer._repr_html_().startswith("<pre>")
    empty = Mask(np.zeros((0, 1, 4, 4), bool))
    assert empty._repr_png_() is None and empty._repr_html_() == "<pre>(empty)</pre>"


ROW = ["source", "id", "severity", "message", "step", "batch", "head", "query", "key", "entry", "count", "claim", "why", "fix"]


def test_all_rows_of_findings_have_the_same_columns():
    cells = np.tri(24, dtype=bool)[None, None]
    cells[0, 0, 4] = False
    rows = Mask(cells, name="mine").check(segments=IDS).rows()
    rows += CAUSAL.check(padding=np.arange(24) < 20).rows() + (~CAUSAL).check().rows()
    assert len(rows) > 3 and all(list(row) == ROW and type(row) is dict for row in rows)
    leak = next(row for row in rows if row["id"] == "document-leak")
    assert (leak["source"], leak["batch"], leak["head"], leak["severity"]) == ("mine", 0, 0, "error")
    assert not np.asarray(IDS)[leak["query"]] == IDS[leak["key"]] and cells[0, 0, leak["query"], leak["key"]]


def test_a_mask_without_findings_has_no_rows():
    assert Mask.from_segments(IDS).apply("causal").check(segments=IDS).rows() == []
