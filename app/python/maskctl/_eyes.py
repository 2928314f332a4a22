"""One pair of eyes for all that watch a running model, in every thread: which module runs, which
functions of attention it calls, and what softmax it takes of products of queries and keys.

Calls are a tree: a function that is seen may call others that are. A call is read before it runs, and
when the outermost one has ended each observer keeps, of a call that was seen at several levels, one.
Functions are exchanged when the first observer begins, and all are as before when the last has ended.
"""

import contextlib
import functools
import sys
import threading

import torch
from torch.utils._python_dispatch import _disable_current_modes

from maskctl import _attention_calls as calls
from maskctl import _functions, _proof, _scores, _traced, _unseen
from maskctl._bindings import Bindings
from maskctl._mask import Mask
from maskctl._noted import Masks, Noted

class Frame:
    """A module that runs."""

    __slots__ = ("module", "arguments", "products", "traced", "bare", "before", "other", "held")

    def __init__(self, module, arguments, before):
        self.module = module
        self.arguments = arguments
        self.products = []  # of queries and keys, which no softmax has taken yet
        self.traced = []  # such products, and what has been made of them
        self.bare = ""  # the shape of such a product that values were weighed with, without a softmax
        self.before = before  # calls of attention that the thread had seen
        self.other = ""  # the last softmax inside that was no attention, in words
        self.held = None  # which tokens the slots of a cache hold that the module asked last


class _Thread(threading.local):
    def __init__(self):
        self.frames = [Frame(None, (), 0)]  # outermost first; the first is for code outside of modules
        self.calls = []  # that run, outermost first
        self.seen = 0
        self.blind = False  # what runs now is ours, or inside of a call that says all


_thread = _Thread()
_lock = threading.RLock()
_observers = []
_bindings = Bindings()
_masks = Masks()
_stance = []  # what ends the time in which compiled code runs as written


def begin(observer, model):
    with _lock:
        try:
            _exchange(model)
        except BaseException:
            if not _observers:
                _end()
            raise
        _thread.frames[0].products.clear()
        _observers.append(observer)


def end(observer):
    with _lock:
        _observers.remove(observer)
        if not _observers:
            _end()


def _end():
    global _masks
    _bindings.restore()
    while _stance:
        _stance.pop().__exit__(None, None, None)
    _masks = Masks()


def _exchange(model):
    if not _observers:
        _bindings.attribute(torch.nn.Module, "__call__", _within(torch.nn.Module.__call__))
        for owner, name, watched in _functions.methods():
            _bindings.attribute(owner, name, _WATCHED[watched](getattr(owner, name)))
        _run_as_written()
    for function, watched in _functions.others():
        _bindings.exchange(function, _WATCHED[watched](function))
    for row in _functions.of_attention(model):
        if not _bindings.knows(row.function):
            _bindings.exchange(row.function, _attention(row))
    _bindings.look(model, _functions.mappings(), _of_compiled)


def _of_compiled(function):
    """What takes the place of a function that torch.compile made of one of attention; None for others."""
    row = _functions.of_compiled(function)
    return None if row is None else _attention(row)


def _run_as_written():
    """Lets compiled code run as it is written, once there may be some."""
    if "torch._dynamo" in sys.modules and not _stance:
        _stance.append(torch.compiler.set_stance("force_eager"))


def _compile(function):
    """torch.compile, which brings the first compiled code."""

    @functools.wraps(function)
    def watched(*arguments, **keywords):
        out = function(*arguments, **keywords)
        if not torch.compiler.is_compiling():
            with _lock:
                if _observers:
                    _run_as_written()
        return out

    return watched


def _seeing():
    return not torch.compiler.is_compiling() and not _thread.blind and bool(_observers)


def _within(call):
    """Module.__call__, which knows what runs."""

    @functools.wraps(call)
    def __call__(module, *arguments, **keywords):
        if not _seeing():
            return call(module, *arguments, **keywords)
        frames = _thread.frames
        frame = Frame(module, (*arguments, *keywords.values()), _thread.seen)
        frames.append(frame)
        try:
            out = call(module, *arguments, **keywords)
        finally:
            frames.pop()
        _guarded(_leave, frame)
        return out

    return __call__


def _leave(frame):
    outer = _thread.frames[-1]
    if frame.products and _thread.seen == frame.before and outer.module is not None and not _scores.has_parameters(frame.module):
        outer.products += frame.products  # a product that is written as a module
    reason = _unseen.reason(frame, _thread.seen)
    if reason:
        _note_unread("forward", reason, frame.module)


def _note_unread(function, reason, *inside):
    _thread.seen += 1
    _finish(Noted(function, [*_modules(), *inside], unread=reason))


