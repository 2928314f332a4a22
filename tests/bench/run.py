#!/usr/bin/python3
"""Measures everything that has a bar (a limit), prints a table; exit 1 when a bar is missed.

    run.py [--build build/release] [--only TEXT] [--pairs 15] [--folder DIR]

Two sides are run in turn, at least 15 times, and the median of the ratios is reported. Results are
verified before anything is timed. --folder is where a file of 1 GiB is made (default: the
temporary folder).
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from on_terminal import OnTerminal

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
rows = []


def bar(name, value, limit, unit, at_least=False):
    """Prints one line of the table, and notes whether the bar is met."""
    met = value >= limit if at_least else value <= limit
    rows.append(met)
    sign = ">=" if at_least else "<="
    print(f"{name:<58} {value:>10.3f} {unit:<5} {sign} {limit:g} {unit:<4} {'met' if met else 'MISSED'}",
          flush=True)


def note(text):
    print("    " + text, flush=True)


class Finished:
    """A process or a pipeline that has ended: the seconds from start to end, the processor seconds,
    the peak memory of each process in MB, and the output."""

    def __init__(self, seconds, cpu, peaks, output):
        self.seconds, self.cpu, self.peaks, self.output = seconds, cpu, peaks, output


def run(*commands, statuses=(0,)):
    """Runs commands as one pipeline; the last one writes to a file. All must exit with one of the
    statuses."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        pids, previous = [], os.open(os.devnull, os.O_RDONLY)
        for i, command in enumerate(commands):
            last = i + 1 == len(commands)
            reader, writer = (None, os.dup(out.fileno())) if last else os.pipe()
            actions = [(os.POSIX_SPAWN_DUP2, previous, 0), (os.POSIX_SPAWN_DUP2, writer, 1)]
            actions += [(os.POSIX_SPAWN_CLOSE, fd) for fd in (previous, writer, reader)
                        if fd is not None and fd > 2]
            pids.append(os.posix_spawnp(command[0], command, os.environ, file_actions=actions))
            os.close(previous)
            os.close(writer)
            previous = reader
        cpu, peaks = 0, []
        for pid, command in zip(pids, commands):
            _, status, usage = os.wait4(pid, 0)
            if os.waitstatus_to_exitcode(status) not in statuses:
                sys.exit(f"failed with status {status}: {' '.join(command)}")
            cpu += usage.ru_utime + usage.ru_stime
            peaks.append(usage.ru_maxrss / 1024)
        seconds = time.perf_counter() - start
        out.seek(0)
        return Finished(seconds, cpu, peaks, out.read())


def interleaved(pairs, *sides):
    """Runs the sides in turn, `pairs` times; returns the times of each side."""
    times = [[] for _ in sides]
    for _ in range(pairs):
        for side, found in zip(sides, times):
            found.append(side())
    return times


def ratios(a, b):
    return statistics.median(x / y for x, y in zip(a, b))


