"""What the attention functions of a running model of torch are given."""

import dataclasses
import functools
import inspect
import os
import sys
import threading
from collections import deque

import torch
from torch.nn import functional
from torch.nn.attention.flex_attention import flex_attention

from maskctl import _attention_calls as calls
from maskctl import _native
from maskctl._answer import run as run_command
from maskctl._mask import Mask
from maskctl._native import Error
from maskctl._seen import Seen, joined, pattern

_KEPT = 8  # recent masks cached with their tensors, so that equal ones are not read again


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
    unread: str  # why there is no mask; empty if there is one
    times: int = 1


class Checks:
    """The answers of check() for each mask; false if one of them is, or if a mask was not read."""

    def __init__(self, answers, unread):
        self._answers, self._unread = answers, unread

    def __iter__(self):
        return iter(self._answers)

    def __bool__(self):
        return not self._unread and all(answer for _, answer in self._answers)

    def __str__(self):
        shown = [f"{_native.printable(mask.name)}:\n{answer}" for mask, answer in self._answers]
        return "\n".join(shown + [_native.printable(line) for line in self._unread])

    __repr__ = __str__


class Run(Seen):
    """What was noted: iterating gives each mask once, run["model.layers.0.self_attn"] is that of a
    layer, and `calls` are the calls, equal ones once."""

    def __init__(self):
        super().__init__()
        self._calls = {}

    @property
    def calls(self):
        return list(self._calls.values())

    def _note(self, call):
        key = (call.layer, call.function, call.lengths, call.dtype, str(call.given), id(call.mask), call.unread)
        known = self._calls.setdefault(key, call)
        if known is not call:
            known.times += 1

    def table(self):
        """A line for each kind of call: layers, module, function, lengths, what was given, and the
        mask in words."""
        rows = {}
        for call in self.calls:
            given = ", ".join(f"{key}={value}" for key, value in call.given.items())
            key = (call.module, call.function, "x".join(map(str, call.lengths)), call.dtype, given, id(call.mask),
                   call.unread, call.times)
            rows.setdefault(key, (call, []))[1].append(call.layer)
        words = {id(mask): pattern(mask) for mask in self}
        lines = [("layers", "module", "function", "B x H x Q x K", "dtype", "calls", "given", "mask")]
        for (module, function, lengths, dtype, given, mask, unread, times), (_, layers) in rows.items():
            lines.append((joined(layers), module, function, lengths, dtype, str(times), given or "-",
                          words.get(mask) or f"not read: {unread}"))
        lines = [tuple(map(_native.printable, line)) for line in lines]
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)

    def check(self, **options):
        """Mask.check(**options) of each mask once; prints with the layers, and is false where one is."""
        unread = [f"{call.layer}: not read: {call.unread}" for call in self.calls if call.mask is None]
        return Checks([(mask, mask.check(**options)) for mask in self], unread)

    def save(self, path, *, force=False):
        """Writes the masks to a container, .npz, .safetensors or .h5, each under the name of its
        layer; further masks of a layer are NAME#2 and so on. `maskctl show run.npz:NAME` reads one."""
        path = os.fspath(path)
        if not self._of_layer:
            raise Error(f"{path}: nothing was noted")
        if os.path.exists(path) and not force:
            raise Error(f"{path} exists; give force=True to replace it")
        folder, name = os.path.split(path)
        made = os.path.join(folder, f"new-{os.getpid()}-{name}")
        try:
            for layer, masks in self._of_layer.items():
                for number, mask in enumerate(masks, 1):
                    key = layer if number == 1 else f"{layer}#{number}"
                    run_command("convert", mask, to="runs", output=f"{made}:{key}", append=True)
            os.replace(made, path)
        finally:
            if os.path.exists(made):
                os.remove(made)

    def __str__(self):
        return self.table()

    __repr__ = __str__


class _Masks:
    """Masks of calls: what was read is not read again while its tensors are unchanged."""

    def __init__(self):
        self._of_steps = {}
        self._read = deque(maxlen=_KEPT)  # (key, traits of tensors, tensors, mask)

    def of(self, asked):
        if not asked.tensors:
            if asked.key not in self._of_steps:
                self._of_steps[asked.key] = asked.make()
            return self._of_steps[asked.key]
        traits = [_traits(tensor) for tensor in asked.tensors]
        if None not in traits:
            for key, known, tensors, mask in self._read:
                if key == asked.key and known == traits and known == [_traits(tensor) for tensor in tensors]:
                    return mask
        mask = asked.make()
        if None not in traits:
            self._read.append((asked.key, traits, asked.tensors, mask))
        return mask