def _guarded(note, *about):
    """Notes something. Whatever goes wrong is the reason of a row: the model runs without us."""
    try:
        with torch._C.DisableTorchFunction():
            note(*about)
    except Exception as error:
        _note_unread("softmax", _first_line(error))


def _first_line(error):
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def held(queries, keys):
    """What a cache gave back to a module that runs, for as many queries and keys; None where none did."""
    found = next((frame.held for frame in reversed(_thread.frames) if frame.held is not None), None)
    return found if found is not None and (found.queries, found.slots) == (queries, keys) else None


def _modules():
    return [frame.module for frame in _thread.frames[1:]]


@contextlib.contextmanager
def _quietly():
    """What runs inside is ours: neither seen, nor part of a graph, nor changed by the user's modes."""
    before, _thread.blind = _thread.blind, True
    try:
        with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad(), _lock:
            yield
    finally:
        _thread.blind = before


def _ask(noted, ask):
    asked = ask()
    noted.lengths, noted.dtype, noted.given = tuple(asked.lengths), asked.dtype, dict(asked.given)
    noted.settled &= asked.settled
    read = _masks.of(asked)
    if read is None:
        return _ask(noted, asked.otherwise)
    noted.known = asked.known
    return read


def _read(noted, ask):
    """Reads a call. Whatever goes wrong is the reason of its row: the model runs without us."""
    try:
        with _quietly():
            read = _ask(noted, ask)
            noted.mask, noted.unknown = read.mask, read.unknown
            noted.given.update(read.found)
    except Exception as error:
        noted.unread = _first_line(error)
    if noted.unknown:
        noted.unread = f"{noted.unknown} cells cannot be told"


def _take_samples(noted, arrays):
    rows = max((observer.prove for observer in _observers), default=0)
    if not rows:
        return
    try:
        with _quietly():
            noted.samples = _proof.samples(noted.mask, arrays(), rows)
    except Exception as error:  # as _read()
        noted.samples = _first_line(error)


def _finish(noted):
    if _thread.calls:
        outer = _thread.calls[-1]
        if noted.mask is not None and outer.lengths:
            _unfold(noted, outer.lengths)
        outer.inner.append(noted)
        return
    try:
        with torch._C.DisableTorchFunction():
            _deliver(noted)
    except Exception as error:  # as _read()
        _deliver(Noted(noted.function, noted.modules, unread=_first_line(error)))


def _deliver(noted):
    """Gives each observer its rows."""
    with _lock:
        for observer in _observers:
            for row in noted.rows(observer.innermost):
                tokens = _scores.tokens_of_rows(_thread.frames[-1], row.lengths)
                if tokens:
                    row.given["rows"] = f"{row.lengths[2]} for {tokens} tokens of the layer"
                observer.note(row)


def _unfold(noted, lengths):
    """Gives rows that are query heads of one key head, as transformers packs them at decode, back to
    their heads."""
    batch, heads, queries, keys = lengths
    size = noted.lengths
    if queries != 1 or size[2] == 1 or size[1] * size[2] != heads or (size[0], size[3]) != (batch, keys):
        return
    try:
        with _quietly():
            cells = torch.from_dlpack(noted.mask).bool().reshape(noted.mask.shape)
            same = cells.shape[1] == 1 and bool((cells == cells[:, :, :1]).all())
            cells = cells[:, :, :1] if same else cells.expand(-1, size[1], -1, -1).reshape(len(cells), heads, 1, keys)
            noted.mask, noted.lengths = Mask(cells.contiguous(), "dense"), lengths
    except Exception as error:  # as _read()
        noted.mask, noted.known, noted.unread = None, "", f"its query heads are rows: {error}"


def _attention(row):
    """A function of attention that is seen."""
    function = row.function

    def call(arguments, keywords):
        if not row.compiles or not _stance:
            return function(*arguments, **keywords)
        with torch.compiler.set_stance("default"):
            return function(*arguments, **keywords)

    @functools.wraps(function)
    def watched(*arguments, **keywords):
        if not _seeing():
            return function(*arguments, **keywords)
        noted = Noted(row.name, _modules(), row.settled)
        _thread.seen += 1
        _read(noted, lambda: row.reader(*arguments, **keywords))
        _thread.calls.append(noted)
        _thread.blind = row.leaf
        try:
            out = call(arguments, keywords)
            if row.arrays is not None:
                _take_samples(noted, lambda: row.arrays(out, *arguments, **keywords))
            return out
        finally:
            _thread.blind = False
            _thread.calls.pop()
            _finish(noted)

    return watched


