#!/usr/bin/python3
"""Measures the commands that answer questions about masks and prints a table; exit 1 when a bar (a
limit) is missed.

    inspect_bench.py [--build build/release] [--only million|dense] [--pairs 15] [--folder DIR]

million: structured masks of 1M x 1M, whole processes. dense: files of 16384 x 16384 bools against a
pread loop over the same files, run in turn. The bars are those of a machine that does nothing else.
"""
import argparse
import array
import os
import statistics
import sys
import tempfile

import run as bench

MILLION = "n=1048576"
NO = (0, 1)  # 0 and 1: exit statuses of commands that may answer no


def questions(a, b, segments):
    """The name and the command of every question about mask a, a SOURCE with options, and mask b.
    """
    return [
        ("diff, equal", ["diff", a[0], *a]),
        ("diff, unequal", ["diff", b, *a]),
        ("check", ["check", *a]),
        ("check, 3 expectations", ["check", *a, "--expect", "causal", "--expect", "no-empty-rows",
                                   "--expect", "row-safe:block=128"]),
        ("leaks", ["check", *a, "--expect", f"no-leak:{segments}"]),
        ("stats", ["stats", *a]),
        ("recognise", ["recognise", *a]),
        ("cost", ["cost", *a]),
    ]


def save_ids(path, tokens, documents):
    """Writes a .npy of int32 ids 0, 1, ..., documents - 1, 0, 1, ...: interleaved documents."""
    ids = array.array("i", (i % documents for i in range(tokens)))
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({tokens},), }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        ids.tofile(out)


def phases(options):
    """Window and sinks in a cache that takes turns, for chunks of a prompt too."""
    command = ["phases", "window:keys=4096 | sinks:n=4 | causal", "--cache", "rotating:sinks=4,rollback=exact",
               "--length", "1Mi", "--chunk", "8192"]
    runs = [bench.run([options.program, *command]) for _ in range(options.pairs)]
    bench.bar("phases, 1M tokens, window and sinks, rotating", statistics.median(r.seconds for r in runs) * 1e3, 1000, "ms")


def million(options, folder):
    phases(options)
    packed, other = f"{folder}/packed.npy", f"{folder}/other.npy"
    for path, seed in ((packed, 1), (other, 2)):
        bench.run([options.program, "gen", f"segments:{MILLION},docs=52,seed={seed}", "-o", path])
    turns = f"{folder}/turns.npy"
    save_ids(turns, 1 << 20, 7)
    causal = f"gen:causal:{MILLION}"
    masks = {
        "causal": ([causal], f"gen:causal:{MILLION},offset=1"),
        "window": ([f"gen:window:keys=4096,{MILLION}"], f"gen:window:keys=4097,{MILLION}"),
        "window, sinks": ([f"gen:window:keys=4096,{MILLION}", "-t", "sinks:n=4", "-t", "causal"],
                          f"gen:window:keys=4097,{MILLION}"),
        "documents": ([packed, "--as", "segments", "-t", "causal"], other),
        "documents, window": ([packed, "--as", "segments", "-t", "causal", "-t",
                               "window:keys=4096"], other),
        "documents in turn": ([turns, "--as", "segments", "-t", "causal"], other),
        "dilated window": ([f"gen:dilated:stride=4,{MILLION}", "-t", "window:keys=4096"],
                           f"gen:dilated:stride=5,{MILLION}"),
        "chunk": ([causal, "-t", "chunk:size=8192"], f"gen:causal:{MILLION},offset=-1"),
        "prefix, global": ([causal, "-t", "prefix:n=1000", "-t", "global:tokens=700000"],
                           f"gen:causal:{MILLION},offset=1"),
        "padding": ([causal, "-t", "pad:lens=900000"], f"gen:causal:{MILLION},offset=1"),
    }
    for name, (a, b) in masks.items():
        for question, command in questions(a, b, packed):
            runs = [bench.run([options.program, *command], statuses=NO)
                    for _ in range(options.pairs)]
            title = f"1M x 1M {name}: {question}"
            bench.bar(title, statistics.median(r.seconds for r in runs) * 1e3, 200, "ms")
            bench.bar(f"{title}, memory", max(r.peaks[0] for r in runs), 150, "MB")
            bench.note(f"processor time {statistics.median(r.cpu for r in runs) * 1e3:.0f} ms")


def dense(options, folder):
    n = "n=16384"
    masks = {
        "documents": [f"gen:causal:{n}", "-t", "doc:lens=" + "+".join(["1260"] * 13)],
        "window": [f"gen:window:keys=700,{n}"],
        "irregular": [f"gen:random:sparsity=0.3,seed=3,{n}"],
    }
    segments, other = f"{folder}/segments.npy", f"{folder}/other.npy"
    bench.run([options.program, "gen", f"segments:{n},docs=13,seed=1", "-o", segments])
    bench.run([options.program, "apply", f"gen:causal:{n}", "-t", "window:keys=5000", "-o", other])
    loop = f"{options.build}/tests/pread_loop"
    for name, source in masks.items():
        path = f"{folder}/mask.npy"
        bench.run([options.program, "apply", *source, "-o", path, "--force"])
        for question, command in questions([path], other, segments):
            files = [path] * 2 if question == "diff, equal" else [path]
            files += [other] if question == "diff, unequal" else []
            ask = [options.program, *command]
            # A command that takes more than 10 seconds misses its limit by far, so it is run only
            # once more.
            slow = bench.run(ask, statuses=NO).seconds > 10
            ours, floor = bench.interleaved(
                1 if slow else options.pairs, lambda: bench.run(ask, statuses=NO).seconds,
                lambda: sum(bench.run([loop, file]).seconds for file in files))
            limit = 10 if question == "recognise" else 3
            bench.bar(f"16k x 16k {name}: {question} against pread", bench.ratios(ours, floor),
                      limit, "x")
            bench.note(f"ours {statistics.median(ours) * 1e3:.0f} ms, pread loop "
                       f"{statistics.median(floor) * 1e3:.0f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(bench.HERE, "../../build/release"))
    parser.add_argument("--only", default="")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--folder")
    options = parser.parse_args()
    options.program = os.path.join(options.build, "app/maskctl")
    for part in (million, dense):
        if options.only in part.__name__:
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                part(options, folder)
    print(f"{sum(bench.rows)} bars met, {len(bench.rows) - sum(bench.rows)} missed")
    sys.exit(0 if all(bench.rows) else 1)


if __name__ == "__main__":
    main()
