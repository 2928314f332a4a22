"""Names that are bound to functions: exchanged while something watches, and put back by identity."""

import functools
import inspect
import sys
from types import FunctionType

import torch
from torch.jit._builtins import _get_builtin_table

from maskctl._held import Held

_OF_EVERY_MODULE = frozenset(vars(torch.nn.Module()))  # attributes that hold parts, and hooks


class Bindings:
    """Exchanges functions under every name of modules, of a model's classes and modules, and of dicts."""

    def __init__(self):
        self._watched = {}  # id of a function -> (the function, what takes its place)
        self._undo = []  # calls that put a name back, in order
        self._builtins = None  # by id, the builtins that TorchScript compiles calls to

    def exchange(self, function, watched):
        """Puts `watched` in the place of a function, from the next look() on; once for each function."""
        if self.knows(function):
            return
        self._watched[id(function)] = (function, watched)
        if self._builtins is None:
            self._builtins = _get_builtin_table()
        if id(function) in self._builtins:  # scripts that are compiled meanwhile call the builtin
            self._builtins[id(watched)] = self._builtins[id(function)]
            self._undo.append((self._builtins.pop, id(watched), None))

    def knows(self, function):
        return id(function) in self._watched

    def look(self, model, dicts, of_compiled):
        """Looks through what is loaded, the model, what its functions name, and further dicts, for names of
        these functions, and of those that of_compiled() gives something for."""
        modules = {id(vars(module)): vars(module) for name, module in list(sys.modules.items())
                   if _may_bind(name) and hasattr(module, "__dict__")}
        own = [vars(module) for module in model.modules()]
        classes = {owner for module in model.modules() for owner in type(module).__mro__
                   if str(owner.__module__).partition(".")[0] not in ("torch", "builtins")}
        functions = {id(one): one for names in (*own, *map(vars, classes)) for one in names.values()
                     if isinstance(one, FunctionType) and not str(one.__module__).startswith("torch.")}.values()
        modules.update((id(one.__globals__), one.__globals__) for one in functions)  # of code that is no module
        for names in [*modules.values(), *own, *dicts]:
            if self._watched.keys().isdisjoint(map(id, names.values())):  # usually; faster than the loop
                continue
            for key in [key for key, at in zip(names, map(id, names.values())) if at in self._watched]:
                self._replace(names.__setitem__, key, names[key], self._watched[id(names[key])][1])
        held = Held(self._watched, self._undo.append, of_compiled)
        for names in own:
            held.items(names, _OF_EVERY_MODULE)
        for names in {id(names): names for names in [*_names_of_users(), *_names_of_compiled(), *(one.__globals__ for one in functions)]}.values():
            held.items(names)
        for one in functions:
            held.exchange(one)
        for owner in classes:
            self._look_at_class(owner, held)

    def _replace(self, put, key, old, new):
        self._undo.append((put, key, old))
        put(key, new)

    def _look_at_class(self, owner, held):
        for key, bound in list(vars(owner).items()):
            function = bound.__func__ if isinstance(bound, staticmethod) else bound
            watched = held.exchange(function)
            if watched is not function:
                is_static = inspect.isfunction(watched) and not inspect.isfunction(bound)
                self.attribute(owner, key, staticmethod(watched) if is_static else watched)

    def attribute(self, owner, name, value):
        """Sets an attribute of a class, which may inherit it."""
        if name in vars(owner):
            self._undo.append((lambda key, old: setattr(owner, key, old), name, vars(owner)[name]))
        else:
            self._undo.append((lambda key, _: delattr(owner, key), name, None))
        setattr(owner, name, value)

    def restore(self):
        while self._undo:
            put, key, value = self._undo.pop()
            put(key, value)
        self._watched.clear()


@functools.lru_cache(None)
def _may_bind(module):
    """Whether it may have one of them under a name: a look at all 100,000 names takes long."""
    package = module.partition(".")[0]
    if package == "torch":
        return module in ("torch", "torch._C._nn", "torch.functional") or module.startswith("torch.nn.")
    return package not in sys.stdlib_module_names and package not in ("numpy", "sympy", "maskctl")


def _names_of_users():
    """The names of loaded modules that no package manager installed."""
    for name, module in list(sys.modules.items()):
        names = getattr(module, "__dict__", {})
        if name.partition(".")[0] not in sys.stdlib_module_names and _is_of_user(names.get("__file__") or ""):
            yield names


@functools.lru_cache(None)
def _is_of_user(file):
    return not any(place in file for place in ("site-packages", "dist-packages", "/maskctl/_"))


def _names_of_compiled():
    """The names of other modules that are bound to what torch.compile made."""
    for name, module in list(sys.modules.items()) if "torch._dynamo" in sys.modules else ():
        if _may_bind(name) and not name.startswith(("torch", "transformers.")):
            names = getattr(module, "__dict__", {})
            if any(type(one) is FunctionType and "_torchdynamo_orig_callable" in vars(one) for one in names.values()):
                yield names
