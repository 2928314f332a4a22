"""What layers of a running model were given: a row for each kind of call, and the answers about them."""

import dataclasses
import os

from maskctl import _native
from maskctl._answer import Answer, text_of
from maskctl._mask import Mask
from maskctl._native import Error
from maskctl._seen import Seen, joined, pattern


@dataclasses.dataclass
class Call:
    """Calls that were given the same: of one layer, with one mask."""

    layer: str  # "model.layers.0.self_attn"
    module: str  # its class
    function: str
    lengths: tuple  # batch, heads, queries, keys
    dtype: str
    given: dict  # flags and masks in words
    mask: Mask | None
    known: str  # how the mask is known: "given", "computed", "traced", "weights", "solved"; empty without one
    unknown: int  # cells of it that cannot be told; they count as open
    unread: str  # why there is no mask, or not the whole; empty if all is read
    times: int = 1
    applied: str = ""  # with prove=: what a sample of its rows showed, solved from its arrays
    obeys: bool | None = None  # whether that is the mask that was given; None where it was not told
    held: object = None  # which token each key is, where a cache of transformers was followed (_followed.Held)


class Checks:
    """The answers of check() for each mask; true if all are, and if each mask was read whole."""

    def __init__(self, answers, unread):
        self._answers, self._unread = answers, unread

    def __iter__(self):
        return iter(self._answers)

    def __bool__(self):
        return not self._unread and bool(self._answers) and all(answer for _, answer in self._answers)

    def __str__(self):
        shown = [f"{_native.printable(mask.name)}:\n{answer}" for mask, answer in self._answers]
        return "\n".join(shown + [_native.printable(line) for line in self._unread])

    __repr__ = __str__


class Run(Seen):
    """What was noted: iterating gives each mask once, run["model.layers.0.self_attn"] is that of a
    layer, `calls` are the calls, equal ones once, `unread` has the reason for layers with a call whose
    mask was not read, `other` how often a softmax ran that is no attention, by its words, and `notes`
    what else is to be known."""

    def __init__(self):
        super().__init__()
        self._calls = {}
        self._placed = {}  # layer -> {(mask, what its keys are): both}, in the order in which they ran last
        self.other = {}
        self.notes = []

    @property
    def calls(self):
        return list(self._calls.values())

    def _note(self, call):
        """Adds a call; true if it is the first of its kind."""
        if call.unread:
            self.unread[call.layer] = call.unread
        key = (call.layer, call.function, call.lengths, call.dtype, str(call.given), id(call.mask), call.unread)
        known = self._calls.setdefault(key, call)
        if known is call:
            return True
        known.times += 1
        return False

    def _place(self, call):
        """Notes which tokens the keys of a mask are."""
        held = None if call.held is None or call.held.is_plain else call.held
        placed = self._placed.setdefault(call.layer, {})
        key = id(call.mask), held
        placed.pop(key, None)
        placed[key] = call.mask, held

    def _captured(self):
        """(name, masks by the positions of tokens, why one was not read) of each layer."""
        out = []
        for layer in dict.fromkeys([*self._of_layer, *self.unread]):
            masks, why = self._of_layer.get(layer, []), self.unread.get(layer, "")
            if layer in self._placed:
                from maskctl._followed import by_positions

                found = [by_positions(*one) for one in self._placed[layer].values()]
                masks, why = [mask for mask, _ in found], why or next((reason for _, reason in found if reason), "")
            out.append((layer, [mask._result_source() for mask in masks], why))
        return out

    def table(self):
        """A line for each kind of call: layers, module, function, lengths, what was given, how the mask
        is known, and the mask in words."""
        rows = {}
        for call in self.calls:
            given = ", ".join(f"{key}={value}" for key, value in call.given.items())
            key = (call.module, call.function, "x".join(map(str, call.lengths)), call.dtype, given or "-",
                   call.known or "-", id(call.mask), call.unread, call.times, call.applied, call.obeys)
            rows.setdefault(key, (call, []))[1].append(call.layer)
        words = {id(mask): pattern(mask) for mask in self}
        lines = [("layers", "module", "function", "B x H x Q x K", "dtype", "calls", "given", "known", "mask")]
        for (module, function, lengths, dtype, given, known, mask, unread, times, applied, obeys), (_, layers) in rows.items():
            shown = words.get(mask)
            if obeys and not unread:
                shown, applied = f"applied: {shown} ({applied})", ""
            said = ", ".join(filter(None, (shown, f"not read: {unread}" if unread else "", f"applied: {applied}" if applied else "")))
            lines.append((joined(layers), module, function, lengths, dtype, str(times), given, known, said))
        lines = [tuple(map(_native.printable, line)) for line in lines]
        widths = [max(map(len, column)) for column in zip(*lines)]
        table = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "\n".join(table + [_native.printable(f"note: {note}") for note in self._all_notes()])

    def _all_notes(self):
        count = sum(self.other.values())
        kinds = f"of {len(self.other)} kinds, " if len(self.other) > 1 else ""
        also = [f"{count} softmaxes {kinds}no attention: run.other"] if count else []
        return self.notes + also

    def check(self, **options):
        """Mask.check(**options) of each mask once; prints with the layers, and is false where one is,
        or where a mask was not read whole, or another was applied."""
        unread = [f"{call.layer}: not read: {call.unread}" for call in self.calls if call.unread]
        unread += [f"{call.layer}: applied: {call.applied}" for call in self.calls if call.obeys is False]
        return Checks([(mask, mask.check(**options)) for mask in self], unread)

    def diff(self, other):
        """Whether each layer has the same mask in another run, or in the file of one, by positions: the answer of
        `maskctl diff A B`."""
        captured = other._captured() if isinstance(other, Run) else text_of("diff", os.fspath(other))
        return Answer(*_native.diff_runs(self._captured(), captured))

    def save(self, path, *, force=False):
        """Writes the masks to a container, .npz, .safetensors or .h5, by the positions of their tokens: each under the
        name of its layer, further ones as NAME#2 and so on. `maskctl show run.npz:NAME` reads one, `maskctl diff A B`
        compares two runs."""
        if not self._of_layer:
            raise Error(f"{os.fspath(path)}: nothing was noted")
        _native.save_run(text_of("save", os.fspath(path)), self._captured(), force)

    def __str__(self):
        return self.table()

    __repr__ = __str__
