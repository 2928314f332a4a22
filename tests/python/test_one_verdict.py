"""Mask.check() says what `maskctl check` says of the same arrays, findings in the same order, and
Mask.verify() what golden files say of the same kernels, for questions that are drawn.
tests/app/one_verdict_test.cc holds golden files to the command and the library."""

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


def attended(query, key, value, cells, scale):
    scores = np.where(cells, np.einsum("bqhd,bkhd->bhqk", query, key) * scale, -np.inf)
    with np.errstate(invalid="ignore"):  # rows without keys
        weights = np.nan_to_num(np.exp(scores - scores.max(-1, keepdims=True)))
    sums = weights.sum(-1, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", weights / np.where(sums, sums, 1), value)


def test_verify_says_what_golden_files_say(tmp_path):
    os.chdir(tmp_path)
    manifest, asked, verdicts = [], [], {}
    for seed in range(ROUNDS):
        rng = np.random.default_rng(seed)
        n, heads = int(rng.integers(4, 13)), int(rng.integers(1, 3))
        steps = draw_steps(rng, n)
        mask = Mask.parse("causal", n).apply(*steps)
        query, key, value = rng.standard_normal((3, 1, n, heads, 8)).astype("f4")
        mistake = rng.integers(6)
        cells = Mask.parse("causal", n).apply(*draw_steps(rng, n)) if mistake == 1 else mask
        if mistake == 2:
            value[:] = 1
        out = attended(query, key, value, np.asarray(cells), 0.5 if mistake == 3 else 8 ** -0.5)
        if mistake == 4:
            out[:, -1] = 0
        call = {"query": query, "key": key, "value": value}
        run = {**call, "out": out.astype("f2" if mistake == 5 else "f4")}
        np.savez(f"{seed}.npz", **run)
        answer = mask.verify(**call, given=run["out"])
        asked.append(answer)
        verdicts[answer.verdict] = verdicts.get(answer.verdict, 0) + 1
        kernel = ", ".join(f'{name} = "{seed}.npz:{name}"' for name in run)
        manifest += ["[[golden]]", f'name = "k{seed}"', f'source = "gen:causal:n={n}"',
                     f"transforms = {json.dumps([str(step) for step in steps])}", f"kernel = {{ {kernel} }}",
                     'expect = { verdict = "obeys" }']
    (tmp_path / "m.toml").write_text("\n".join(manifest) + "\n")
    line = [PROGRAM, "golden", "check", "m.toml", "--json"]
    said = json.loads(subprocess.run(line, stdout=subprocess.PIPE, timeout=120, check=False).stdout)["entries"]
    states = {0: "passed", 1: "differs", 2: "error"}
    for answer, entry in zip(asked, said, strict=True):
        verdict = next(row for row in answer.text.splitlines() if row.startswith("verdict  "))[18:]
        assert entry["detail"].endswith(f"verdict: {verdict}\n"), entry["name"]
        assert entry["status"] == states[answer.status] and answer.ok == bool(answer) == (answer.status == 0)
    assert set(verdicts) == {"obeys", "another", "other-call", "partly", "unclear"}, verdicts
