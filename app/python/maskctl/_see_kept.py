"""What modules of torch keep from one run to the next: buffers, and attributes that a run sets."""

import contextlib

import torch

_PLAIN = (type(None), bool, int, float, torch.Tensor, list, dict)
_OF_TORCH = set(vars(torch.nn.Module()))


class Kept:
    """The buffers and plain attributes of modules as they are now. `names`: those that were seen to change."""

    def __init__(self, modules):
        self._held = [(name, module, {key: (one, _copy(one)) for key, one in _values(module).items()}) for name, module in modules]
        self.names = []
        self._restores = False  # not only what is in training

    @contextlib.contextmanager
    def undone(self):
        """What a run in training mode writes into buffers, as the statistics of batch norm, is undone after it; and all
        that it changes where outputs were seen to depend on it."""
        try:
            yield
        finally:
            self._restore()

    def changed(self):
        """Whether something has changed since this was made."""
        for name, module, was in self._held:
            now = _values(module)
            self.names += [(name, type(module).__name__, key) for key in {**was, **now} if _differs(was.get(key), now.get(key))]
        return bool(self.names)

    def undo(self):
        """Undoes it, now and after each run."""
        self._restores = True
        self._restore()

    def _restore(self):
        for _, module, was in self._held:
            if not self._restores and not module.training:
                continue
            now = _values(module) if self._restores else module._buffers
            for key in [key for key in now if key not in was]:
                delattr(module, key)
            for key, (one, copy) in was.items():
                if key in now and _differs((one, copy), now[key]):
                    if isinstance(one, torch.Tensor):
                        one.data.copy_(copy)  # unseen by gradients, which may be taken yet
                    elif isinstance(one, list):
                        one[:] = copy
                    elif isinstance(one, dict):
                        one.clear()
                        one.update(copy)
                    (module._buffers if key in module._buffers else vars(module))[key] = one

    def __str__(self):
        first = ", ".join(f"`{key}` of {name or 'the model'} ({kind})" for name, kind, key in self.names[:3])
        return first + (f" and {len(self.names) - 3} more" if len(self.names) > 3 else "")


def _values(module):
    return {**{key: one for key, one in vars(module).items() if isinstance(one, _PLAIN) and key not in _OF_TORCH}, **module._buffers}


def _copy(one):
    return one.detach().clone() if isinstance(one, torch.Tensor) else one.copy() if isinstance(one, (list, dict)) else one


def _differs(was, now):
    """Whether a value (it, a copy of what it held) is another now, or holds something else."""
    if was is None:
        return True
    one, copy = was
    if one is not now:
        return isinstance(one, torch.Tensor) or isinstance(now, torch.Tensor) or type(one) is not type(now) or one != now
    if isinstance(one, torch.Tensor):
        return one.shape != copy.shape or bool(((one != copy) & ((one == one) | (copy == copy))).any())
    return isinstance(one, (list, dict)) and (len(one) != len(copy) or any(a is not b for a, b in zip(_members(one), _members(copy))))


def _members(one):
    return one.values() if isinstance(one, dict) else one