def _traits(tensor):
    """What changes when the elements do; None where torch does not count changes."""
    if tensor.is_inference() or hasattr(tensor, "fake_mode") or not tensor.untyped_storage().nbytes():
        return None
    return tensor.data_ptr(), tensor._version, tensor.shape, tensor.stride(), tensor.dtype, tensor.device


_OF_TORCH = [
    (functional, "scaled_dot_product_attention", calls.sdpa),
    (torch, "_native_multi_head_attention", calls.native_multi_head),
    (torch, "_transformer_encoder_layer_fwd", calls.native_encoder_layer),
]
_FLASH = ("flash_attn_func", "flash_attn_qkvpacked_func", "flash_attn_kvpacked_func", "flash_attn_varlen_func",
          "flash_attn_varlen_qkvpacked_func", "flash_attn_varlen_kvpacked_func", "flash_attn_with_kvcache")
_FLASH_MODULES = ("flash_attn", "flash_attn_interface", "flash_attn.cute", "flash_attn_3")


def _functions(model):
    """(function, name, reader, whether its inner calls say more) of what is loaded."""
    found = [(getattr(home, name), name, reader, False) for home, name, reader in _OF_TORCH if hasattr(home, name)]
    found.append((functional.multi_head_attention_forward, "multi_head_attention_forward", calls.multi_head, True))
    found.append((flex_attention, "flex_attention", functools.partial(calls.flex_attention, flex_attention), False))
    for module in _FLASH_MODULES:
        for name in _FLASH:
            function = getattr(sys.modules.get(module), name, None)
            if function is not None:
                reader = functools.partial(calls.flash, function, f"{module}.{name}")
                found.append((function, name, reader, False))
    for name, function in _registry().items():
        if name == "sdpa":  # skipped: the function that it calls has more details
            continue
        flash = "flash" in name
        reader = calls.transformers_flash if flash else calls.transformers
        found.append((function, function.__name__, reader, flash))
    for module in {type(module).__module__ for module in model.modules()}:
        eager = getattr(sys.modules.get(module), "eager_attention_forward", None)
        if eager is not None:
            found.append((eager, "eager_attention_forward", calls.transformers, False))
    return found


def _may_bind(module):
    """Whether it may have one of them under a name: a look at all 100,000 names takes long."""
    package = module.partition(".")[0]
    if package == "torch":
        return module in ("torch", "torch._C._nn") or module.startswith("torch.nn.")
    return package not in sys.stdlib_module_names and package not in ("numpy", "sympy")


def _mappings():
    """Where transformers keeps attention functions by name."""
    home = sys.modules.get("transformers.modeling_utils")
    all_functions = getattr(home, "ALL_ATTENTION_FUNCTIONS", None)
    return [found for found in (getattr(all_functions, key, None) for key in ("_global_mapping", "_local_mapping"))
            if isinstance(found, dict)]


def _registry():
    return {name: function for mapping in _mappings() for name, function in mapping.items()
            if inspect.isfunction(function)}


def _named(function, arguments, keywords):
    """The arguments by name, as the function itself would take them; None if it would not."""
    try:
        bound = _signature(function).bind(*arguments, **keywords)
    except TypeError:
        return None
    bound.apply_defaults()
    named = dict(bound.arguments)
    for parameter in bound.signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            named.update(named.pop(parameter.name, {}))
    return named


_signature = functools.lru_cache(inspect.signature)
_one_at_a_time = threading.Lock()


