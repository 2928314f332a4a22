#!/usr/bin/python3
"""Gives hostile names to every command: as files, keys of containers, entries of manifests, tokens,
steps, operands and values of every option. Nothing that is printed may hold a raw control character
or mark of direction, or a line that a name forged; JSON and XML must parse. The commands and options
are those that the program completes. Prints "N runs, N wrong"; exits 1 when any is wrong. Run it in
an empty folder with maskctl on PATH.

    hostile_names.py
"""
import concurrent.futures
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree
import zipfile

TERMINAL = "\x1b]0;t\x07\x1b[2J\x9b1m\b\r\x7fx"  # a title, a bell, two ways to clear, back over it
READER = "b\u202ec\u2066d\u2069\u2028e\u2029\u061cf\u200e\u200f\tg"  # direction, separators, tab
LINES = "a\nFORGED 0 findings\r\nFORGED##[error]"
MARKUP = "\"><script>&amp;'%0A{0}]]>x"
NAMES = [TERMINAL, READER, LINES, MARKUP]
KEYS = [*NAMES, "n\0o"]
FILES = [*(os.fsencode(name) for name in NAMES if "/" not in name), b"p\xff\xc3q"]
MANIFEST = "m" + LINES
OF_DIRECTION = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

# A mask of 4 x 4 cells, causal but for one cell, so that check, diff and golden have something to say.
CELLS = bytes([1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1])
NPY_HEADER = b"{'descr': '|b1', 'fortran_order': False, 'shape': (4, 4), }".ljust(117) + b"\n"
NPY = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(NPY_HEADER)) + NPY_HEADER + CELLS


def write_npz(path):
    with zipfile.ZipFile(path, "w") as file:
        for key in KEYS:
            if "\0" not in key:  # zipfile ends a name there
                file.writestr(key.replace("/", "|") + ".npy", NPY)


def write_safetensors(path):
    header = {key: {"dtype": "BOOL", "shape": [4, 4], "data_offsets": [16 * i, 16 * i + 16]}
              for i, key in enumerate(KEYS)}
    header["__metadata__"] = {key: key for key in KEYS}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + CELLS * len(KEYS))


def write_manifest(path):
    with open(path, "w") as file:
        for name in KEYS:
            file.write(f"[[golden]]\nname = {json.dumps(name)}\nsource = \"plain.npy\"\n"
                       f"expect.sha256 = \"{'0' * 64}\"\n")
        for name in NAMES:
            file.write(f"[[golden]]\nname = {json.dumps('s' + name)}\nsource = {json.dumps(name)}\n"
                       "expect.sha256 = \"\"\n")


