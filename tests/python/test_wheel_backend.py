"""The build backend writes to the terminal how far a build is, if there is one, and what the build
prints still goes where it went."""
import os
import subprocess
import sys

import pytest

BACKEND = os.path.join(os.path.dirname(__file__), "../../app/python")

# Stands for a build; scikit-build-core is not installed where tests run.
BUILD = f"""
import subprocess, sys, types
for name in ("scikit_build_core", "scikit_build_core.build"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["scikit_build_core"].build = sys.modules["scikit_build_core.build"]
sys.path.insert(0, {BACKEND!r})
import wheel_backend
def build_wheel(folder):
    subprocess.run(["printf", "configured\\n[1/40] a\\n"])
    subprocess.run(["printf", "[40/40] b\\n"])
    return folder
sys.modules["scikit_build_core.build"].build_wheel = build_wheel
assert wheel_backend.build_wheel("wheels") == "wheels"
print("made", flush=True)
"""
PRINTED = b"configured\n[1/40] a\n[40/40] b\nmade\n"


def run(before=None):
    return subprocess.run([sys.executable, "-c", BUILD], stdout=subprocess.PIPE, check=True, timeout=60,
                          start_new_session=True, preexec_fn=before).stdout


def test_without_a_terminal_it_is_silent():
    assert run() == PRINTED


def test_a_terminal_shows_the_progress_of_the_build():
    ours, theirs = os.openpty()
    name = os.ttyname(theirs)
    assert run(lambda: os.open(name, os.O_RDWR)) == PRINTED  # the first one opened is its terminal
    shown = os.read(ours, 4096).decode()
    assert shown.endswith("\r\x1b[K  maskctl: 40 of 40 steps ...  ")


@pytest.mark.parametrize("done, seconds, text", [
    (1, 1, "maskctl: 1 of 400 steps, about "),
    (100, 60, "maskctl: 100 of 400 steps, about 3 minutes to go"),
    (300, 180, "maskctl: 300 of 400 steps, about 1 minute to go"),
    (399, 200, "maskctl: 399 of 400 steps, soon done"),
    (400, 200, "maskctl: 400 of 400 steps"),
])
def test_the_remaining_time_is_estimated_from_the_progress(done, seconds, text):
    asks = BUILD.partition("def build_wheel")[0] + f"print(wheel_backend._status({done}, 400, {seconds}))"
    printed = subprocess.run([sys.executable, "-c", asks], stdout=subprocess.PIPE, check=True).stdout
    assert printed.decode().startswith(text)
