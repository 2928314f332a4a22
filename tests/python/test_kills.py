#!/usr/bin/python3
"""Writers into containers are killed at any moment: the file is the old one or the new one, the other
arrays stay bit for bit, and the next write leaves nothing of the killed ones.

    tests/python/test_kills.py 200     as many kills for each format, by hand
"""

import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

PROGRAM = os.environ.get("MASKCTL_PROGRAM") or shutil.which("maskctl") or "maskctl"
FORMATS = ["npz", "h5", "safetensors"]
CELLS = 1500  # long enough to be killed in, short enough to be made often


def write(path, mask, name):
    return [PROGRAM, "gen", f"{mask}:n={CELLS}", "-f", "-o", f"{path}:{name}"]


def array(path, name):
    """The bytes of an array, as maskctl reads it: its own checksums and sizes hold too."""
    done = subprocess.run([PROGRAM, "convert", f"{path}:{name}", "--as", "dense", "--to", "dense",
                           "-o", "-"], capture_output=True, check=True)
    return done.stdout


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.startswith(".")]


def kill_writers(folder, suffix, count, seed=1):
    """Kills `count` writers of one array; returns how many had written and how many left a file."""
    rng = random.Random(seed)
    path = pathlib.Path(folder) / f"m.{suffix}"
    for mask, name in (("full", "other"), ("causal", "more"), ("causal", "mask")):
        subprocess.run(write(path, mask, name), check=True)
    start = time.monotonic()
    subprocess.run(write(path, "causal", "mask"), check=True)
    usual = time.monotonic() - start
    others = {name: array(path, name) for name in ("other", "more")}
    known = {"causal": array(path, "mask"), "full": others["other"]}
    written, left, now = 0, 0, "causal"
    for _ in range(count):
        mask = "full" if now == "causal" else "causal"
        writer = subprocess.Popen(write(path, mask, "mask"))
        time.sleep(rng.uniform(0, 1.1) * usual)
        writer.kill()
        writer.wait()
        found = array(path, "mask")
        assert found in (known[now], known[mask]), "neither the old array nor the new one"
        assert {name: array(path, name) for name in others} == others
        if found == known[mask]:
            written, now = written + 1, mask
        left += bool(leftovers(folder))
    subprocess.run(write(path, "causal", "mask"), check=True)
    assert array(path, "mask") == known["causal"]
    assert leftovers(folder) == []
    return written, left


@pytest.mark.parametrize("suffix", FORMATS)
def test_killed_writers_leave_all_earlier_arrays(tmp_path, suffix):
    kill_writers(tmp_path, suffix, 8)


def test_the_next_write_removes_the_temporary_file_of_a_killed_writer(tmp_path):
    path = tmp_path / "m.npz"
    subprocess.run(write(path, "causal", "mask"), check=True)
    # Standard input gives the elements slowly, so that the temporary file is there to be seen.
    slow = subprocess.Popen([PROGRAM, "gen", "random:seed=1,sparsity=0.5,n=20000", "-f", "-o",
                             str(tmp_path / "m.npy")])
    while not leftovers(tmp_path) and slow.poll() is None:
        time.sleep(0.001)
    assert slow.poll() is None
    subprocess.run([PROGRAM, "gen", "causal:n=8", "-f", "-o", str(tmp_path / "m.npy")], check=True)
    assert len(leftovers(tmp_path)) == 1  # of the writer that lives
    slow.kill()
    slow.wait()
    subprocess.run([PROGRAM, "gen", "causal:n=9", "-f", "-o", str(tmp_path / "m.npy")], check=True)
    assert leftovers(tmp_path) == []
    assert np.load(tmp_path / "m.npy").shape == (1, 1, 9, 9)


if __name__ == "__main__":
    for one in FORMATS:
        with tempfile.TemporaryDirectory() as scratch:
            kills = int(sys.argv[1])
            done, left = kill_writers(scratch, one, kills)
            print(f"{one}: {kills} kills, {done} had written, {left} left a temporary file, "
                  "nothing lost, nothing left after the next write")
