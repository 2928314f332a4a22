#!/usr/bin/python3
"""Makes a program of the ```cpp blocks of a page, and compares what it prints with the page.

    pages.py make PAGE SOURCE      writes the program: includes and using lines at the top, then the
                                   blocks, in order, in main()
    pages.py check PAGE PROGRAM    runs it beside samples/; what a block prints is the ```text block
                                   that follows it

MASKCTL_UPDATE_GOLDEN=1 rewrites the ```text blocks instead.
"""
import difflib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A block of C++, and what it prints.
BLOCK = re.compile(r"^```cpp\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
TOP = re.compile(r"^(#include |using namespace )")
MARK = "\x1e"  # separates what the blocks print


def program(text):
    """Returns the program that the blocks of a page make."""
    top, body = [], []
    for block in BLOCK.finditer(text):
        lines = block[1].splitlines()
        top += [line for line in lines if TOP.match(line)]
        body += [line for line in lines if not TOP.match(line)] + [f"std::cout << '\\x1e';"]
    return "\n".join([*top, "int main() {", *body, "}", ""])


def remade(text, output):
    """Returns the page with this output below its blocks."""
    printed = iter(output.split(MARK))

    def block(found):
        said = next(printed)
        return f"```cpp\n{found[1]}```\n" + (f"\n```text\n{said}```\n" if said else "")

    return BLOCK.sub(block, text)


def main():
    what, page, path = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if what == "make":
        with open(path, "w", encoding="utf-8") as file:
            file.write(program(text))
        return
    output = subprocess.run([os.path.abspath(path)], cwd=ROOT, stdout=subprocess.PIPE, check=True,
                            timeout=60).stdout.decode()
    count = len(BLOCK.findall(text))
    if count == 0 or output.count(MARK) != count:
        sys.exit(f"{page}: {count} blocks, {output.count(MARK)} of them ran to their end")
    made = remade(text, output)
    if made == text:
        print(f"{page} says what its program prints, after each of its blocks ({count})")
    elif os.environ.get("MASKCTL_UPDATE_GOLDEN") == "1":
        with open(page, "w", encoding="utf-8") as file:
            file.write(made)
    else:
        sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(
            text.split("\n"), made.split("\n"), page, page + " as it is now", lineterm=""))
        sys.exit(1)


if __name__ == "__main__":
    main()
