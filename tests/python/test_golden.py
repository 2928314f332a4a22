"""assert_mask, and the fixture mask_golden in a separate run of pytest."""

import numpy as np
import pytest

from maskctl import Mask
from maskctl.testing import assert_mask

pytest_plugins = ["pytester"]


def test_equal_masks_pass():
    assert_mask(np.tri(5, dtype=bool), "causal")
    assert_mask(Mask.parse("causal", 5), np.tri(5, dtype=bool))


def test_different_masks_fail_with_cause_and_drawing():
    with pytest.raises(AssertionError) as caught:
        assert_mask(Mask.parse("window:keys=9 | causal", 32, ), "window:keys=8 | causal")
    text = str(caught.value)
    assert "cause   B = A with window" in text
    assert "32 queries x 32 keys" in text


TEST = """
import numpy as np
def test_mask(mask_golden):
    mask_golden(np.tri(6, k=%d, dtype=bool), "causal")
"""


def run(pytester, band, *options):
    pytester.makepyfile(TEST % band)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)


def test_golden_masks_are_made_kept_and_compared(pytester, monkeypatch):
    monkeypatch.setenv("CI", "")
    run(pytester, 0).stdout.fnmatch_lines(["*golden.toml: no entry 'causal'*--mask-golden-update*"])
    run(pytester, 0, "--mask-golden-update").assert_outcomes(passed=1)
    run(pytester, 0).assert_outcomes(passed=1)
    failed = run(pytester, 1)
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*causal.npz*"])
    run(pytester, 1, "--mask-golden-update").assert_outcomes(passed=1)
    run(pytester, 1).assert_outcomes(passed=1)
    assert (pytester.path / "golden.toml").read_text().count("[[golden]]") == 1
