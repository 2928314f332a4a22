#!/usr/bin/python3
"""Runs every `$ maskctl ...` line in the fenced blocks of the documentation and compares what it
prints with what the block shows. Commands in table rows need only succeed, and where a table lists
ejkernel's names, the last cell of each row holds a command or says why not.
MASKCTL_UPDATE_GOLDEN=1 rewrites the blocks instead.

    check_docs.py PROGRAM [FILE...]
"""
import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FENCE = re.compile(r"^```[a-z]*$")
IN_TABLE = re.compile(r"`(maskctl [^`]+)`")
FAILS = "  <- fails: "
EMPTY_CELL = re.compile(r"^\|.*\|\s*\|$")


def run(command, folder):
    """Runs a command in a folder that has the program and samples/; returns its exit status and
    output."""
    env = dict(os.environ, LC_ALL="C.UTF-8", COLUMNS="100", NO_COLOR="1",
               PATH=folder + ":" + os.environ["PATH"])
    done = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=folder, env=env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=60)
    return done.returncode, [line.rstrip() for line in done.stdout.decode().rstrip().splitlines()]


def fresh(lines, folder):
    """Returns the lines of a fenced block, with the current output below each of its commands."""
    out = []
    for line in lines:
        if line.startswith("$ "):
            if out and not out[-1].startswith("$ "):
                out.append("")
            out.append(line)
            out += run(line[2:], folder)[1]
    return out


def rewrite(text, folder):
    """Returns the page, with the current output below each command in its blocks, and the number of
    commands."""
    result, block, commands, of_ejkernel = [], None, 0, False
    for line in text.split("\n"):
        if FENCE.match(line):
            if block is None:
                block = []
            else:
                count = sum(1 for b in block if b.startswith("$ maskctl "))
                result += fresh(block, folder) if count else block
                commands += count
                block = None
            result.append(line)
        elif block is None:
            in_table = IN_TABLE.findall(line) if line.startswith("|") else []
            commands += len(in_table)
            of_ejkernel = line.startswith("|") and (of_ejkernel or line.startswith("| ejkernel"))
            failed = FAILS + "an empty cell" if of_ejkernel and EMPTY_CELL.match(line) else ""
            for command in in_table:
                status, output = run(command.replace("\\|", "|"), folder)
                if status != 0:
                    failed += FAILS + " ".join(output)
            result.append(line + failed)
        else:
            block.append(line)
    return "\n".join(result), commands


def main():
    program = os.path.abspath(sys.argv[1])
    pages = sys.argv[2:] or [os.path.join(ROOT, "README.md"), os.path.join(ROOT, "samples/README.md"),
                             *sorted(glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True))]
    update = os.environ.get("MASKCTL_UPDATE_GOLDEN") == "1"
    total, stale = 0, 0
    for page in pages:
        text = open(page, encoding="utf-8").read()
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(program, os.path.join(folder, "maskctl"))
            os.symlink(os.path.join(ROOT, "samples"), os.path.join(folder, "samples"))
            made, commands = rewrite(text, folder)
        total += commands
        if made == text:
            continue
        stale += 1
        if update and FAILS not in made:
            with open(page, "w", encoding="utf-8") as f:
                f.write(made)
        name = os.path.relpath(page, ROOT)
        sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(
            text.split("\n"), made.split("\n"), name, name + " as it is now", lineterm=""))
    print(f"{total} commands in {len(pages)} pages, {stale} pages differ")
    sys.exit(0 if total and not stale else 1)


if __name__ == "__main__":
    main()
