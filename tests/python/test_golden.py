"""assert_mask, and the fixture mask_golden in a separate run of pytest."""

import subprocess
import sys

import numpy as np
import pytest

from maskctl import Error, Mask
from maskctl.testing import Golden, assert_mask

pytest_plugins = ["pytester"]


def test_equal_masks_pass():
    assert_mask(np.tri(5, dtype=bool), "causal")
    assert_mask(Mask.parse("causal", 5), np.tri(5, dtype=bool))


def test_different_masks_fail_with_cause_and_drawing():
    with pytest.raises(AssertionError) as caught:
        assert_mask(Mask.parse("window:keys=9 | causal", 32, ), "window:keys=8 | causal")
    text = str(caught.value)
    assert "cause   actual = expected with window" in text
    assert "A" not in text.split() and "B" not in text.split()
    assert "32 queries x 32 keys" in text


TEST = """
import numpy as np
def test_mask(mask_golden):
    mask_golden(np.tri(6, k=%d, dtype=bool), "causal")
"""


def run(pytester, band, *options):
    pytester.makepyfile(TEST % band)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)


def test_golden_masks_are_written_and_compared(pytester, monkeypatch):
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


def test_a_difference_is_said_from_the_golden_mask_to_the_actual_one(tmp_path):
    at = tmp_path / "wide.npz"
    Mask.parse("window:keys=9", 16).save(at, "runs")
    Golden(tmp_path / "golden.toml", True)(str(at), "wide")
    Golden(tmp_path / "golden.toml")(str(at), "wide")
    with pytest.raises(AssertionError) as raised:
        Golden(tmp_path / "golden.toml")(Mask.parse("window:keys=8", 16), "wide")
    assert "actual = golden with window left 7 instead of 8" in str(raised.value)
    assert "window left 8 instead of 7" not in str(raised.value)


@pytest.mark.parametrize("name", ["a/b", "../esc", "q=1,kv=2", "gen:causal:n=4", "new\nline", "-f", ".hidden",
                                  "", "x" * 300])
def test_names_outside_of_the_folder_of_the_manifest_are_refused(tmp_path, name):
    folder = tmp_path / "tests"
    folder.mkdir()
    for update in (True, False):
        with pytest.raises(Error, match="cannot name a file beside the manifest; a name is of letters"):
            Golden(folder / "golden.toml", update)(Mask.parse("causal", 4), name)
    assert [path.name for path in tmp_path.rglob("*")] == ["tests"]


def test_an_entry_that_names_a_file_elsewhere_writes_nothing_there(tmp_path):
    (tmp_path / "tests").mkdir()
    manifest = tmp_path / "tests" / "golden.toml"
    for name, expect in (("../esc", 'sha256 = ""'), ("a", 'array = "../esc.npz"')):
        source = f"{name}.npz" if name == "../esc" else "gen:causal:n=4"
        manifest.write_text(f'[[golden]]\nname = "{name}"\nsource = "{source}"\nexpect = {{ {expect} }}\n')
        with pytest.raises(Error):
            Golden(manifest, True)(Mask.parse("causal", 4), name)
        assert not (tmp_path / "esc.npz").exists()


UPDATE = """
import sys
from maskctl import Mask
from maskctl.testing import Golden
first, step, more = map(int, sys.argv[1:])
golden = Golden("golden.toml", True)
for i in range(first, 24, step):
    golden(Mask.parse(f"window:keys={i + 1 + more} | causal", 64), f"w[{i}]")
"""


def test_processes_that_update_one_manifest_lose_nothing(tmp_path):
    check = Golden(tmp_path / "golden.toml")
    for more in (0, 1):  # all entries are new, then all change
        workers = [subprocess.Popen([sys.executable, "-c", UPDATE, str(first), "4", str(more)], cwd=tmp_path)
                   for first in range(4)]
        assert [worker.wait() for worker in workers] == [0] * 4
        for i in range(24):
            check(Mask.parse(f"window:keys={i + 1 + more} | causal", 64), f"w[{i}]")
        assert (tmp_path / "golden.toml").read_text().count("[[golden]]") == 24
    assert len(list(tmp_path.iterdir())) == 25
