"""Masks in tests: assert_mask, assert_sees, assert_mutants_caught, and the fixture mask_golden of the pytest
plugin."""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import tomllib

from maskctl._answer import Error, Line, run
from maskctl._mask import Mask

__all__ = ["assert_mask", "assert_mutants_caught", "assert_sees", "Golden"]


def _as_mask(value, name, like=None, kind=None):
    if isinstance(value, Mask):
        return value
    if isinstance(value, str) and like is not None:
        return Mask.parse(value, like.shape)
    return Mask(value, kind, name=name)


def _difference(actual, expected, name):
    """What differs, from the expected mask, which has this name, to the actual one; "" if nothing."""
    answer = expected.diff(actual, show=True)
    return "" if answer else re.sub(r"\bA\b", name, re.sub(r"\bB\b", "actual", str(answer)))


def assert_mask(actual, expected, *, kind=None):
    """Fails unless both are the same mask, and says how many cells differ, where, why, and draws
    both. Each is a Mask, an array or a file (of that `kind`); `expected` may be a pipeline, such as
    "window:keys=128 | causal"."""
    __tracebackhide__ = True  # pytest then shows the line of the test
    actual = _as_mask(actual, "actual", kind=kind)
    expected = _as_mask(expected, "expected", actual, kind)
    differs = _difference(actual, expected, "expected")
    if differs:
        raise AssertionError(f"the masks differ\n{differs}")


def assert_sees(model, batch, expected, *, exact=False, **arrays):
    """Fails unless the outputs of a model change with the tokens of a pipeline and with no others:
    assert_sees(model, batch, "doc:ids | causal", ids=ids). It is what the whole model sees: layers of a
    window of W keys see W - 1 farther each. exact=True takes a run for each token. What it says names each
    question of maskctl.see that leaks, about the documents and the future of the pipeline."""
    __tracebackhide__ = True
    from maskctl import _see

    batches, tokens = _see._subject(model, batch).shape
    shape = (batches, 1, tokens, tokens)
    wanted = Mask.parse(expected, shape, **arrays) if isinstance(expected, str) else _as_mask(expected, "expected")
    answer = _see.see(model, batch, **(_asked(wanted, batches) if wanted.shape[2:] == shape[2:] else {}))
    actual = answer.matrix(exact=exact)
    differs = _difference(actual, wanted, "expected")
    if differs:
        raise AssertionError(f"the model sees other tokens\n{answer}\n{differs}")


def _asked(mask, batches):
    """What maskctl.see is asked where this mask is expected: documents are tokens that see each other, at first hand or
    not, padding what no token sees and what sees none, and the future is closed or not."""
    import numpy as np

    cells = np.asarray(mask).any(1)
    segments = np.stack([_joined(one | one.T) for one in cells])
    of_tokens = segments >= 0
    segments[of_tokens] = np.unique(segments[of_tokens], return_inverse=True)[1]
    segments = np.broadcast_to(segments, (batches, *segments.shape[1:]))
    return {} if (segments < 0).all() else {"segments": segments, "causal": not np.triu(cells, 1).any()}


def _joined(cells):
    """The smallest token that each token is joined with, -1 where it is with none; cells [T, T] of both directions."""
    import numpy as np

    tokens = len(cells)
    first = np.arange(tokens)
    while True:
        least = np.minimum(first, np.where(cells, first, tokens).min(1))
        least = least[least]
        if (least == first).all():
            return np.where(cells.any(1), first, -1)
        first = least


def assert_mutants_caught(accepts, mask, *, count=100, seed=0, bound=0.0, **options):
    """Fails unless accepts(mutant) is false for every wrong kernel of the mask and true for every
    right one, and says which kinds of mistakes pass and how much attention they move. Wrong kernels
    that move less than `bound` of a row's softmax weight may pass. Options are those of
    maskctl.mutants(). A cache of 8 bits counts as right: a rule that should refuse it says so with
    without=["cache-int8", "cache-fp8"]."""
    __tracebackhide__ = True
    from maskctl._mutants import Mutants

    judged = Mutants(mask, count, seed=seed, **options)
    for mutant in judged:
        judged.judge(accepts(mutant), bound)
    answer = judged.answer()
    if not answer:
        raise AssertionError(f"the rule is wrong about mutants\n{answer}")


