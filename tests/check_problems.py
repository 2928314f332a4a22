#!/usr/bin/python3
"""Runs the command of each row of samples/problems/README.md, and compares its exit status and what it says.
Where numpy is there, the arrays have to be those that make_problems.py writes. Prints "N problems, N wrong"; exits
1 when any is wrong.

    check_problems.py PROGRAM
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "samples", "problems")
ROW = re.compile(r"^\| (?P<number>\w+) \| .* \| `(?P<command>maskctl [^`]+)` \| (?P<exit>\d) \| (?P<says>.*?) ?\|$")


def rows():
    with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
        return [found.groupdict() for found in map(ROW.match, file.read().splitlines()) if found]


def wrong(row, folder):
    """What is wrong with a row; "" if nothing."""
    env = dict(os.environ, LC_ALL="C.UTF-8", NO_COLOR="1", PATH=folder + ":" + os.environ["PATH"])
    done = subprocess.run(["bash", "-c", row["command"]], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    said = done.stdout.decode()
    if done.returncode == int(row["exit"]) and row["says"] in said:
        return ""
    return f"{row['number']}: {row['command']}\n  exit {done.returncode}, expected {row['exit']} and {row['says']!r} in\n{said}"


def stale(folder):
    """The arrays that make_problems.py writes otherwise."""
    try:
        import numpy
    except ImportError:
        return []
    subprocess.run([sys.executable, os.path.join(FOLDER, "make_problems.py"), folder], check=True)
    found = []
    for name in sorted(os.listdir(folder)):
        one, other = (numpy.load(os.path.join(place, name)) for place in (folder, FOLDER))
        pairs = [(one[key], other[key]) for key in one.files] if name.endswith(".npz") else [(one, other)]
        if not all(a.dtype == b.dtype and a.shape == b.shape and numpy.allclose(a, b, 1e-5, 1e-6) for a, b in pairs):
            found.append(f"{name}: not what make_problems.py writes")
    return found


def main():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as fresh:
        os.symlink(os.path.abspath(sys.argv[1]), os.path.join(folder, "maskctl"))
        os.symlink(os.path.join(ROOT, "samples"), os.path.join(folder, "samples"))
        found = rows()
        mistakes = [said for said in (wrong(row, folder) for row in found) if said] + stale(fresh)
    print("\n".join([*mistakes, f"{len(found)} problems, {len(mistakes)} wrong"]))
    return 1 if mistakes or len(found) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