def program(*words):
    return subprocess.run([b"maskctl", *map(os.fsencode, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60, env={**os.environ, "GITHUB_ACTIONS": "true"})


def completed(*words):
    lines = program("__complete", *words).stdout.decode().splitlines()
    return [line.split("\t")[0] for line in lines]


def prepare():
    with open("plain.npy", "wb") as file:
        file.write(NPY)
    for name in FILES:
        with open(name, "wb") as file:
            file.write(NPY)
    write_npz("names.npz")
    write_safetensors("names.safetensors")
    write_manifest("golden.toml")
    with open("words.txt", "w") as file:
        file.write("\n".join(json.dumps(name) for name in [TERMINAL, READER, MARKUP, LINES]))
    for key in NAMES:  # of a build without HDF5 there is no such file, and that is fine
        program("convert", "plain.npy", "-o", "names.h5:" + key.replace("/", "|"), "--append")
    write_manifest(MANIFEST)
    with open(TERMINAL + ".toml", "w") as file:
        file.write("[[golden]]\nname = 1\n")


# Options that all commands have, and what comes before the options of some.
OF_ALL = {"--threads", "--max-bytes", "--color", "--progress", "--strict", "--quiet", "--verbose"}
FIRST = {"translate": [], "ops": [], "gen": ["causal:n=4"], "seq": ["lens", "plain.npy"], "golden": ["check", "golden.toml"],
         "diff": ["plain.npy", "gen:full:n=4"], "why": ["plain.npy", "1", "2"], "attend": ["attention"],
         "bench": ["attention"], "probe": ["read", "plain.npy", "plain.npy"], "audit": ["plain.npy", "plain.npy"],
         "combine": ["and", "plain.npy", "plain.npy"]}


def lines_of_all_commands():
    """Operands of every kind for each command, and a hostile value for each of its options."""
    sources = [*FILES, "names.npz", "names.safetensors", "names.h5", *(f"names.safetensors:{key}" for key in NAMES)]
    for command in completed(""):
        if command == "help":
            continue
        options = [one for one in completed(command, "--") if not one.startswith("--help")]
        for source in sources:
            yield [command, source]
            if "--json" in options:
                yield [command, source, "--json"]
        for name in [TERMINAL + READER, LINES]:
            yield [command, name + "?"]
            yield [command, "plain.npy", name + "?"]
            yield [command, "plain.npy", f"--{name}"]
            for option in sorted(set(options) - OF_ALL):
                yield [command, *FIRST.get(command, ["plain.npy"]), f"{option}={name}"]
    for option in sorted(OF_ALL):
        yield ["stats", "plain.npy", f"{option}={LINES}"]


def lines_of_reports():
    for name, option in itertools.product(FILES, [[], ["--json"]]):
        yield ["diff", name, "gen:causal:n=4", *option]
        yield ["diff", "gen:causal:n=4", name, "--show"]
        yield ["info", name, "plain.npy", *option]
        yield ["stats", name, b"missing" + name, *option]
        yield ["combine", "xor", name, name, "-o", b"made" + name + b".npz", "--verbose", "--force"]
        yield ["convert", name, "--to", "bias", "-o", b"made" + name + b".npy", "--verbose", "--force"]
        yield ["apply", name, "-t", b"and:'" + name + b"'", "--print", "--verbose"]
        yield ["why", name, "1", "3", *option]
        yield ["why", "plain.npy", "1", "3", "-t", b"and:'" + name + b"'", *option]
        yield ["check", name, "--segments", name, *option]
        yield ["check", name, "-e", b"subset-of:" + name, *option]
        yield ["check", "gen:causal:n=4", "-e", b"equals:and:'" + name + b"'", *option]
        yield ["verify", "plain.npy", b"query=" + name, "--given", name, *option]
        yield ["probe", "read", name, name, *option]
        yield ["audit", name, name, "--block", "2", *option]
        yield ["show", name, "--documents", name, "--tokens", name]
        yield ["show", name, "--color", "always"]
    for source in ["names.npz", "names.safetensors", "names.h5", *FILES]:
        for form in ["json", "junit", "sarif"]:
            yield ["check", source, "--format", form]
        yield ["info", source, "--verbose"]
    for form in [[], ["--json"], ["--junit", "junit.xml"]]:
        yield ["golden", "check", "golden.toml", *form]
        yield ["golden", "check", MANIFEST, *form]
    for name in NAMES:
        yield ["golden", "check", "golden.toml", name, "--json"]
        yield ["golden", "check", f"{name}.toml"]
    yield ["golden", "list", "golden.toml"]
    yield ["golden", "list", "golden.toml", "--json"]


def lines_of_drawings():
    """Drawings and screens in files, which no stream escapes on their way."""
    sources = [*FILES, *(f"names.safetensors:{key}" for key in NAMES), "names.h5"]
    for i, source in enumerate(sources):
        for suffix in ["svg", "html"]:
            yield ["show", source, "-o", f"drawn{i}.{suffix}", "--force"]
            yield ["diff", source, "gen:causal:n=4", "-o", f"diff{i}.{suffix}", "--force"]
        for keys, suffix in [("", "ansi"), ("F", "txt"), ("r", "txt"), ("C", "svg")]:
            yield ["tui", source, "--script", keys, "--size", "100x24", "--dump", f"screen{i}{keys}.{suffix}", "--force"]
        yield ["tui", source, "gen:causal:n=4", "--script", "c", "--dump", f"two{i}.txt", "--force"]
    for i, name in enumerate(NAMES):
        steps = f"and:'{name}'"
        yield ["tui", "plain.npy", "-t", steps, "--dump", f"steps{i}.txt", "--force"]
        yield ["tui", "plain.npy", "--script", f":{name}", "--dump", f"typed{i}.txt", "--force"]
    yield ["show", "plain.npy", "--tokens", "words.txt", "-o", "tokens.svg", "--force"]
    yield ["tui", "names.safetensors", "--dump", "several.txt", "--force"]
    yield ["tui", "names.npz", "--dump", "several.svg", "--force"]


def is_hostile(character):
    if character == "\n":
        return False
    return unicodedata.category(character) == "Cc" or character in OF_DIRECTION


def faults_of_text(data, colours=False):
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return [f"no UTF-8: {error}"]
    if colours:
        text = re.sub("\x1b\\[[0-9;]*m", "", text)
    out = sorted({f"raw {character!r}" for character in text if is_hostile(character)})
    return out + [f"forged line: {line!r}" for line in text.split("\n") if line.startswith("FORGED")]


def parses(parse, data):
    try:
        parse(data.decode())
        return []
    except Exception as error:  # whatever a parser of the standard library throws
        return [f"does not parse: {error}"]


def faults_of_file(path):
    with open(path, "rb") as file:
        data = file.read()
    out = faults_of_text(data, path.endswith(".ansi"))
    if path.endswith((".svg", ".xml")):
        out += parses(xml.etree.ElementTree.fromstring, data)
    return out


def faults_of(line):
    outcome = program(*line)
    out = faults_of_text(outcome.stdout, "always" in line) + faults_of_text(outcome.stderr)
    if outcome.returncode not in (0, 1, 2):
        out.append(f"status {outcome.returncode}")
    if b"internal error" in outcome.stderr:
        out.append("internal error")
    if outcome.stdout and ("--json" in line or line[-1] in ("json", "sarif")):
        out += parses(json.loads, outcome.stdout)
    if outcome.stdout and line[-1] == "junit":
        out += parses(xml.etree.ElementTree.fromstring, outcome.stdout)
    for word in line:
        made = isinstance(word, str) and re.fullmatch(r"\w+\??\.(svg|html|txt|ansi|xml)", word) and word != "words.txt"
        if made and os.path.exists(word):
            out += faults_of_file(word)
    return out


def main():
    prepare()
    lines = [*lines_of_all_commands(), *lines_of_reports(), *lines_of_drawings()]
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        for line, faults in zip(lines, pool.map(faults_of, lines)):
            if faults:
                wrong += 1
                print(line, *faults, sep="\n    ")
    print(f"{len(lines)} runs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
