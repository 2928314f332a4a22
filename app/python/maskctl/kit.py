"""Asks an attention library what its masks mean, case by case.

    python -m maskctl.kit run --library torch.sdpa
    python -m maskctl.kit run --library mine.py:attend --rule causal --dtype bf16

An adapter is a function of one case that returns the output [B,Q,Hq,Dv], or a dict of "out" and,
where it has them, "lse" [B,Hq,Q], "grad_query", "grad_key" and "grad_value", as numpy arrays. What
it raises is a refusal. The cases, their meaning and every verdict are those of `maskctl kit`.
"""

import argparse
import importlib
import importlib.util
import inspect
import json
import os
import sys
import tempfile

import numpy as np

from maskctl import Error, run as command
from maskctl._adapters import ADAPTERS


class Unsupported(Exception):
    """What an adapter raises where its library has no argument for a part of the call."""


class Case:
    """One call: arrays of float32 that hold numbers of `dtype` ("float32", "float16", "bfloat16").

    query [B,Q,Hq,D], key [B,K,Hkv,D], value [B,K,Hkv,Dv]; mask [B,Hq,Q,K], true: may attend; bias
    [1,Hq,Q,K], sinks [Hq,n] and cotangent [B,Q,Hq,Dv], or None; scale and soft_cap, or None. `rule`
    and `says` are what is asked, `steps` is the mask as a pipeline, `arrays` has what its steps name,
    `asks` is "out", "lse" or "gradients".
    """

    def __init__(self, about, arrays, dtype):
        self.__dict__.update(about)
        self.dtype = dtype
        for name in ("query", "key", "value", "mask", "bias", "sinks"):
            setattr(self, name, arrays.get(name))
        self.cotangent = arrays.get("cotangent_out")
        self.arrays = {name: array for name, array in arrays.items() if array.dtype == np.int32}

    @property
    def used_scale(self):
        """The scale of the call: 1 / sqrt(D) where none is given."""
        return self.query.shape[-1] ** -0.5 if self.scale is None else self.scale

    def only(self, *supported):
        """Refuses the case if it has one of scale, soft_cap, bias and sinks that is not named."""
        has = {"scale": self.scale, "soft_cap": self.soft_cap, "bias": self.bias, "sinks": self.sinks}
        missing = [name for name, value in has.items() if value is not None and name not in supported]
        if missing:
            raise Unsupported(f"no argument for {', '.join(missing)}")


def cases(dtype="f32", rule=(), without=()):
    """The cases one after another; options as those of `maskctl kit`."""
    with tempfile.TemporaryDirectory() as folder:
        command("kit", "make", folder, dtype=dtype, rule=list(rule), without=list(without))
        with open(os.path.join(folder, "manifest.json")) as file:
            manifest = json.load(file)
        for about in manifest["cases"]:
            with np.load(os.path.join(folder, about.pop("file"))) as arrays:
                yield Case(about, dict(arrays), manifest["dtype"])


def _message(error):
    """The type of an exception and its first lines, in one line."""
    lines = " ".join(f"{type(error).__name__}: {error}".split())
    return lines if len(lines) <= 200 else lines[:197] + "..."


def _results(given):
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
    return {name: np.asarray(array) for name, array in given.items() if array is not None}


def _checked(adapter, name):
    """The adapter, which has to be a function of one case."""
    if not callable(adapter):
        raise Error(f"{name} is of type {type(adapter).__name__}; expected a function of a case")
    try:
        inspect.signature(adapter).bind(None)
    except TypeError as error:
        raise Error(f"{name} is no function of one argument, the case: {error}") from None
    except ValueError:  # a function of C, which does not say what it takes
        pass
    return adapter


def ask(adapter, folder, **options):
    """Writes what an adapter gives for each case, or why it refuses, for `maskctl kit judge`."""
    for case in cases(**options):
        stem = os.path.join(folder, case.id)
        try:
            np.savez(stem + ".npz", **_results(adapter(case)))
        except (Exception, SystemExit) as error:  # whatever a library says no with is its refusal
            with open(stem + ".txt", "w") as file:
                file.write(_message(error))


def judge(adapter, library=None, dtype="f32", rule=(), without=(), **options):
    """The answer of `maskctl kit judge` about an adapter; true if all cases obey."""
    name = library or getattr(adapter, "__name__", type(adapter).__name__)
    _checked(adapter, name)
    with tempfile.TemporaryDirectory() as folder:
        chosen = {"dtype": dtype, "rule": list(rule), "without": list(without)}
        ask(adapter, folder, **chosen)
        return command("kit", "judge", folder, library=name, **chosen, **options)


def adapter_named(name):
    """The adapter of a library, or the function of "FILE.py:FUNCTION" or "MODULE:FUNCTION"."""
    if name in ADAPTERS:
        return ADAPTERS[name]
    place, _, function = name.rpartition(":")
    if not place:
        raise Error(f"no library {name!r}; there are {', '.join(ADAPTERS)}, and FILE.py:FUNCTION for your own")
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location(os.path.basename(place)[:-3], place)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
    except (Exception, SystemExit) as error:  # whatever the file does when it is run
        raise Error(f"cannot import {place}: {_message(error)}") from error
    if not hasattr(module, function):
        raise Error(f"{place} has no {function!r}; expected the name of a function of a case")
    return _checked(getattr(module, function), name)


def main(words=None):
    parser = argparse.ArgumentParser("python -m maskctl.kit", description="Asks a library what its masks mean.")
    parser.add_argument("action", choices=["run"])
    parser.add_argument("--library", required=True, help=f"{', '.join(ADAPTERS)}, or FILE.py:FUNCTION")
    parser.add_argument("--dtype", default="f32", choices=["f32", "f16", "bf16"])
    parser.add_argument("--rule", action="append", default=[], help="only this rule, or these; may be repeated")
    parser.add_argument("--without", action="append", default=[], help="not this rule, or these; may be repeated")
    parser.add_argument("--format", default="text", choices=["text", "json", "junit"])
    asked = vars(parser.parse_args(words))
    asked.pop("action")
    try:
        answer = judge(adapter_named(asked["library"]), **asked)
    except (Error, OSError) as error:
        print(f"maskctl.kit: {error}", file=sys.stderr)
        return 2
    print(answer)
    return answer.status


if __name__ == "__main__":
    sys.exit(main())