# Names that can be file names in the folder of the manifest: no SOURCE ("q=A,kv=B", "gen:causal:n=4"), option or path.
_NAME = re.compile(r"\w[\w.+\[\] -]*")


def _check_name(name):
    if not _NAME.fullmatch(name) or len(name.encode()) > 200:
        raise Error(f"mask_golden: {name!r} cannot name a file beside the manifest; a name is of "
                    "letters, digits, _ - . + [ ] and spaces, starts with a letter, a digit or _, and "
                    "has at most 200 bytes")


@contextlib.contextmanager
def _locked(folder):
    """Other processes that change files of the folder wait; `maskctl golden update` does so too."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


class Golden:
    """The masks of a manifest, as `maskctl golden` reads it, against live ones."""

    def __init__(self, manifest, update=False):
        self._path = pathlib.Path(manifest)
        self._update = update

    def __call__(self, mask, name, *, kind=None):
        """Fails unless the mask is what entry `name` of the manifest expects; the mask stands for
        the entry's source, its transforms included. With --mask-golden-update the entry is written
        instead, and the mask, as runs, to NAME.npz beside the manifest if there was no entry."""
        __tracebackhide__ = True
        mask = _as_mask(mask, name, kind=kind)
        with contextlib.chdir(self._path.parent):
            entry = self._entry(name)
            if self._update:
                return self._write(mask, name, entry)
            if entry is None:
                _check_name(name)
                raise AssertionError(f"{self._path}: no entry {name!r}; --mask-golden-update adds it")
            answer = self._ask("check", mask, entry)
            if not answer:
                raise AssertionError(f"{answer}\n{self._difference(mask, entry)}".rstrip())

    def _entry(self, name):
        if not pathlib.Path(self._path.name).exists():
            return None
        with open(self._path.name, "rb") as file:
            entries = tomllib.load(file).get("golden", [])
        return next((e for e in entries if e["name"] in (name, f"{name}.npz")), None)

    def _ask(self, action, mask, entry, **options):
        line = Line("golden")
        line.operands += [action, self._path.name, entry["name"]]
        line.given[entry["source"]] = mask._plain()._source
        for keyword, value in options.items():
            line.option(keyword, value)
        return line.run()[0]

    def _write(self, mask, name, entry):
        if entry is None or entry["source"] == f"{name}.npz":
            _check_name(name)
            run("convert", mask, to="runs", output=f"{name}.npz", force=True)
        return self._ask("update", mask, entry or self._added(name), force=True)

    def _added(self, name):
        """A new entry, whose digest `golden update` fills in; or that which another process has
        added meanwhile."""
        manifest = pathlib.Path(self._path.name).resolve()
        with _locked(manifest.parent):
            entry = self._entry(name)
            if entry is not None:
                return entry
            old = manifest.read_bytes() if manifest.exists() else b""
            file = f"{name}.npz"
            lines = f'\n[[golden]]\nname = "{file}"\nsource = "{file}"\nexpect = {{ sha256 = "" }}\n'
            fresh = manifest.with_name(f".{manifest.name}.new")
            with open(fresh, "wb") as out:
                out.write(old + lines.encode())
                out.flush()
                os.fsync(out.fileno())
            if old:
                shutil.copymode(manifest, fresh)
            os.replace(fresh, manifest)
            return self._entry(name)

    def _difference(self, mask, entry):
        """What differs from the file of the source, where the entry is not about its transforms."""
        if entry.get("transforms") or not pathlib.Path(entry["source"]).exists():
            return ""
        return _difference(mask, Mask.read(entry["source"], entry.get("as")), "golden")
