#!/usr/bin/python3
"""Measures conversions of masks against their bars (limits); exit 1 when a bar is missed.

    convert_bench.py [--build build/release] [--pairs 15] [--folder DIR]
"""
import argparse
import os
import statistics
import sys
import tempfile

import run as bench

HERE = os.path.dirname(os.path.abspath(__file__))


def bits(options):
    """Converts a dense 16k mask to bits and back, in turn with np.packbits and np.unpackbits."""
    theirs = bench.Worker(bench.PYTHON, f"{HERE}/numpy_bits.py")
    ours = bench.Worker(f"{options.build}/tests/bench_convert", str(os.cpu_count()))
    if ours.facts != theirs.facts or not ours.facts:
        sys.exit(f"the sides disagree: {ours.facts} {theirs.facts}")
    totals = {"": ([], []), " bytes": ([], [])}
    for held, total in totals.items():
        for name in ("pack", "unpack"):
            question = name + held
            a, b = bench.interleaved(options.pairs, lambda: theirs.ask(question),
                                     lambda: ours.ask(question))
            bench.note(f"{question}: numpy {statistics.median(a) * 1e3:.1f} ms, "
                       f"ours {statistics.median(b) * 1e3:.1f} ms, {bench.ratios(a, b):.1f}x")
            total[0].append(a)
            total[1].append(b)
    a, b = ([x + y for x, y in zip(*side)] for side in totals[""])
    bench.bar("16k mask to bits and back against numpy", bench.ratios(a, b), 5, "x", True)
    a, b = ([x + y for x, y in zip(*side)] for side in totals[" bytes"])
    bench.note(f"16k bool array to bits and back against numpy: {bench.ratios(a, b):.1f}x")
    ours.close()
    theirs.close()


def million(options):
    """Times the command that converts segments of 1M tokens to other kinds of array."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source = os.path.join(folder, "segments.npy")
        bench.run([options.program, "gen", "segments:n=1048576,docs=52,seed=1", "-o", source])
        for to, suffix in (("cu_seqlens", ".npy"), ("runs", ".npz"), ("blockmap", ".npy")):
            block = ["--block", "128"] if to == "blockmap" else []
            dest = os.path.join(folder, to + suffix)
            command = [options.program, "convert", source, "--as", "segments", "--to", to, *block,
                       "-o", dest, "--force", "--quiet"]
            runs = [bench.run(command).seconds for _ in range(options.pairs)]
            bench.bar(f"convert 1M-token segments to {to}", statistics.median(runs), 0.3, "s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(HERE, "../../build/release"))
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    options = parser.parse_args()
    options.program = os.path.join(options.build, "app/maskctl")
    bits(options)
    million(options)
    sys.exit(0 if all(bench.rows) else 1)


if __name__ == "__main__":
    main()
