#!/usr/bin/python3
"""Measures HDF5 against h5py in one run, prints a table; exit 1 when a bar (a limit) is missed.

    hdf5_bench.py [--build build/release] [--pairs 15] [--size 32768] [--folder DIR]

A dense bool dataset of size x size (1 GiB), contiguous and gzip: `maskctl stats`, the whole process,
against h5py reading it into a new numpy array, the read alone. The memory is the largest sum of the
resident sets of the command and its helper. The bars are those of a machine that does nothing else.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

rows = []


def bar(name, value, limit, unit):
    rows.append(value <= limit)
    print(f"{name:<58} {value:>10.3f} {unit:<3} <= {limit:g} {unit:<3} {'met' if rows[-1] else 'MISSED'}", flush=True)


def make(path, size, options):
    """Writes a mask of causal documents of 1261 tokens; returns the number of its open cells."""
    ids = np.arange(size) // 1261
    count = 0
    with h5py.File(path, "w") as f:
        mask = f.create_dataset("mask", (size, size), "?", **options)
        for q in range(0, size, 1024):
            at = np.arange(q, min(q + 1024, size))[:, None]
            part = (ids[at] == ids[None]) & (np.arange(size)[None] <= at)
            count += np.count_nonzero(part)
            mask[q:q + 1024] = part
    return count


def read_with_h5py(path):
    start = time.perf_counter()
    with h5py.File(path) as f:
        f["mask"][()]
    return time.perf_counter() - start


def resident(pid):
    """The resident memory of a process and its children, in MB."""
    total = 0
    try:
        with open(f"/proc/{pid}/status") as f:
            total += sum(int(line.split()[1]) / 1024 for line in f if line.startswith("VmRSS"))
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            total += sum(resident(child) for child in f.read().split())
    except OSError:
        pass
    return total


def stats(program, path):
    start = time.perf_counter()
    text = subprocess.run([program, "stats", path + ":/mask", "--json"], check=True, stdout=subprocess.PIPE).stdout
    return time.perf_counter() - start, json.loads(text)["total"]["open"]


def peak(program, path):
    process = subprocess.Popen([program, "stats", path + ":/mask", "--json"], stdout=subprocess.DEVNULL)
    found = 0
    while process.poll() is None:
        found = max(found, resident(process.pid))
        time.sleep(0.002)
    return found


def large(options, folder):
    for name, storage in (("contiguous", {}), ("gzip", {"compression": "gzip", "chunks": True})):
        path = os.path.join(folder, name + ".h5")
        expected = make(path, options.size, storage)
        if stats(options.program, path)[1] != expected:
            sys.exit("stats counts wrong")
        read_with_h5py(path)
        pairs = [(stats(options.program, path)[0], read_with_h5py(path)) for _ in range(options.pairs)]
        bar(f"stats, {name}, against h5py", statistics.median(a / b for a, b in pairs), 1.5, "x")
        print(f"    stats {statistics.median(a for a, _ in pairs):.3f} s, "
              f"h5py {statistics.median(b for _, b in pairs):.3f} s", flush=True)
        bar(f"stats, {name}: peak memory of both processes", max(peak(options.program, path) for _ in range(3)), 300, "MB")
        os.remove(path)


def small(options, folder):
    path = os.path.join(folder, "small.h5")
    with h5py.File(path, "w") as f:
        f["mask"] = np.tri(16, dtype="?")
        f["lengths"] = np.arange(3)
    for source in (path + ":/mask", path):
        times = []
        for _ in range(50):
            start = time.perf_counter()
            subprocess.run([options.program, "show", source], check=True, stdout=subprocess.DEVNULL)
            times.append((time.perf_counter() - start) * 1e3)
        bar(f"show of a small file, {'named' if ':' in source else 'unnamed'} dataset, median of 50", statistics.median(times), 40, "ms")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(here, "../../build/release"))
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--size", type=int, default=32768)
    parser.add_argument("--folder")
    options = parser.parse_args()
    options.program = os.path.join(options.build, "app/maskctl")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        small(options, folder)
        large(options, folder)
    print(f"{sum(rows)} bars met, {len(rows) - sum(rows)} missed")
    sys.exit(0 if all(rows) else 1)


if __name__ == "__main__":
    main()
