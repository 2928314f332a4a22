"""Which outputs of a model move when some of its inputs change."""

import numpy as np

from maskctl._native import Error

_TOKENS_A_PASS = 4096  # copies of a short batch run beside each other up to so many tokens
# Of a dtype: (the least floor, where no rounding was measured; the floor where none could be). Products of other
# numbers of rows, as those of experts, round otherwise; whole numbers do not.
_FLOORS = {"float64": (2.0 ** -50, 2.0 ** -47), "complex128": (2.0 ** -50, 2.0 ** -47), "float32": (2.0 ** -20, 2.0 ** -18),
           "bfloat16": (2.0 ** -11, 2.0 ** -6), "float16": (2.0 ** -14, 2.0 ** -9), "whole": (0.0, 0.0)}
_MOST_NOISE = 0.2  # a floor above it hides leaks


class Probe:
    """A subject (_see_subjects.py), with what is known of its noise.

    An amount is how far the output of a token moves, |y' - y| / |y| over its features; 0 where that is
    at most `floor`. Sets are bool arrays: of inputs [B, T], of outputs [B, S].
    """

    def __init__(self, subject, way, floor=None):
        self.subject = subject
        self.way = way
        self.passes = 0
        self.below = 0.0  # the largest movement that counts as none
        self.least = np.inf  # the smallest that counts
        self.copies = 1
        self.entries_mix = None  # not known
        self.noise = self._of_equal_runs()
        if floor is not None:  # of the model that this is a layer of
            self.floor = floor
            return
        changes = self._undo_what_is_carried()
        if not 8 * self.noise < _MOST_NOISE:
            raise Error(f"see: two equal runs differ by {self.noise:.2g} of an output, so that nothing can be told; make the "
                        f"model deterministic, as by model.eval(), no state between calls, or a fixed seed{changes}")
        whole = subject.dtype.startswith(("int", "uint", "bool"))
        least, most = _FLOORS["whole" if whole else subject.dtype if subject.dtype in _FLOORS else "float32"]
        rounding = self._rounding_beside(most)
        self.floor = max(8 * self.noise, most if rounding is None else max(8 * rounding, least))

    def _undo_what_is_carried(self):
        """Has each run begin with what the model kept before the first, and notes it where outputs depend on it. Returns
        what is changed, for an error."""
        kept, before = self.subject.kept, self.noise
        if kept is None or not kept.changed():
            return ""
        if before == 0 and self.way == "differences":  # equal runs leave the same behind, another one may not
            self.outputs(np.ones(self.subject.shape, bool))
            before = float(self._changes(self.outputs(None)).max(initial=0.0))
        kept.undo()
        self.noise = self._of_equal_runs()
        if self.noise < before:
            self.subject.notes.append(f"carried from call to call, and undone here after each run: {kept}")
        return f"; each run changes {kept}"

    def _of_equal_runs(self):
        """How far two runs differ, of which the first is what others are compared with."""
        self.plain = self.outputs(None)
        self.shape = self.plain.shape[:2]
        self.unread = ~np.isfinite(self.plain).all(-1)
        with np.errstate(over="ignore"):
            sizes = _norms(np.where(self.unread[..., None] & ~np.isfinite(self.plain), 0, self.plain))
        self._sizes = np.where(sizes > 0, sizes, 1)
        return float(self._changes(self.outputs(None)).max(initial=0.0))

    def outputs(self, changed):
        self.passes += 1
        out = self.subject.outputs(changed)
        inputs = self.subject.shape if changed is None else changed.shape
        if out.ndim < 2 or out.shape[0] != inputs[0]:
            raise Error(f"see: an output of shape {tuple(out.shape)} for inputs {inputs}; expected [B, T, ...]")
        if out.shape[1] != inputs[1]:
            raise Error(f"see: an output of shape {tuple(out.shape)} for inputs {inputs}; expected one for each token, [B, T, ...], "
                        f"not {out.shape[1]} for {inputs[1]} tokens")
        return _reals(out.reshape(*out.shape[:2], -1))

    def _changes(self, out):
        with np.errstate(invalid="ignore", over="ignore"):
            moved = _norms(out - self.plain)
            odd = ~np.isfinite(moved)
            if odd.any():  # inf and NaN are equal to themselves
                one, other = self.plain[odd], out[odd]
                away = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0, other - one)
                moved[odd] = np.nan_to_num(_norms(away), nan=np.inf)
            return moved / self._sizes

    def _counted(self, amounts):
        none = amounts <= self.floor
        if none.any():
            self.below = max(self.below, float(amounts[none].max()))
        if not none.all():
            self.least = min(self.least, float(amounts[~none].min()))
        return np.where(none, 0, amounts)

    def _rounding_beside(self, most):
        """Runs copies of the batch beside each other, of which every second is changed as a whole. The others
        move by rounding alone, which is returned, or entries mix. None where copies do not run."""
        batch, tokens = self.subject.shape
        copies = copies_of(batch, tokens)
        if copies < 2 or self.way != "differences" or not self.subject.takes_copies:
            return None
        if self.subject.draws_differ(self):  # as they do beside copies
            return None
        changed = np.zeros((copies, batch, tokens), bool)
        changed[1::2] = True
        try:
            out = self.outputs(changed.reshape(copies * batch, tokens))
        except Exception:  # the model takes this batch size only
            self.passes -= 1
            return None
        still = max(self._changes(one).max() for one in out.reshape(copies, batch, *out.shape[1:])[::2])
        # Numbers of 64 bits may be of a model of 32, so that less is its rounding.
        self.entries_mix = bool(still > max(most, _FLOORS["float32"][1] if self.plain.dtype == np.float64 else 0, 8 * self.noise))
        if self.entries_mix:
            return None
        self.copies = copies
        return float(still)

    def moved(self, sets):
        """The amounts [B, S] of each set of changed inputs."""
        sets = list(sets)
        batch = self.subject.shape[0]
        found = []
        if self.way == "tangents":
            for one in sets:
                self.passes += 1
                found.append(_above(self.subject.tangents(one, self.passes)))
            return found
        for begin in range(0, len(sets), self.copies):
            part = sets[begin:begin + self.copies]
            out = self.outputs(np.concatenate(part))
            found += [self._counted(self._changes(one)) for one in out.reshape(len(part), batch, *out.shape[1:])]
        return found

    def reaching(self, sets):
        """The amounts [B, T] of inputs that each set of outputs depends on, of the largest; by products with
        random cotangents."""
        found = []
        for one in self.subject.cotangents(sets, self.passes + 1):
            self.passes += 1
            found.append(_above(one))
        return found

    def touch(self, rectangles):
        """For each pair (inputs, outputs) of sets the amounts of the outputs, or where products with
        cotangents are asked, of the inputs; elsewhere 0."""
        if self.way == "cotangents":
            return [np.where(sources, one, 0) for (sources, _), one in
                    zip(rectangles, self.reaching([targets for _, targets in rectangles]))]
        return [np.where(targets, one, 0) for (_, targets), one in
                zip(rectangles, self.moved([sources for sources, _ in rectangles]))]

    def cell(self, sources, targets, amounts):
        """One output and one input of the two sets that depend on each other, (output, input), each (entry,
        token); the input None where no single one is enough."""
        place = np.unravel_index(np.argmax(amounts), amounts.shape)
        if self.way == "cotangents":
            other = self._narrowed(targets, lambda sets: [one[place] for one in self.reaching(sets)])
            return other, tuple(map(int, place))
        likely = self._likely(sources, place) if sources.sum() > 16 * self.copies else None
        if likely is not None:
            return tuple(map(int, place)), likely
        other = self._narrowed(sources, lambda sets: [one[place] for one in self.moved(sets)])
        return tuple(map(int, place)), other

    def _likely(self, sources, place):
        """The input on which one output depends most, by its gradient, if it moves the output by itself."""
        if "cotangents" not in self.subject.ways:
            return None
        one = np.zeros(self.shape, bool)
        one[place] = True
        try:
            likely = np.unravel_index(np.argmax(np.where(sources, self.reaching([one])[0], -1)), sources.shape)
        except (RuntimeError, Error):  # what runs is not differentiable, or needs too much memory
            return None
        alone = np.zeros_like(sources)
        alone[likely] = True
        return tuple(map(int, likely)) if self.moved([alone])[0][place] > 0 else None

    def moves_alone(self, verdict):
        """Whether the inputs of a verdict move its output in a run of nothing beside them."""
        inputs = verdict.sources
        if verdict.input is not None:
            inputs = np.zeros_like(inputs)
            inputs[verdict.input] = True
        return self.moved([inputs])[0][verdict.output] > 0

    def _narrowed(self, among, amounts_of):
        """The place of one member of a set that is enough, by cutting the set in parts."""
        places = np.argwhere(among)
        while len(places) > 1:
            parts = np.array_split(places, min(len(places), max(2, self.copies)))
            sets = []
            for part in parts:
                one = np.zeros_like(among)
                one[tuple(part.T)] = True
                sets.append(one)
            found = amounts_of(sets)
            if not max(found) > 0:
                return None
            places = parts[int(np.argmax(found))]
        return tuple(map(int, places[0]))


def copies_of(batch, tokens):
    """How many copies of a batch run beside each other."""
    return min(32, _TOKENS_A_PASS // (batch * tokens))


def _norms(numbers):
    """Of the last axis."""
    return np.sqrt(np.einsum("...e,...e->...", numbers, numbers))


def _reals(out):
    """Outputs as float64 or, where they are less exact, float32; a complex number as two."""
    if out.dtype.kind not in "biufcV" or out.dtype.fields:
        raise Error(f"see: outputs of {out.dtype}; expected numbers")
    if out.dtype.kind == "c":
        out = np.concatenate([out.real, out.imag], -1)
    wide = out.dtype.kind in "iu" or out.dtype == np.float64
    return out.astype(np.float64 if wide else np.float32)


def _above(amounts):
    """Products as shares of the largest; those that are rounding are 0."""
    amounts = np.nan_to_num(amounts, nan=np.inf)
    largest = amounts.max(initial=0.0)
    shares = amounts / largest if 0 < largest < np.inf else amounts
    return np.where(shares > 1e-7, shares, 0)
