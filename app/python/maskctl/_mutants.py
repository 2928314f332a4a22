"""Wrong kernels of a mask, one after another, and what an acceptance rule says of them."""

from maskctl import _arrays, _native
from maskctl._answer import Answer, Line
from maskctl._native import Error


class Mutant:
    """The arrays of a kernel that is wrong on purpose, or right, and the truth about it.

    query [B,Q,H,D], key and value [B,K,G,D], bias [1,H,1,K] and sinks [H,n] or None, out, lse
    [B,H,Q]: float32 arrays, of numpy where it is there, that hold numbers of the dtype of the
    call. `right`: whether a rule should accept it.
    """

    def __init__(self, arrays, truth):
        for name in ("query", "key", "value", "bias", "sinks", "out", "lse"):
            array = arrays.get(name)
            setattr(self, name, None if array is None else _arrays.of_numpy(array))
        self.truth = truth  # the fields of maskctl.mutants/1 (docs/json.md)

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.truth:
            raise AttributeError(f"a mutant has no {name!r}; its truth has {sorted(self.truth)}")
        return self.truth[name]

    def __repr__(self):
        return f"<maskctl.Mutant {self.number}: {self.kind}, {self.text}, weight {self.weight:.2g}>"


class Mutants:
    """The mutants of one mask, and the score of a rule about them."""

    def __init__(self, mask, count, **options):
        from maskctl._mask import Mask

        if not isinstance(mask, Mask):
            mask = Mask(mask)
        line = Line("mutants")
        line.given.update(mask._arrays)
        source = mask._put_into(line.given)
        line.options += mask._options()
        for keyword, value in options.items():
            line.option(keyword, value)
        self._count = count
        self._made = _native.mutants(source, line.options, line.given)

    def __iter__(self):
        for number in range(self._count):
            yield Mutant(*self._made.make(number))

    def judge(self, accepted, bound=0.0):
        """Notes whether a rule accepted the mutant that was made last. Of wrong kernels that move
        less than `bound` of a row's weight the rule says itself that it may accept them."""
        self._made.judge(bool(accepted), float(bound))

    def answer(self):
        """The report, as the command prints it; true if nothing wrong was accepted that moves more
        than the bound, and nothing right refused."""
        return Answer(*self._made.answer())


# Options of the command that the generator does not have.
_OF_COMMAND = {"usual", "rule", "judge", "out", "list"}


def mutants(mask, count=100, seed=0, **options):
    """The wrong kernels that `maskctl mutants` makes of a mask, one after another; one in five is
    right. Options are those of the command: heads=4, kv_heads=2, dim=64, dtype="f16", cap=30,
    only=["window-wider", "cell-opened"]."""
    for name in _OF_COMMAND.intersection(options):
        raise Error(f"{name}: an option of the command only; maskctl.run(\"mutants\", ...) takes it")
    return iter(Mutants(mask, count, seed=seed, **options))
