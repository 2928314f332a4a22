"""Masks in tests: assert_mask, and the fixture mask_golden of the pytest plugin."""

import contextlib
import pathlib
import tomllib

from maskctl._answer import Line, run
from maskctl._mask import Mask

__all__ = ["assert_mask", "Golden"]


def _as_mask(value, name, like=None, kind=None):
    if isinstance(value, Mask):
        return value
    if isinstance(value, str):
        return Mask.parse(value, like.shape)
    return Mask(value, kind, name=name)


def assert_mask(actual, expected, *, kind=None):
    """Fails unless both are the same mask, and says how many cells differ, where, why, and draws
    both. Each is a Mask or an array (of that `kind`); `expected` may be a pipeline, such as
    "window:keys=128 | causal"."""
    __tracebackhide__ = True  # pytest then shows the line of the test
    actual = _as_mask(actual, "actual", kind=kind)
    expected = _as_mask(expected, "expected", actual, kind)
    answer = actual.diff(expected, show=True)
    if not answer:
        raise AssertionError(f"the masks differ\n{answer}")


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
        if entry is not None and entry["source"] != f"{name}.npz":
            return self._ask("update", mask, entry, force=True)
        run("convert", mask, to="runs", output=f"{name}.npz", force=True)
        if entry is not None:
            return self._ask("update", mask, entry, force=True)
        fresh = f"{name}.new.toml"
        run("golden", "init", fresh, f"{name}.npz", force=True)
        text = pathlib.Path(fresh).read_text(encoding="utf-8")
        pathlib.Path(fresh).unlink()
        with open(self._path.name, "a", encoding="utf-8") as file:
            file.write(text[text.index("\n[[golden]]"):])

    def _difference(self, mask, entry):
        """What differs from the file of the source, where the entry is not about its transforms."""
        if entry.get("transforms") or not pathlib.Path(entry["source"]).exists():
            return ""
        return mask.diff(Mask.read(entry["source"], entry.get("as")), show=True)