class Worker:
    """A program that is asked by lines, and answers each with the seconds that it took."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.facts = []
        for line in self.process.stdout:
            if line.strip() == "ready":
                break
            self.facts.append(line.strip())

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def table(program):
    """Runs a benchmark program; returns the numbers of its tab-separated lines by name."""
    text = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: [float(v) for v in values]
            for name, *values in (line.split("\t") for line in text.splitlines())}


def segment_ids(options):
    for name, (ratio, ours, other) in table(f"{options.build}/tests/bench_segment_ids").items():
        kind, size, example = name.split(" ", 2)
        if kind == "ids":
            bar(f"mask_to_segment_ids, {size}, {example}", ours * 1e3, {"2048": 1, "16384": 30}[size], "ms")
            note(f"one core reads the bytes in {other * 1e3:.3f} ms")
        elif kind == "ejkernel":
            bar(f"mask_to_segment_ids, {size}, {example}: ejkernel's way", ratio, 300, "x", True)
            note(f"ours {ours * 1e3:.3f} ms, ejkernel's way {other * 1e3:.1f} ms")
        else:
            bar(f"ids to dense, {size}, {example}, against memset", 1 / ratio, 3 if "random" in example else 1.5, "x")
            note(f"ours {ours * 1e3:.3f} ms, memset {other * 1e3:.3f} ms")


def open_cells(output):
    return json.loads(output)["total"]["open"]


def core(options):
    times = table(f"{options.build}/tests/bench_core")
    bar("1M x 1M, 52 documents, window 4096, 1 thread: total", times["total"][1] * 1e3, 20, "ms")
    note("median of 25; least " + ", ".join(f"{k} {v[0] * 1e3:.3f} ms" for k, v in times.items()))


def growth(options):
    for name, (ratio, small, large) in table(f"{options.build}/tests/bench_growth").items():
        limit = {"classify": 4.6, "stats": 4.6, "picture": 4.6, "interleaved": 17}.get(name, 1.3)
        bar(f"growth of {name}, time(4n) / time(n)", ratio, limit, "x")
        note(f"{small * 1e6:.2f} us at 2^18, {large * 1e6:.2f} us at 2^20")


def numpy_ops(options):
    theirs = Worker(PYTHON, f"{HERE}/numpy_mask_ops.py")
    for threads in (1, os.cpu_count()):
        ours = Worker(f"{options.build}/tests/bench_ops", str(threads))
        if sorted(ours.facts) != sorted(theirs.facts) or not ours.facts:
            sys.exit(f"the sides disagree: {ours.facts} {theirs.facts}")
        for kind, limit in (("structured", 300), ("packed", 6)):
            for name in ("and", "count", "classify"):
                question = f"{name} {kind}"
                a, b = interleaved(options.pairs, lambda: theirs.ask(question), lambda: ours.ask(question))
                bar(f"16k {question} against numpy, {threads} thread(s)", ratios(a, b), limit, "x", True)
                note(f"numpy {statistics.median(a) * 1e3:.3f} ms, ours {statistics.median(b) * 1e3:.6f} ms")
        ours.close()
    theirs.close()


def pipeline(options):
    steps = ["-t", "causal", "-t", "window:keys=4096"]
    for name, extra, limit in (("", "", 0.5), (", interleaved", ",interleave=token", 1.0)):
        make = [options.program, "gen", f"segments:n=1048576,docs=52,seed=1{extra}", "-o", "-"]
        ask = [options.program, "stats", "-", "--as", "segments", *steps, "--json"]
        runs = [run(make, ask) for _ in range(options.pairs)]
        bar(f"gen | stats, 1M tokens{name}", statistics.median(r.seconds for r in runs), limit, "s")
        # The memory of both processes together has one bar; that of gen is small.
        bar(f"gen | stats, 1M tokens{name}: peak memory of both", max(sum(r.peaks) for r in runs), 150, "MB")
        note("each: " + ", ".join(f"{max(p):.0f} MB" for p in zip(*(r.peaks for r in runs))))


MAKE_BIG = """
import sys, numpy as np
from numpy.lib import format
n = 32768
ids = np.repeat(np.arange(26), 1261)[:n]
count = 0
with open(sys.argv[1], "wb") as f:
    format.write_array_header_1_0(f, {"descr": "|b1", "fortran_order": False, "shape": (n, n)})
    for q in range(0, n, 256):
        rows = np.arange(q, q + 256)[:, None]
        part = (ids[rows] == ids[None]) & (np.arange(n)[None] <= rows)
        count += np.count_nonzero(part)
        f.write(part.tobytes())
print(count)
"""


MAKE_IRREGULAR = """
import sys, numpy as np
from numpy.lib import format
n = 32768
random = np.random.default_rng(1)
with open(sys.argv[1], "wb") as f:
    format.write_array_header_1_0(f, {"descr": "|b1", "fortran_order": False, "shape": (n, n)})
    for q in range(0, n, 256):
        rows = np.arange(q, q + 256)[:, None]
        f.write(((random.integers(0, 256, (256, n), dtype=np.uint8) < 200) & (np.arange(n)[None] <= rows)).tobytes())
