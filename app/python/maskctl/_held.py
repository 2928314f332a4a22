"""Functions that are held in tuples, lists, dicts, partial objects, plain objects, and by functions: in defaults and
closures."""

import functools
import sys
from collections import OrderedDict, defaultdict
from types import FunctionType, SimpleNamespace

_DEEP = 4
_LONG = 256  # longer containers are data, not functions to choose from


class Held:
    """Exchanges functions where they are held. watched: by the id of each, the function and what takes its place;
    of_compiled gives what takes the place of one that torch.compile made, or None; `undo` takes what puts each back."""

    def __init__(self, watched, undo, of_compiled):
        self._watched = watched
        self._of_compiled = of_compiled
        self._undo = undo
        # Visited objects by id, so that cycles end; storing the object keeps its id from being reused. The replacements
        # are in it too, because each contains the function that it replaces.
        self._seen = {id(instead): instead for _, instead in watched.values()}

    def exchange(self, value, depth=_DEEP):
        """What takes the place of a value: itself, with functions exchanged inside, or another tuple."""
        if id(value) in self._watched:
            return self._watched[id(value)][1]
        kind = type(value)
        if kind is FunctionType and "_torchdynamo_orig_callable" in vars(value) and id(value) not in self._seen:
            watched = self._of_compiled(value)
            if watched is not None:
                self._watched[id(value)] = (value, watched)
                self._seen[id(watched)] = watched
                return watched
        look = _LOOKS.get(kind) or _look_of(kind)
        if look is None or not depth or id(value) in self._seen:
            return value
        self._seen[id(value)] = value
        return look(self, value, depth - 1)

    def items(self, names, but=()):
        """Exchanges what is held by the values of a dict, but for some keys."""
        for key, one in list(names.items()):
            if key not in but and key[:2] != "__":
                self._put(names, key, one, self.exchange(one))

    def _put(self, holder, key, old, new):
        if new is not old:
            holder[key] = new
            self._undo((functools.partial(_put_back, holder, new), key, old))

    def _dict(self, value, depth):
        for key, one in list(value.items()) if len(value) <= _LONG else ():
            self._put(value, key, one, self.exchange(one, depth))
        return value

    def _list(self, value, depth):
        for at, one in list(enumerate(value)) if len(value) <= _LONG else ():
            self._put(value, at, one, self.exchange(one, depth))
        return value

    def _tuple(self, value, depth):
        members = [self.exchange(one, depth) for one in value] if len(value) <= _LONG else value
        if all(one is other for one, other in zip(members, value)):
            return value
        return tuple(members) if type(value) is tuple else type(value)._make(members)

    def _partial(self, value, depth):
        state = value.func, value.args, value.keywords, vars(value)
        self._dict(value.keywords, depth)
        function, arguments = self.exchange(value.func, depth), self.exchange(value.args, depth)
        if function is not value.func or arguments is not value.args:
            value.__setstate__((function, arguments, *state[2:]))
            self._undo((lambda _, old: value.__setstate__(old), None, state))
        return value

    def _method(self, value, depth):
        for name in ("func", "args", "keywords"):
            self._put(vars(value), name, vars(value)[name], self.exchange(vars(value)[name], depth))
        return value

    def _function(self, value, depth):
        if str(value.__module__).partition(".")[0] == "torch":
            return value
        defaults = value.__defaults__ and self.exchange(value.__defaults__, depth)
        if defaults is not value.__defaults__:
            self._undo((functools.partial(setattr, value), "__defaults__", value.__defaults__))
            value.__defaults__ = defaults
        if value.__kwdefaults__:
            self._dict(value.__kwdefaults__, depth)
        for cell in value.__closure__ or ():
            self._cell(cell, depth)
        return value

    def _cell(self, cell, depth):
        try:
            old = cell.cell_contents
        except ValueError:  # it holds nothing yet
            return
        new = self.exchange(old, depth)
        if new is not old:
            cell.cell_contents = new
            self._undo((functools.partial(setattr, cell), "cell_contents", old))

    def _object(self, value, depth):
        self._dict(vars(value), depth)
        return value


@functools.lru_cache(None)
def _look_of(kind):
    """How to look into objects of a class; None where that holds no functions of ours."""
    if issubclass(kind, tuple):
        return Held._tuple if hasattr(kind, "_make") else None
    package = str(kind.__module__).partition(".")[0]
    is_users = package not in sys.stdlib_module_names and package not in ("torch", "numpy", "sympy", "transformers", "maskctl")
    return Held._object if kind is SimpleNamespace or (is_users and kind.__dictoffset__ and not issubclass(kind, type)) else None


_LOOKS = {dict: Held._dict, OrderedDict: Held._dict, defaultdict: Held._dict, list: Held._list, tuple: Held._tuple,
          functools.partial: Held._partial, functools.partialmethod: Held._method, FunctionType: Held._function}


def _put_back(holder, new, key, old):
    """Puts a value back, where the other one still is."""
    if isinstance(holder, list):
        for at in [at for at, one in enumerate(holder) if one is new]:
            holder[at] = old
    elif holder.get(key) is new:
        holder[key] = old
