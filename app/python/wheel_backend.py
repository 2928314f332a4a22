"""The build backend of pyproject.toml: scikit-build-core's, which also writes to the terminal how far
it is, because pip shows nothing of a build that takes minutes. Without a terminal it is silent:
`pip install -v .` has every step."""
import contextlib
import os
import re
import threading
import time

from scikit_build_core import build as _backend
from scikit_build_core.build import *  # the other hooks of a backend

_STEP = re.compile(rb"\[(\d+)/(\d+)\]")  # Ninja's: [34/109] Building ...
_STEP_SECONDS = 5  # of one core; a guess until a tenth is done


def _status(done, total, seconds):
    """Returns "maskctl: 34 of 109 steps, about 2 minutes to go"."""
    text = f"maskctl: {done} of {total} steps"
    if done == total:
        return text
    each = seconds / done if done > total / 10 else _STEP_SECONDS / len(os.sched_getaffinity(0))
    minutes = round((total - done) * each / 60)
    return f"{text}, about {minutes} minute{'s' * (minutes != 1)} to go" if minutes else f"{text}, soon done"


def _write(terminal, text, end="\r"):
    """Replaces the line of the terminal, unless another program has the terminal by now. What pip
    writes next, its next step or a spinner, goes to the begin of the line."""
    with contextlib.suppress(OSError):  # the terminal may be gone
        if os.tcgetpgrp(terminal) == os.getpgrp():
            os.write(terminal, f"\r\x1b[K  {text}{end}".encode())


def _forward(source, output, terminal):
    """Copies what the build prints to `output`, until its end; how far it is to the terminal."""
    done, total, known, began = 0, 0, 0, 0.0
    while chunk := os.read(source, 65536):
        os.write(output, chunk)
        if steps := _STEP.findall(chunk):
            done, total = map(int, steps[-1])
            if total != known:
                known, began = total, time.monotonic()
            _write(terminal, _status(done, total, time.monotonic() - began))
    _write(terminal, f"maskctl: {done} of {total} steps", " ...  ")  # pip adds "done"


@contextlib.contextmanager
def _shown():
    """While this lasts, the terminal shows how far a build is that prints to stdout."""
    try:
        terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        yield
        return
    output = os.dup(1)
    source, sink = os.pipe()
    os.dup2(sink, 1)
    os.close(sink)
    copying = threading.Thread(target=_forward, args=(source, output, terminal), daemon=True)
    copying.start()
    try:
        yield
    finally:
        os.dup2(output, 1)
        copying.join(10)  # some programs leave a server behind that keeps the pipe open


def build_wheel(*args, **kwargs):
    with _shown():
        return _backend.build_wheel(*args, **kwargs)
