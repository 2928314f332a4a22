"""The cases of the kit as adapters see them, read from a folder of `maskctl kit make`. Needs numpy alone."""

import json
import os

import numpy as np


class Unsupported(Exception):
    """What an adapter raises where its library has no argument for a part of the call."""


class Case:
    """One call: arrays of float32 that hold numbers of `dtype` ("float32", "float16", "bfloat16").

    query [B,Q,Hq,D], key [B,K,Hkv,D], value [B,K,Hkv,Dv]; mask [B,Hq,Q,K], true: may attend; bias
    [1,Hq,Q,K], sinks [Hq,n] and cotangent [B,Q,Hq,Dv], or None; scale and soft_cap, or None. `rule`
    and `says` are what is asked, `steps` is the mask as a pipeline, `arrays` has what its steps name,
    `asks` is "out", "lse" or "gradients"; `device` is where the library shall run, such as "cuda".
    """

    def __init__(self, about, arrays, dtype, device="cpu"):
        self.__dict__.update(about)
        self.dtype, self.device = dtype, device
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

    def chain(self, *known):
        """The steps of the mask as pairs (name, arguments), for libraries that take arguments instead of
        arrays. Refuses the case if it has a step that is not in `known`.

        A value is a whole number, a list of them, None for "none", an array or a word; one without a name
        is called "array". A window always has "left" and "right", None where it is not bounded.
        """
        steps = [self._step(text) for text in _split(self.steps, "|") if text]
        others = dict.fromkeys(name for name, _ in steps if name not in known)
        if others:
            raise Unsupported(f"no argument for {', '.join(others)}")
        return steps

    def window(self, align):
        """(left, right) of a mask that is one window around the diagonal, as causal is; None: not bounded. Refuses
        others, and those that are not aligned `align` ("top-left", "bottom-right") where that matters."""
        left = right = None
        for name, given in self.chain("causal", "window"):
            square = self.query.shape[1] == self.key.shape[1]
            if "offset" in given or not (square or given.get("align", align) == align):
                raise Unsupported(f"no argument for {self.steps}: aligned {align}")
            sides = (None, 0) if name == "causal" else (given["left"], given["right"])
            left, right = (min((one for one in pair if one is not None), default=None)
                           for pair in zip((left, right), sides))
        return left, right

    def _step(self, text):
        name, _, rest = text.partition(":")
        name, given = name.partition("{")[0].strip(), {}
        for argument in _split(rest, ",") if rest and "{" not in text else ():
            key, _, value = argument.rpartition("=")
            given[key or "array"] = self.arrays[value] if value in self.arrays else _value(value)
        if name == "window":
            left, right = (given.pop("keys") - 1, 0) if "keys" in given else [given.pop("both", None)] * 2
            given = {"left": left, "right": right, **given}
        return name, given


def _split(text, at):
    """The parts of a text between the signs that stand in no braces."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign == "{") - (sign == "}")
        if sign == at and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def _value(text):
    if text == "none":
        return None
    try:
        numbers = [int(one) for one in text.split("+")]
    except ValueError:
        return text
    return numbers if "+" in text else numbers[0]


def read_cases(folder, device="cpu", ids=None):
    """The cases of a folder one after another: all, or those of `ids`."""
    with open(os.path.join(folder, "manifest.json")) as file:
        manifest = json.load(file)
    for about in manifest["cases"]:
        if ids is not None and about["id"] not in ids:
            continue
        about = dict(about)
        with np.load(os.path.join(folder, about.pop("file"))) as arrays:
            yield Case(about, dict(arrays), manifest["dtype"], device)