def _softmax(function):
    @functools.wraps(function)
    def watched(*arguments, **keywords):
        if _seeing():
            scores = arguments[0] if arguments else keywords.get("input", keywords.get("self"))
            dim = arguments[1] if len(arguments) > 1 else keywords.get("dim")
            if isinstance(scores, torch.Tensor):
                _guarded(_note_softmax, scores, dim)
        return function(*arguments, **keywords)

    return watched


def _note_softmax(scores, dim):
    if scores.is_nested or not scores.is_floating_point():
        _note_other("a softmax of a nested tensor" if scores.is_nested else "a softmax of whole numbers")
        return
    frame, product = _scores.take_product(_thread.frames, scores)
    shape = "x".join(map(str, scores.shape))
    if frame is None:
        if _scores.are_of_tokens(_thread.frames[-1], scores, dim):
            _note_unread("softmax", f"a softmax over {shape} is not of a product of queries and keys that was seen")
        else:
            _note_other(f"a softmax over {shape}")
        return
    _thread.seen += 1
    if not _wants_inner():
        return
    modules = [one.module for one in _thread.frames[1:_thread.frames.index(frame) + 1]]
    noted = Noted("softmax", modules)

    def of_numbers():
        return calls.softmax(frame, product, scores, dim)

    _read(noted, lambda: _traced.asked(frame, product, scores, dim, of_numbers) or of_numbers())
    frame.traced.clear()
    _finish(noted)


def _wants_inner():
    """Whether what a call of attention makes inside can be a row."""
    outer = _thread.calls[-1] if _thread.calls else None
    return outer is None or not (outer.settled and outer.whole) or any(observer.innermost for observer in _observers)


def _note_other(words):
    for frame in _thread.frames:
        frame.other = words
    with _lock:
        for observer in _observers:
            observer.note_other(words)


def _product(function, place=0):
    """A product whose operands are the arguments from `place` on."""

    @functools.wraps(function)
    def watched(*arguments, **keywords):
        out = function(*arguments, **keywords)
        if _seeing():
            given = (*arguments, *keywords.values())[place:place + 2]
            if len(given) == 2 and all(isinstance(one, torch.Tensor) for one in (*given, out)):
                _guarded(_note_product, *given, out)
        return out

    return watched


def _note_product(query, key, scores):
    frame = _thread.frames[-1]
    is_one = _scores.note_product(frame, query, key, scores)
    if is_one and frame.module is not None and _traced.is_worth_it(query, key, scores) and _wants_inner():
        with _quietly():
            _traced.begin(frame, query, key, scores)


def _step(function):
    """What may be done to scores before a softmax."""

    @functools.wraps(function)
    def watched(*arguments, **keywords):
        frame = _thread.frames[-1]
        if not frame.traced or not _seeing():
            return function(*arguments, **keywords)
        operands = (*arguments, *keywords.values())
        found = _traced.find(frame, operands)
        out = function(*arguments, **keywords)
        if found is not None:
            _guarded(_traced.step, frame, function.__name__, found, operands, out)
        return out

    return watched


def _einsum(function):
    @functools.wraps(function)
    def watched(*arguments, **keywords):
        out = function(*arguments, **keywords)
        if _seeing() and len(arguments) == 3 and isinstance(arguments[0], str) and _scores.are_scores(arguments[0]):
            _guarded(_scores.note_product, _thread.frames[-1], *arguments[1:], out)
        return out

    return watched


def _cat(function):
    @functools.wraps(function)
    def watched(*arguments, **keywords):
        if _seeing():
            parts = arguments[0] if arguments else keywords.get("tensors", ())
            dim = arguments[1] if len(arguments) > 1 else keywords.get("dim", 0)
            if isinstance(parts, (list, tuple)) and all(isinstance(part, torch.Tensor) for part in parts):
                _guarded(_scores.note_columns, _thread.frames[-1], list(parts), dim)
        return function(*arguments, **keywords)

    return watched


def _operator(call):
    """__call__ of the operators of torch.ops."""

    @functools.wraps(call)
    def watched(self, *arguments, **keywords):
        name = getattr(self, "_qualified_op_name", None) or str(getattr(self, "_name", ""))
        if not _unseen.is_attention_operator(name) or not _seeing():
            return call(self, *arguments, **keywords)
        noted = Noted(name, _modules())
        _thread.seen += 1
        _read(noted, lambda: calls.operator(self, name, arguments, keywords))
        try:
            return call(self, *arguments, **keywords)
        finally:
            _finish(noted)

    return watched


_WATCHED = {"softmax": _softmax, "compile": _compile, "product": _product, "sum_and_product": functools.partial(_product, place=1),
            "einsum": _einsum, "cat": _cat, "operator": _operator, "step": _step}