"""


def big_file(options):
    path = os.path.join(options.folder or tempfile.gettempdir(), f"maskctl-bench-{os.getpid()}.npy")
    try:
        expected = int(subprocess.run([PYTHON, "-c", MAKE_BIG, path], check=True, stdout=subprocess.PIPE).stdout)
        measure_big_file(options, path, expected)
        subprocess.run([PYTHON, "-c", MAKE_IRREGULAR, path], check=True)
        inspect(options, "1 GiB dense", 32768, path, first=150, memory=192)  # 128 MB for the mask's bits, and 64 MB
    finally:
        if os.path.exists(path):
            os.remove(path)


def measure_big_file(options, path, expected):
    stats = [options.program, "stats", path, "--json"]
    show = [options.program, "show", path, "--color", "never"]
    loop = [f"{options.build}/tests/pread_loop", path]
    if open_cells(run(stats).output) != expected:
        sys.exit("stats of the large file counts wrong")
    run(loop)
    peaks = {"stats": [], "show": [], "stats from a pipe": []}

    def timed(name, *commands):
        done = run(*commands)
        if name in peaks:
            peaks[name].append(done.peaks[-1])
        return done.seconds

    a, b, floor = interleaved(options.pairs, lambda: timed("stats", stats), lambda: timed("show", show),
                              lambda: timed("", loop))
    bar("stats of a 1 GiB .npy", statistics.median(a), 0.4, "s")
    bar("stats of a 1 GiB .npy against a pread loop", ratios(a, floor), 2, "x")
    bar("show of a 1 GiB .npy against a pread loop", ratios(b, floor), 3, "x")
    note(f"show {statistics.median(b):.3f} s, pread loop {statistics.median(floor):.3f} s")
    piped = [options.program, "stats", "-", "--json"]
    a, floor = interleaved(options.pairs, lambda: timed("stats from a pipe", ["cat", path], piped),
                           lambda: timed("", ["cat", path], ["wc", "-c"]))
    bar("stats of 1 GiB from a pipe against wc -c", ratios(a, floor), 1.3, "x")
    note(f"stats {statistics.median(a):.3f} s, wc {statistics.median(floor):.3f} s")
    inspect(options, "1 GiB dense, regular", 32768, path, first=150, memory=192)
    for name, found in peaks.items():
        bar(f"{name} of 1 GiB: peak memory", max(found), 200, "MB")


def inspector_keys(extent):
    """Keys that move, page and zoom at twelve places of a mask of `extent` queries and keys."""
    walk = "jjllJL<PageDown><C-u>kkhhKH+jl+JJ-<PageUp>--jj-<C-d>f"
    return "=".join(f":{extent * (7 * i % 12) // 12 + 5 * i},{extent * i // 13}<Enter>{walk}" for i in range(12))


def inspect(options, name, extent, *source, first, memory=200, counted=b"empty rows"):
    """Times the inspector on one core: from a key to its finished screen, and in a terminal."""
    look = [options.program, "tui", *source]
    played = subprocess.run(["taskset", "-c", "0", *look, "--size", "200x60", "--color", "always", "--dump",
                             "/dev/null", "--script", inspector_keys(extent), "-v"],
                            check=True, stderr=subprocess.PIPE)
    found = re.search(rb"(\d+) screens: median (\S+) ms, worst (\S+) ms", played.stderr)
    if int(found[1]) < 300:
        sys.exit(f"the inspector drew {int(found[1])} screens only")
    bar(f"inspector, {name}: median screen", float(found[2]), 8, "ms")
    bar(f"inspector, {name}: worst screen", float(found[3]), 33, "ms")
    starts = []
    for _ in range(9):
        with OnTerminal(look) as terminal:
            starts.append(terminal.seconds_until(b"q quit"))
    bar(f"inspector, {name}: start to the first screen", statistics.median(starts) * 1e3, first, "ms")
    with OnTerminal(look) as terminal:
        bar(f"inspector, {name}: until all is counted", terminal.seconds_until(counted), 2, "s")
        terminal.drain(0.5)
        begin = terminal.processor_seconds()
        terminal.drain(2)
        bar(f"inspector, {name}: processor time of 2 s at rest", terminal.processor_seconds() - begin, 0, "s")
        terminal.press(b"=")
        terminal.drain(0.5)
        bar(f"inspector, {name}: worst screen of a key held down", max(terminal.held(b"j", 5)) * 1e3, 33, "ms")
        bar(f"inspector, {name}: anonymous memory", terminal.anonymous_memory(), memory, "MB")


def inspector(options):
    million = "gen:segments:n=1M,docs=52,seed=1"
    inspect(options, "1M x 1M", 1_000_000, million, "-t", "causal", "-t", "window:keys=4096", first=50)
    inspect(options, "1M interleaved ids", 1_000_000, million + ",interleave=token", "-t", "causal", first=50)
    inspect(options, "32 x 32 planes of 8192", 8192, "gen:causal:n=8192,b=32,h=32", "-t",
            "batch:3{window:keys=500} | batch:27{heads:3{open:q=40,k=50}}", first=50, counted=b"and 990 alike")


def ring(options, *arguments, processes):
    """Runs bench_ring with four ranks of one thread each; returns the words of each line that it
    prints."""
    program = f"{options.build}/tests/bench_ring"
    start = ["mpirun", "-q", "--oversubscribe", "--allow-run-as-root", "-n", "4", program,
             f"{options.build}/app/maskctl-mpi.so"] if processes else [program, "threads"]
    text = subprocess.run([*start, "4", *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split() for line in text.splitlines()]


def ranks(options):
    def side(processes):
        *_, forward, _, _, backward, _ = ring(options, 8192, processes=processes)[-1]
        return float(forward), float(backward)

    # Each side already gives medians of five runs, so that a third of the pairs is enough.
    threads, processes = interleaved((options.pairs + 2) // 3, lambda: side(False), lambda: side(True))
    for name, a, b in zip(("forward", "backward"), zip(*threads), zip(*processes)):
        bar(f"ring of 4 ranks, 8192 tokens: {name} against threads", ratios(a, b), 0.95, "x", True)
        note(f"threads {statistics.median(a):.3f} s, processes {statistics.median(b):.3f} s")
    queries, window, row = 1 << 18, 4096, 2 * 4 * 64 * 4  # row: bytes of a key and its value
    *lines, _ = ring(options, queries, window, processes=True)
    sent = sum(int(line[3]) for line in lines)
    bar("ring of 4 ranks, 256k tokens, window 4096: sent", sent / (3 * window * row), 1.1, "x")
    share = 4 * queries // 4 * row // 2 / 2**20  # MiB of a rank's arrays
    most = max(int(line[-4]) for line in lines)
    bar("ring of 4 ranks, 256k tokens, window 4096: memory", most / share, 1.6, "x")
    note(f"{sent} bytes sent; {most} MiB where the arrays of a rank take {share:.0f} MiB")


def start_up(options):
    sample = os.path.join(HERE, "../../samples/window_sinks.npy")
    for name, command, limit in (("--version", ["--version"], 10), ("show of a small .npy", ["show", sample], 20)):
        runs = [run([options.program, *command]).seconds * 1e3 for _ in range(50)]
        bar(f"{name}, median of 50", statistics.median(runs), limit, "ms")


CALLS = """
import sys, time
import numpy, maskctl
try:  # the bar is about torch, where there is one
    import torch
    cells = torch.ones(64, 64).tril().bool()
