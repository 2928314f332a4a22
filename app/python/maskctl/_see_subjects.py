"""Models as functions from changed inputs to outputs: functions on arrays, and programs on files.

A subject has `shape` (B, T) of its inputs, the `dtype` of its outputs, `takes_copies`, `ways`, `notes`, and
outputs(changed): the outputs [copies * B, S, ...] where `changed` [copies * B, T] says which inputs are
others, always the same ones; None: none. `has` may be asked whether a word is in the names of its modules.
"""

import contextlib
import copy
import dataclasses
import os
import shlex
import signal
import subprocess
import sys
import tempfile

import numpy as np

from maskctl._native import Error


_NAMES = ("logits", "last_hidden_state")


def others(values, known=1):
    """Inputs [B, T] or [B, T, ...] each of which differs: ids that occur elsewhere, the one below or, of so many
    `known` ids, the one above where a single id occurs; or numbers of the same size."""
    random = np.random.default_rng(20260704)
    if not np.issubdtype(values.dtype, np.inexact):
        pool = np.unique(values)
        if values.dtype.kind == "b":
            pool = np.array([False, True])
        elif len(pool) < 2:
            if pool[0] <= 0 and not known > pool[0] + 1:
                raise Error(f"see: each token is {pool[0]}; expected two ids at least, one of which takes the place of the other")
            pool = np.sort(np.array([pool[0], pool[0] - 1 if pool[0] > 0 else pool[0] + 1]))
        # A step of 1 to n - 1 from its own place in the pool gives another id.
        at = np.searchsorted(pool, values) + random.integers(1, len(pool), values.shape)
        return pool[at % len(pool)].astype(values.dtype)
    size = np.sqrt((values.astype(np.float64) ** 2).mean(-1, keepdims=True))
    return (random.standard_normal(values.shape) * np.where(size > 0, size, 1)).astype(values.dtype)


def replaced(values, other, changed):
    """The values, copies of them beside each other, of which those that are changed are others."""
    copies = changed.shape[0] // values.shape[0]
    changed = changed.reshape(*changed.shape, *(1,) * (values.ndim - 2))
    return np.where(changed, np.concatenate([other] * copies), np.concatenate([values] * copies))


def as_batch(values):
    """Inputs with an axis of batch entries: ids [B, T], or numbers [B, T, E]."""
    if values.dtype.kind not in "biufcV" or values.dtype.fields:
        raise Error(f"see: a batch of {values.dtype}; expected ids or numbers")
    if np.issubdtype(values.dtype, np.inexact) or values.dtype.kind == "V":
        values = values[None] if values.ndim == 2 else values
        wanted = 3
    else:
        values = values[None] if values.ndim == 1 else values
        wanted = 2
    if values.ndim != wanted or 0 in values.shape:
        raise Error(f"see: a batch of shape {values.shape}, {values.dtype}; expected ids [T] or [B, T], or numbers [T, E] "
                    "or [B, T, E]")
    return values


class Function:
    """A function from an array to an array, of numpy or JAX."""

    ways = ("differences",)
    takes_copies = True
    kept = None  # what is carried from run to run is not known
    cheap_runs = 4  # so many more are made where they ask about all tokens
    everywhere = "everywhere=True"

    def __init__(self, function, array):
        self.function, self.given = function, array
        self.values = as_batch(np.asarray(array))
        self.flat = np.asarray(array).ndim < self.values.ndim
        self.takes_copies = not self.flat
        self.other = others(self.values)
        self.shape = self.values.shape[:2]
        self.notes = []
        self.dtype = "float32"
        if _is_of_jax(array) and self.values.ndim == 3:
            self.ways = ("differences", "cotangents", "tangents")

    def _converted(self, values):
        values = values[0] if self.flat else values
        if _is_of_jax(self.given):
            return sys.modules["jax"].numpy.asarray(values)
        return values

    def _run(self, values):
        out = first_array(self.function(self._converted(values)))
        self.dtype = str(out.dtype)
        return out[None] if self.flat else out

    def outputs(self, changed):
        out = self._run(self.values if changed is None else replaced(self.values, self.other, changed))
        return np.asarray(out)

    def has(self, word):
        return False

    def draws_differ(self, probe):
        return False

    def tangents(self, changed, draw):
        jax = sys.modules["jax"]
        random = np.random.default_rng(draw).standard_normal(self.values.shape).astype(self.values.dtype)
        tangent = np.where(changed[..., None], random, 0).astype(self.values.dtype)
        out, moved = jax.jvp(self._run, (jax.numpy.asarray(self.values),), (jax.numpy.asarray(tangent),))
        refuse_without_gradient(out.dtype.name, out.dtype.kind not in "biu")
        return _sizes(np.asarray(moved))

    def cotangents(self, sets, draw):
        jax = sys.modules["jax"]
        out, back = jax.vjp(self._run, jax.numpy.asarray(self.values))
        refuse_without_gradient(out.dtype.name, out.dtype.kind not in "biu")
        for number, outputs in enumerate(sets):
            random = np.random.default_rng(draw + number).standard_normal(out.shape)
            random = np.where(outputs.reshape(*outputs.shape, *(1,) * (random.ndim - 2)), random, 0)
            yield _sizes(np.asarray(back(jax.numpy.asarray(random, out.dtype))[0]))

    def beside(self, count):
        """The subject of copies of the batch beside each other."""
        one = copy.copy(self)
        one.values, one.other = (np.concatenate([each] * count) for each in (self.values, self.other))
        one.shape, one.notes = one.values.shape[:2], []
        return one

    def part(self, begin, end):
        """The subject of the tokens from begin to end alone."""
        if self.flat:
            return None
        one = copy.copy(self)
        one.values, one.other = self.values[:, begin:end], self.other[:, begin:end]
        one.shape, one.notes = one.values.shape[:2], []
        return one