class capture:
    """Notes every call of scaled_dot_product_attention, flex_attention, flash_attn, of torch's fused
    attention and of the attention functions of transformers while a model runs:

        with maskctl.capture(model) as run:
            model(**batch)
        print(run.table())                  # layers, module, lengths, flags, mask in words
        run.check(); run.save("run.npz")

    Masks are those that the functions are given, read before the call; maskctl.watch has what layers
    do to their scores by themselves. Functions are exchanged inside the `with` only, one capture at a
    time; outputs do not change. What torch.compile has compiled is not seen.
    """

    def __init__(self, model):
        if not hasattr(model, "named_modules"):
            raise Error(f"capture: a {type(model).__name__} is no torch.nn.Module")
        self._model = model

    def __enter__(self):
        if not _one_at_a_time.acquire(blocking=False):
            raise Error("capture: another capture runs in this process; end it first")
        self._run, self._masks, self._thread, self._undo = Run(), _Masks(), threading.local(), []
        self._lock = threading.Lock()
        try:
            self._names = {id(module): (name, module) for name, module in self._model.named_modules()}
            self._exchange()
        except BaseException:
            self._restore()
            raise
        return self._run

    def __exit__(self, kind, *_):
        self._restore()
        if kind is None and not self._run.calls:
            raise Error("capture: no attention function that is known was called inside; call the model inside, not "
                        "compiled; maskctl.watch reads softmax in layers that call none")

    def _exchange(self):
        wrapped = {}
        for function, name, reader, inner in _functions(self._model):
            if id(function) not in wrapped:
                wrapped[id(function)] = (function, self._noted(function, name, reader, inner))
        modules = [vars(module) for name, module in list(sys.modules.items())
                   if _may_bind(name) and hasattr(module, "__dict__")]
        own = [vars(module) for module in self._model.modules()]
        for names in [*modules, *own, *_mappings()]:
            if wrapped.keys().isdisjoint(map(id, names.values())):  # usually; faster than the loop
                continue
            for key in [key for key, at in zip(names, map(id, names.values())) if at in wrapped]:
                function, noted = wrapped[id(names[key])]
                self._undo.append((names, key, function))
                names[key] = noted
        self._call_impl = torch.nn.Module._call_impl
        torch.nn.Module._call_impl = self._within()

    def _restore(self):
        if hasattr(self, "_call_impl"):
            torch.nn.Module._call_impl = self._call_impl
            del self._call_impl
        for names, key, value in reversed(self._undo):
            names[key] = value
        self._undo.clear()
        _one_at_a_time.release()

    def _within(self):
        """Module._call_impl that knows in which module of the model it is."""
        call, names, thread = self._call_impl, self._names, self._thread

        def _call_impl(module, *arguments, **keywords):
            name = names.get(id(module))
            if name is None:
                return call(module, *arguments, **keywords)
            outer, thread.at = getattr(thread, "at", ("", None)), name
            try:
                return call(module, *arguments, **keywords)
            finally:
                thread.at = outer

        return _call_impl

    def _noted(self, function, name, reader, inner):
        thread = self._thread

        @functools.wraps(function)
        def noted(*arguments, **keywords):
            if getattr(thread, "inside", False) or torch.compiler.is_compiling():
                return function(*arguments, **keywords)
            if inner:
                before = getattr(thread, "noted", 0)
                out = function(*arguments, **keywords)
                if getattr(thread, "noted", 0) == before:
                    self._note(function, name, reader, arguments, keywords)
                return out
            self._note(function, name, reader, arguments, keywords)
            thread.inside = True
            try:
                return function(*arguments, **keywords)
            finally:
                thread.inside = False

        return noted

    def _note(self, function, name, reader, arguments, keywords):
        if inspect.isfunction(function):
            keywords, arguments = _named(function, arguments, keywords), ()
            if keywords is None:
                return  # wrong arguments: the call itself will raise
        self._thread.noted = getattr(self._thread, "noted", 0) + 1
        layer, module = getattr(self._thread, "at", ("", None))
        layer = layer or name
        asked, mask, unread = None, None, ""
        with torch.no_grad(), self._lock:
            try:
                asked = reader(*arguments, **keywords)
                mask = self._run._add(layer, self._masks.of(asked))
            # torch raises RuntimeError for a mask that does not fit, and so will the call
            except (Error, RuntimeError) as error:
                unread = str(error).splitlines()[0]
            lengths, dtype, given = (asked.lengths, asked.dtype, asked.given) if asked else ((), "-", {})
            self._run._note(Call(layer, type(module).__name__ if module is not None else "-", name, tuple(lengths),
                                 dtype, given, mask, unread))