except ImportError:
    cells = numpy.tri(64, dtype=bool)
mask = maskctl.Mask(cells)
for name, call in (("Mask", lambda: maskctl.Mask(cells)), ("stats", mask.stats), ("check", mask.check)):
    best = 1.0
    for _ in range(200):
        begin = time.perf_counter()
        for _ in range(20):
            call()
        best = min(best, (time.perf_counter() - begin) / 20)
    print(name, best)
"""


def python_module(options):
    """Times the Python module: that of a build with MASKCTL_PYTHON or, with --python, the wheel in the
    venv of that interpreter."""
    env = {**os.environ, "PYTHONPATH": "" if options.python else os.path.join(options.build, "python")}
    python = options.python or PYTHON
    if not options.python and not os.path.isdir(env["PYTHONPATH"]):
        return note("no Python module: cmake -DMASKCTL_PYTHON=ON, or --python")
    def start(code):
        begin = time.perf_counter()
        subprocess.run([python, "-c", code], check=True, env=env)
        return time.perf_counter() - begin
    both = interleaved(40, lambda: start("pass"), lambda: start("import maskctl; maskctl.Mask"))
    bar("import maskctl and its module, least of 40", (min(both[1]) - min(both[0])) * 1e3, 30, "ms")
    own = table(f"{options.build}/tests/bench_answers")
    said = subprocess.run([python, "-c", CALLS], check=True, env=env, capture_output=True, text=True).stdout
    for name, seconds in (line.split() for line in said.splitlines()):
        library = own[name][0] * 1e6
        bar(f"{name} of 64 x 64 in Python, more than without", float(seconds) * 1e6 - library, 50, "us")
        note(f"without Python {library:.1f} us")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(HERE, "../../build/release"))
    parser.add_argument("--only", default="")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--folder")
    parser.add_argument("--python", help="a Python whose venv has a wheel of maskctl, for python_module")
    options = parser.parse_args()
    options.program = os.path.join(options.build, "app/maskctl")
    for part in (core, growth, segment_ids, numpy_ops, pipeline, inspector, start_up, python_module, ranks, big_file):
        if options.only in part.__name__:
            part(options)
    print(f"{sum(rows)} bars met, {len(rows) - sum(rows)} missed")
    sys.exit(0 if all(rows) else 1)


if __name__ == "__main__":
    main()
