"""The layers that leak: those that do when they run alone on what they were given, or else the first whose output moves
in a run of the whole model."""

import dataclasses

import numpy as np

from maskctl._see_probe import Probe

_MOST = 8  # layers of which the shape is asked; others are taken for what those of the same modules are


@dataclasses.dataclass
class Found:
    """The first of some layers alike that leak, as the innermost module that does."""

    name: str
    module: str  # its class
    shape: object  # of its leak; None: it did not run alone
    count: int = 1  # layers alike


class Guilty:
    """`found` has those that leak, the first first. shape_of: the shape of the leak that a probe shows."""

    def __init__(self, subject, verdict, floor, shape_of):
        self._verdict, self._floor = verdict, floor
        self.found, self.where = [], ""
        self.count = self.asked = self.unasked = 0
        self._rectangles = [(verdict.sources, verdict.targets)]
        if verdict.input is not None:
            alone = np.zeros_like(verdict.sources)
            alone[verdict.input] = True
            self._rectangles.append((alone, verdict.targets))
        outermost, leaking = subject.layers(), []
        for name, module, layer in outermost:
            probe = self._alone(layer)
            self.asked += probe is not None
            if probe is not None and self._leaks(probe):
                leaking.append((name, module, probe))
        self.count = len(leaking)
        kinds, alike = {}, {}
        for number, (name, module, probe) in enumerate(leaking):
            structure = _structure(module)
            if number < _MOST or structure not in alike:
                alike[structure] = structure, shape_of(probe).kind
            kinds.setdefault(alike[structure], []).append((name, module, probe))
        for of_kind in kinds.values():
            name, module, probe = self._inside(subject, *of_kind[0])
            self.found.append(Found(name, module, shape_of(probe), len(of_kind)))
        if not self.found and outermost:
            self.where = self._first_moved(subject, outermost)

    def _alone(self, layer):
        """The probe of a layer; None where it does not run again by itself with the same results, as with a cache."""
        try:
            probe = Probe(layer, "differences", self._floor)
        except Exception:  # of the model, whose layers may need what ran before them
            probe = None
        if probe is not None and probe.shape == self._verdict.sources.shape and probe.noise <= self._floor:
            return probe
        self.unasked += 1
        return None

    def _leaks(self, probe):
        return any(touched.any() for touched in probe.touch(self._rectangles))

    def _inside(self, subject, name, module, probe):
        """(name, class, probe) of the first module inside one that leaks, and inside that, as far as there is one."""
        for inner, one, layer in subject.layers(module):
            deeper = self._alone(layer)
            if deeper is not None and self._leaks(deeper):
                return self._inside(subject, f"{name}.{inner}", one, deeper)
        return name, type(module).__name__, probe

    def _first_moved(self, subject, plain):
        """Where outputs first move in a run of the whole model with other inputs."""
        before = "the first layer"
        for (name, module, was), (other, _, now) in zip(plain, subject.layers(changed=self._verdict.sources)):
            if name != other:
                break
            if self._moves(was.tokens, now.tokens):
                return f"between {before} and {name} ({type(module).__name__})" if before != "the first layer" else f"before {name}"
            if self._moves(was.came, now.came):
                self.found = [Found(name, type(module).__name__, None)]
                return ""
            before = name
        return f"after {before}"

    def _moves(self, one, other):
        if one.shape != other.shape:
            return False
        one, other = (each.detach().double().cpu().numpy() for each in (one, other))
        sizes = np.linalg.norm(one, axis=-1)
        return bool((np.linalg.norm(other - one, axis=-1) > self._floor * np.where(sizes > 0, sizes, 1))[self._verdict.targets].any())

    @property
    def name(self):
        return self.found[0].name if self.found else None

    @property
    def module(self):
        return self.found[0].module if self.found else None

    def __str__(self):
        rest = f"; {self.unasked} module{'s' if self.unasked > 1 else ''} could not run alone" if self.unasked else ""
        if self.found and not self.count:
            return f"first in {self.name} ({self.module}), whose output moves where its input does not{rest}"
        if not self.found:
            alone = f"none of {self.asked} layers that ran alone leaks" if self.asked else "no layer was seen that maps [B, T, E] to such"
            return alone + (f": outputs first move {self.where}" if self.where else "") + rest
        return (f"first in {self.name} ({self.module}); of {self.asked} layer{'s' if self.asked > 1 else ''}, each run alone on what it was "
                f"given, {self.count} leak{'s' if self.count == 1 else ''}{rest}")


def _structure(module):
    return tuple(type(one).__name__ for one in module.modules()) if hasattr(module, "modules") else type(module).__name__