class Program(Function):
    """A program that reads a .npy file and writes another: 'COMMAND IN OUT'."""

    cheap_runs = 1
    everywhere = "--everywhere"

    def __init__(self, command, array, seconds):
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise Error(f"see: --run {command!r}: {error}; expected the words of a command") from None
        if "IN" not in words or "OUT" not in words:
            raise Error(f"see: --run {command!r}: expected the words IN and OUT, which stand for the two files")
        self.words, self.seconds = words, seconds
        super().__init__(self._started, array)

    def _started(self, values):
        with tempfile.TemporaryDirectory() as folder:
            files = {"IN": f"{folder}/in.npy", "OUT": f"{folder}/out.npy"}
            np.save(files["IN"], values)
            with open(f"{folder}/said", "w+b") as said:
                try:
                    status = self._status([files.get(word, word) for word in self.words], said)
                except subprocess.TimeoutExpired:
                    raise Error(f"see: {self.words[0]} took more than {self.seconds:g} s; --timeout SECONDS gives it more") from None
                except (OSError, ValueError) as error:
                    raise Error(f"see: {self.words[0]}: {error}") from None
                if status:
                    raise Error(f"see: {self.words[0]} {_ended(status)}: {_last_line(said)}")
            try:
                return np.load(files["OUT"], allow_pickle=False)
            except FileNotFoundError:
                raise Error(f"see: {self.words[0]} wrote no file OUT") from None
            except (OSError, ValueError, EOFError) as error:
                raise Error(f"see: {self.words[0]} wrote no .npy file to OUT: {error}") from None

    def _status(self, words, said):
        """The exit status of a run. One that takes too long, or is interrupted, is ended with all that it started."""
        program = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return program.wait(self.seconds)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            raise


def _ended(status):
    if status > 0:
        return f"ended with {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def _last_line(said):
    """The last line of what a program printed."""
    said.seek(max(0, said.seek(0, 2) - 4096))
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def refuse_without_gradient(dtype, has):
    if not has:
        raise Error(f"see: outputs of {dtype} have no gradient; way=\"differences\" changes tokens")


def first_array(out):
    """The array of an output: the logits or the last hidden state; the first array [B, T, ...], or else the first."""
    found = list(_arrays_in(out))
    if not found:
        raise Error(f"see: the model returns {type(out).__name__}; expected an array, or logits")
    return next((one for one in found if one.ndim >= 2), found[0])


def _arrays_in(out):
    """The arrays of an output, those first whose names say that they are what a model is asked for."""
    if hasattr(out, "dtype") and hasattr(out, "ndim"):
        yield out
    elif dataclasses.is_dataclass(out) and not hasattr(out, "keys"):
        yield from _arrays_in({one.name: getattr(out, one.name) for one in dataclasses.fields(out)})
    elif hasattr(out, "keys"):
        for name in sorted(out.keys(), key=lambda name: _NAMES.index(name) if name in _NAMES else len(_NAMES)):
            yield from _arrays_in(out[name])
    elif isinstance(out, (list, tuple)):
        for one in out:
            yield from _arrays_in(one)


def _is_of_jax(array):
    return type(array).__module__.partition(".")[0] in ("jax", "jaxlib")


def _sizes(array):
    return np.sqrt((np.abs(array).astype(np.float64) ** 2).reshape(*array.shape[:2], -1).sum(-1))
