"""Models as functions from changed inputs to outputs: functions on arrays, and programs on files.

A subject has `shape` (B, T) of its inputs, the `dtype` of its outputs, `takes_copies`, `ways`, `notes`, and
outputs(changed): the outputs [copies * B, S, ...] where `changed` [copies * B, T] says which inputs are
others, always the same ones; None: none. `has` may be asked whether a word is in the names of its modules.
"""

import shlex
import signal
import subprocess
import sys
import tempfile

import numpy as np

from maskctl._native import Error


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

    def tangents(self, changed, draw):
        jax = sys.modules["jax"]
        random = np.random.default_rng(draw).standard_normal(self.values.shape).astype(self.values.dtype)
        tangent = np.where(changed[..., None], random, 0).astype(self.values.dtype)
        out = jax.jvp(self._run, (jax.numpy.asarray(self.values),), (jax.numpy.asarray(tangent),))[1]
        return _sizes(np.asarray(out))

    def cotangents(self, outputs, draw):
        jax = sys.modules["jax"]
        out, back = jax.vjp(self._run, jax.numpy.asarray(self.values))
        random = np.random.default_rng(draw).standard_normal(out.shape)
        random = np.where(outputs.reshape(*outputs.shape, *(1,) * (random.ndim - 2)), random, 0)
        return _sizes(np.asarray(back(jax.numpy.asarray(random, out.dtype))[0]))


class Program(Function):
    """A program that reads a .npy file and writes another: 'COMMAND IN OUT'."""

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
                    done = subprocess.run([files.get(word, word) for word in self.words], timeout=self.seconds,
                                          stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
                except subprocess.TimeoutExpired:
                    raise Error(f"see: {self.words[0]} took more than {self.seconds:g} s; --timeout SECONDS gives it more") from None
                except (OSError, ValueError) as error:
                    raise Error(f"see: {self.words[0]}: {error}") from None
                if done.returncode:
                    raise Error(f"see: {self.words[0]} {_ended(done.returncode)}: {_last_line(said)}")
            try:
                return np.load(files["OUT"], allow_pickle=False)
            except FileNotFoundError:
                raise Error(f"see: {self.words[0]} wrote no file OUT") from None
            except (OSError, ValueError, EOFError) as error:
                raise Error(f"see: {self.words[0]} wrote no .npy file to OUT: {error}") from None


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


def first_array(out):
    """The array of an output: the logits or the last hidden state, or the first array."""
    one = out
    while not hasattr(one, "dtype"):
        if hasattr(one, "keys") and len(one):
            name = next((name for name in ("logits", "last_hidden_state") if one.get(name) is not None), next(iter(one)))
            one = one[name]
        elif isinstance(one, (list, tuple)) and one:
            one = one[0]
        else:
            raise Error(f"see: the model returns {type(out).__name__}; expected an array, or logits")
    return one


def _is_of_jax(array):
    return type(array).__module__.partition(".")[0] in ("jax", "jaxlib")


def _sizes(array):
    return np.sqrt((np.abs(array).astype(np.float64) ** 2).reshape(*array.shape[:2], -1).sum(-1))
