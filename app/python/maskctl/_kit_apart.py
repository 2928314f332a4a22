"""Asks adapters in processes of their own, so that one that hangs or ends its process costs its case alone."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time

from maskctl._kit_worker import NoAdapter

SECONDS = 600  # for a case
ENDS = (".npz", ".txt", ".failed", ".timeout")  # of the files of a case: its results, its refusal, or how it failed
_START = 120  # at least, for what a library does when it is imported


class _Worker:
    """A process that asks an adapter for cases, one after another."""

    def __init__(self, asked):
        ours, theirs = os.pipe()
        self.lines, self.text = ours, b""
        try:
            self.process = subprocess.Popen(
                [sys.executable, os.path.join(os.path.dirname(__file__), "_kit_worker.py"), str(theirs)],
                stdin=subprocess.PIPE, stdout=2, pass_fds=[theirs], start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path)})
        finally:
            os.close(theirs)
        try:
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # it has ended, which line() says
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdin.close()
        os.close(self.lines)

    def line(self, seconds):
        """The next line of the process; None where it has ended, or says nothing for that long."""
        end = time.monotonic() + seconds
        while b"\n" not in self.text:
            if not select.select([self.lines], [], [], max(0, end - time.monotonic()))[0]:
                return None
            read = os.read(self.lines, 4096)
            if not read:
                return None
            self.text += read
        line, _, self.text = self.text.partition(b"\n")
        return line.decode()

    def end(self, seconds):
        """Why there is no line: "ran longer than 600 s", "ended by signal 11" or "exit status 3"; and the end of the
        name of the file that says so."""
        try:
            status = self.process.wait(1)
        except subprocess.TimeoutExpired:
            return f"ran longer than {seconds} s", ".timeout"
        return f"ended by signal {-status}" if status < 0 else f"exit status {status}", ".failed"


def _ask_some(asked, ids, timeout, deadline):
    """Has `ids` asked, with a new process after each case that ended the last one."""
    left = list(ids)

    def limit(seconds=timeout):
        return min(seconds, deadline - time.monotonic())

    while left and limit() > 0:
        with _Worker({**asked, "ids": left}) as worker:
            start = max(timeout, _START)
            said = worker.line(limit(start))
            if said is None and limit() <= 0:
                return
            if said != "ready":
                why = said.partition(" ")[2] if said else f"cannot import {asked['library']}: {worker.end(start)[0]}"
                raise NoAdapter(why)
            while left:
                done = worker.line(limit())
                if done == "interrupted":
                    raise KeyboardInterrupt
                if done is None and limit() <= 0:
                    return  # the time of all is up, not that of the case
                stem = os.path.join(asked["results"], left[0])
                if done is None:
                    if os.path.exists(stem + ".npz"):
                        os.remove(stem + ".npz")  # which may be half written
                    why, end = worker.end(timeout)
                    with open(stem + end, "w") as file:
                        file.write(why)
                left.pop(0)
                if done is None:
                    break


def ask_apart(library, cases, results, device="cpu", timeout=SECONDS, within=float("inf"), jobs=1):
    """Asks the adapter of a name for each case of the folder `cases`, in `jobs` processes; writes what it gives
    into the folder `results`. A case may take `timeout` seconds, all of them `within`: those that are not reached
    by then have no file, and are judged as skipped. Those that have a file are not asked again. Raises NoAdapter."""
    with open(os.path.join(cases, "manifest.json")) as file:
        ids = [case["id"] for case in json.load(file)["cases"]]
    ids = [id for id in ids if not any(os.path.exists(os.path.join(results, id + end)) for end in ENDS)]
    asked = {"library": library, "cases": os.path.abspath(cases), "results": os.path.abspath(results), "device": device}
    deadline, failed = time.monotonic() + within, []

    def lane(number):
        try:
            _ask_some(asked, ids[number::jobs], timeout, deadline)
        except (NoAdapter, KeyboardInterrupt) as error:
            failed.append(error)

    if jobs == 1:
        _ask_some(asked, ids, timeout, deadline)
        return
    threads = [threading.Thread(target=lane, args=[number]) for number in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
