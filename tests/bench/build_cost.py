#!/usr/bin/env python3
"""Measures what builds cost: library and command, then the Python module, in seconds and in C.

C makes machines comparable: it is what GCC takes for the program below, compiled before and after
each build; the mean of both counts.

    tests/bench/build_cost.py                   this tree
    tests/bench/build_cost.py HEAD~10 HEAD      commits, each in a clone of its own
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ["maskctl", "maskctl_command"]
PROGRAM = """\
#include <iostream>
#include <regex>
int main(int argc, char** argv) {
  const std::regex pattern("a(b|c)+d");
  std::cout << std::regex_match(argc > 1 ? argv[1] : "abcbd", pattern) << "\\n";
}
"""


def seconds(*command, cwd):
    """The processor seconds of a command and all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def unit(folder):
    """C: the processor seconds of compiling PROGRAM."""
    source = folder / "unit.cc"
    source.write_text(PROGRAM)
    return seconds("g++", "-O2", "-std=c++20", str(source), "-o", str(folder / "unit"), cwd=folder)


def nanobind():
    """The options with which CMake finds nanobind (tests/install-deps.sh --venv); none without it."""
    python = ROOT / "build/venv/bin/python"
    if not python.exists():
        return []
    found = subprocess.run([python, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True)
    return ["-DMASKCTL_PYTHON=ON", "-DPython_EXECUTABLE=/usr/bin/python3", f"-Dnanobind_DIR={found.stdout.strip()}"]


def measure(name, tree, folder):
    build = folder / "build"
    python = nanobind()
    seconds("cmake", "--preset", "release", "-B", str(build), "-DMASKCTL_TESTS=OFF", *python, cwd=tree)
    before = unit(folder)
    steps = [("", TARGETS)] + ([("module", ["maskctl_python"])] if python else [])
    costs = [(what, seconds("cmake", "--build", str(build), "--target", *targets, cwd=tree))
             for what, targets in steps]
    c = (before + unit(folder)) / 2
    for what, cost in costs:
        print(f"{what or name:<12}{cost:8.0f} s{cost / c:8.1f} C    C {c:.2f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", help="what to build; without any: this tree")
    arguments = parser.parse_args()
    for commit in arguments.commits or [None]:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            tree = ROOT
            if commit:
                tree = folder / "tree"
                seconds("git", "clone", "-q", "--shared", str(ROOT), str(tree), cwd=ROOT)
                seconds("git", "checkout", "-q", commit, cwd=tree)
            measure(commit or "this tree", tree, folder)


if __name__ == "__main__":
    main()
