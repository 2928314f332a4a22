"""Asks one adapter for cases, in a process that _kit_apart.py may end: python _kit_worker.py FD, with the request as
a line of JSON on standard input. What the process has done is a line on the descriptor FD each: "ready", the id
of a case whose answer is written, "interrupted", or "error TEXT" where there is no adapter."""

import importlib
import importlib.util
import inspect
import json
import os
import sys
import threading
import time
import types

import numpy as np

if __name__ == "__main__":  # by its path: of the package it needs what is Python alone
    home = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != home]
    try:
        import maskctl
    except ImportError:
        maskctl = None
    if not getattr(maskctl, "__path__", None):
        maskctl = sys.modules["maskctl"] = types.ModuleType("maskctl")
        maskctl.__path__ = [home]

from maskctl._adapters import ADAPTERS
from maskctl._kit_cases import read_cases


class NoAdapter(Exception):
    """A name has no function of a case behind it; says why."""


def message(error):
    """The type of an exception and its first lines, in one line."""
    lines = " ".join(f"{type(error).__name__}: {error}".split())
    return lines if len(lines) <= 200 else lines[:197] + "..."


def checked(adapter, name, device):
    """The adapter, which has to be a function of one case and to run on the device."""
    if not callable(adapter):
        raise NoAdapter(f"{name} is of type {type(adapter).__name__}; expected a function of a case")
    try:
        inspect.signature(adapter).bind(None)
    except TypeError as error:
        raise NoAdapter(f"{name} is no function of one argument, the case: {error}") from None
    except ValueError:  # a function of C, which does not say what it takes
        pass
    devices = getattr(adapter, "devices", (device.partition(":")[0],))  # one's own adapter reads case.device
    if device.partition(":")[0] not in devices:
        raise NoAdapter(f"{name} runs on {' and '.join(devices)}, not on {device}")
    for module in getattr(adapter, "needs", ()):
        if importlib.util.find_spec(module) is None:
            raise NoAdapter(f"{name} needs {module}, which is not installed")
    return adapter


def adapter_named(name, device="cpu"):
    """The adapter of a library, or the function of "FILE.py:FUNCTION" or "MODULE:FUNCTION"."""
    if name in ADAPTERS:
        return checked(ADAPTERS[name], name, device)
    place, _, function = name.rpartition(":")
    if not place:
        raise NoAdapter(f"no library {name!r}; there are {', '.join(ADAPTERS)}, and FILE.py:FUNCTION for your own")
    try:
        if place.endswith(".py"):
            sys.path.insert(0, os.path.dirname(os.path.abspath(place)))  # as where Python runs the file
            spec = importlib.util.spec_from_file_location(os.path.basename(place)[:-3], place)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
    except (Exception, SystemExit) as error:  # whatever the file does when it is run
        raise NoAdapter(f"cannot import {place}: {message(error)}") from error
    if not hasattr(module, function):
        raise NoAdapter(f"{place} has no {function!r}; expected the name of a function of a case")
    return checked(getattr(module, function), name, device)


def results_of(given):
    """What an adapter returned, as arrays by name. Raises TypeError where it has no output."""
    returned = None
    if given is None:
        returned = "None"
    elif isinstance(given, tuple):
        returned = f"a tuple of {len(given)}"
    elif isinstance(given, dict) and given.get("out") is None:
        returned = "{" + ", ".join(f"{name!r}: {'None' if one is None else '...'}" for name, one in given.items()) + "}"
    if returned:
        raise TypeError(f"the adapter returned {returned}; expected an array or {{'out': ...}}")
    given = given if isinstance(given, dict) else {"out": given}
    arrays = {name: _array(one) for name, one in given.items() if one is not None}
    for name, array in arrays.items():
        if array.dtype.kind in "cOSUmM":
            raise TypeError(f"{name} holds {array.dtype}; expected floats")
    return arrays


def _array(given):
    """An output as an array: tensors of torch may have gradients, be on a GPU, or be bfloat16, which NumPy lacks."""
    if hasattr(given, "detach"):
        given = given.detach().cpu()
        given = given.float() if "bfloat16" in str(given.dtype) else given
    return np.asarray(given)


def ask(adapter, cases, folder, done=lambda id: None):
    """Writes what an adapter gives for each case, why it refuses or how it fails, for `maskctl kit judge`."""
    for case in cases:
        stem = os.path.join(folder, case.id)
        start = time.perf_counter()
        try:
            given, end, said = adapter(case), None, None
        except Exception as error:  # whatever a library says no with is its refusal
            end, said = ".txt", message(error)
        except SystemExit as error:
            end, said = ".failed", message(error)
        if end is None:
            try:
                np.savez(stem + ".npz", **{**results_of(given), "seconds": time.perf_counter() - start})
            except Exception as error:  # there is nothing to judge
                if os.path.exists(stem + ".npz"):
                    os.remove(stem + ".npz")
                end, said = ".failed", message(error)
        if end is not None:
            with open(stem + end, "w") as file:
                file.write(said)
        done(case.id)


def main():
    report = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    os.set_inheritable(report.fileno(), False)
    asked = json.loads(sys.stdin.buffer.readline())

    def leave_with_the_parent():
        sys.stdin.buffer.read()
        os._exit(1)

    threading.Thread(target=leave_with_the_parent, daemon=True).start()
    try:
        adapter = adapter_named(asked["library"], asked["device"])
    except NoAdapter as error:
        print("error", error, file=report)
        return
    print("ready", file=report)
    cases = read_cases(asked["cases"], asked["device"], set(asked["ids"]))
    try:
        ask(adapter, cases, asked["results"], lambda id: print(id, file=report))
    except KeyboardInterrupt:
        print("interrupted", file=report)
    os._exit(0)  # threads that a library has left behind do not hold up the kit


if __name__ == "__main__":
    main()
