"""Mask.check() says what `maskctl check` says of the same arrays, findings in the same order, for
questions that are drawn."""

import json
import os
import subprocess

import numpy as np

from maskctl import Mask

PROGRAM = os.environ.get("MASKCTL_PROGRAM", "maskctl")
ROUNDS = 500


def draw_steps(rng, n):
    steps = ["causal", f"window:keys={rng.integers(1, n + 1)}", "not", f"close:k={rng.integers(n)}",
             f"open:q={rng.integers(n)},k={rng.integers(n)}", f"prefix:n={rng.integers(1, n + 1)}",
             f"chunk:size={rng.integers(1, n + 1)}", f"pad:lens={rng.integers(1, n + 1)}"]
    return list(rng.choice(steps, rng.integers(0, 3)))


def draw_documents(rng, batch, n):
    """Options of check, by name."""
    form = rng.integers(4)
    if form == 0:
        return {}
    if form == 1:
        return {"segments": np.sort(rng.integers(-1, 4, (batch, n)))}
    padding = np.ones((batch, n), np.int64)
    padding[0, rng.integers(1, n + 1):] = 0
    if form == 2:
        return {"padding": padding}
    return {"positions": np.where(padding, padding.cumsum(1) - 1, 1)}


def test_check_says_what_the_command_says(tmp_path):
    os.chdir(tmp_path)
    told = 0
    for seed in range(ROUNDS):
        rng = np.random.default_rng(seed)
        n, batch = int(rng.integers(2, 33)), int(rng.integers(1, 4))
        q, k = np.arange(n)[:, None], np.arange(n)
        cells = np.broadcast_to((k <= q) & (q - k < rng.integers(1, n + 1)), (batch, 2, n, n)).copy()
        if rng.integers(2):
            cells[rng.integers(batch), rng.integers(2), rng.integers(n), rng.integers(n)] ^= True
        steps, options = draw_steps(rng, n), draw_documents(rng, batch, n)
        np.save("mask.npy", cells)
        line = [PROGRAM, "-q", "check", "mask.npy", "--as", "dense", "--json"]
        for step in steps:
            line += ["-t", step]
        for name, values in options.items():
            np.save(f"{name}.npy", values)
            line += [f"--{name}", f"{name}.npy"]
        said = json.loads(subprocess.run(line, stdout=subprocess.PIPE, timeout=60, check=False).stdout)
        answer = Mask(cells, "dense").apply(*steps).check(**options)
        assert answer.findings == said["findings"], (seed, steps, list(options))
        assert answer.ok == said["ok"] == bool(answer)
        told += len(said["findings"])
    assert told > ROUNDS // 2
