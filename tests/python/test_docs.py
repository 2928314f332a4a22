"""Runs the Python of the documentation with the installed module."""

import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import ROOT

PAGES = ["README.md", "docs/python.md"]


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
def test_tasks_run(command, tmp_path):
    samples = tmp_path / "samples"
    shutil.copytree(ROOT / "samples", samples)
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


def test_all_tasks_are_found():
    assert len(commands()) > 25
