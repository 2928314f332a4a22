"""Runs the Python of the documentation with the installed module."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from conftest import ROOT

PAGES = ["README.md", "docs/python.md", "docs/agents.md"]


def blocks(page):
    """Yields each Python block of a page, and the package it needs beyond numpy."""
    for text in re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S):
        needs = re.match(r"# needs (\w+)", text)
        yield text, needs.group(1) if needs else None


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {}
    run = [text for text, needs in blocks(page) if needs is None]
    assert run
    for text in run:
        exec(compile(text, page, "exec"), names)


def attended(query, key, value, cells):
    """Softmax attention on [B, T, H, D] under [Q, K] of bool; keys that are closed reach nothing."""
    seen = cells.any(0)[None, :, None, None]
    key, value = np.where(seen, key, 0), np.where(seen, value, 0)
    scores = np.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(query.shape[-1])
    scores = np.where(cells, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), value).astype("f4")


@pytest.mark.parametrize("seed", range(3))
def test_the_reward_function_of_docs_agents_rewards_only_right_kernels(seed):
    names = {}
    for text, _ in blocks("docs/agents.md"):
        exec(compile(text, "docs/agents.md", "exec"), names)
    reward = names["reward"]

    def kernel(change):
        """A kernel that applies the cells [Q, K] which `change` makes of the declared ones."""
        return lambda q, k, v, mask: attended(q, k, v, change(mask.to("dense")[0, 0]))

    def without_own_key(cells):
        return cells & ~np.eye(*cells.shape, dtype=bool) | (np.arange(len(cells)) == 0)[:, None] & cells

    assert reward(kernel(lambda cells: cells), seed) == 1
    assert reward(kernel(without_own_key), seed) < 0.5
    assert reward(kernel(lambda cells: np.tril(np.ones_like(cells))), seed) < 0.5  # reads the padding
    assert reward(lambda q, k, v, mask: np.zeros_like(q), seed) == 0


def test_the_cells_of_the_notebook_run():
    notebook = json.loads((ROOT / "samples/notebook.ipynb").read_text())
    names = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 4
    for cell in cells:
        assert cell["outputs"] == [] and cell["execution_count"] is None
        exec(compile("".join(cell["source"]), "notebook", "exec"), names)


def commands():
    text = (ROOT / "docs/tasks.md").read_text()
    rows = re.findall(r"^\| [^|`]*\| `((?:[^`])*)`.*\|$", text, re.M)
    return [row.replace("\\|", "|") for row in rows]


@pytest.mark.skipif("MASKCTL_PROGRAM" in os.environ, reason="for an installed wheel")
@pytest.mark.parametrize("command", commands())
def test_commands_of_docs_tasks_run(command, tmp_path):
    samples = tmp_path / "samples"
    shutil.copytree(ROOT / "samples", samples)
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


def test_commands_of_docs_tasks_are_found():
    assert len(commands()) > 25
