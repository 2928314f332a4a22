"""Modules and functions of torch as subjects of see, and the modules that are their layers."""

import contextlib
import copy

import numpy as np
import torch

from maskctl._native import Error
from maskctl._see_kept import Kept
from maskctl._see_subjects import first_array, others, refuse_without_gradient

_TOKENS = ("input_ids", "inputs_embeds", "hidden_states", "x")


class Torch:
    """A module or function of torch on one batch: a tensor, or a dict of the arguments by name."""

    _other = None
    cached = False  # whether a module was seen to be given a cache
    seed = 0  # of what a pass draws
    cheap_runs, everywhere = 4, "everywhere=True"

    def __init__(self, model, batch, kept=None):
        self.model = model
        self.arguments = dict(batch) if hasattr(batch, "keys") else {"": batch}
        self.name = self._name_of_tokens()
        self.tokens = self.arguments[self.name]
        flat = 1 if self._are_ids() else 2
        if self.tokens.ndim == flat and self.name == "":
            self.arguments[""] = self.tokens = self.tokens[None]
        if self.tokens.ndim != flat + 1 or 0 in self.tokens.shape:
            raise Error(f"see: tokens of shape {tuple(self.tokens.shape)}, {self.tokens.dtype}; expected ids [B, T] or "
                        "numbers [B, T, E]")
        self.shape = tuple(self.tokens.shape[:2])
        self.notes, self.dtype = [], "float32"
        self.ways = ("differences", "cotangents", "tangents")
        self.kept = kept or Kept(model.named_modules() if isinstance(model, torch.nn.Module) else [])
        batch_size = self.shape[0]
        self.takes_copies = all(one.shape[:1] == (batch_size,) for one in self.arguments.values()
                                if isinstance(one, torch.Tensor))
        self._note_dropout()

    def _name_of_tokens(self):
        for name in [*_TOKENS, *self.arguments]:
            if isinstance(self.arguments.get(name), torch.Tensor) and self.arguments[name].ndim >= 1:
                return name
        raise Error(f"see: no tensor among {sorted(self.arguments)}; expected input_ids or inputs_embeds")

    def _are_ids(self):
        return not (self.tokens.is_floating_point() or self.tokens.is_complex())

    def _training(self):
        return [(name, one) for name, one in self.model.named_modules() if one.training] if isinstance(self.model, torch.nn.Module) else []

    def _note_dropout(self):
        trains = self._training()
        drops = [one for _, one in trains if type(one).__name__.startswith("Dropout") and getattr(one, "p", 0) > 0]
        if drops:
            self.notes.append("dropout is on: each pass draws the same, and what it dropped is not seen; call model.eval() first")
        elif trains:
            name, kind = trains[0][0], type(trains[0][1]).__name__
            which = "the model" if not name else f"{len(trains)} modules, the first {name} ({kind})," if len(trains) > 1 else f"{name} ({kind})"
            self.notes.append(f"{which} {'are' if name and len(trains) > 1 else 'is'} in training mode; dropout inside functions would not be noticed")

    def draws_differ(self, probe):
        """Whether outputs depend on random draws, which are others where copies run beside the batch."""
        if not self._training():
            return False
        self.seed = 1
        try:
            again = probe.outputs(None)
        finally:
            self.seed = 0
        differ = not np.array_equal(again, probe.plain, equal_nan=True)
        if differ:
            asked = "asked of those given only" if self.shape[0] > 1 else "not asked"
            self.notes.append("outputs depend on random draws, which copies of the batch beside it would change: whether entries "
                              f"share anything was {asked}; call model.eval() first")
        return differ

    def call(self, arguments):
        arguments = {key: _own(one) for key, one in arguments.items()}
        with _same_draws(self.seed), self.kept.undone():
            out = self.model(arguments[""]) if "" in arguments else self.model(**arguments)
        out = first_array(out)
        self.dtype = str(out.dtype).removeprefix("torch.")
        return out

    def outputs(self, changed):
        with torch.no_grad():
            return _array(self.call(self.arguments if changed is None else self._changed(changed)))

    def _others(self):
        if self._other is None:
            tokens = self.tokens.detach()
            sizes = [one.num_embeddings for one in _modules(self.model) if isinstance(one, torch.nn.Embedding)]
            self._other = torch.from_numpy(others(_array(tokens), min(sizes, default=1))).to(tokens)
        return self._other

    def has(self, word):
        """Whether a module or parameter has this word in its name or that of its class."""
        names = [type(one).__name__ for one in _modules(self.model)]
        names += [name for name, _ in self.model.named_parameters()] if names else []
        return any(word in name.lower() for name in names)

    @contextlib.contextmanager
    def _embedded(self, change):
        """Within, numbers [B, T, E] are what `change` makes of them: of the tokens, or where these are ids,
        of what the first nn.Embedding makes of them."""
        if not self._are_ids():
            yield {**self.arguments, self.name: change(self.tokens)}
            return
        done = []

        def hook(module, arguments, out):
            if done or not arguments or arguments[0].shape != self.tokens.shape:
                return out
            done.append(module)
            return change(out)

        hooks = [one.register_forward_hook(hook) for one in _modules(self.model) if isinstance(one, torch.nn.Embedding)]
        try:
            yield self.arguments
        finally:
            for one in hooks:
                one.remove()
        if not done:
            raise Error("see: no nn.Embedding takes the tokens, so nothing is differentiated; way=\"differences\" changes tokens")

    def cotangents(self, sets, draw):
        """For each set of outputs how far inputs reach them, [B, T]: one run, and a backward pass for each."""
        leaves = []

        def leaf(numbers):
            leaves.append(numbers.detach().clone().requires_grad_())
            return leaves[0]

        with torch.enable_grad(), self._embedded(leaf) as arguments:
            out = self.call(arguments)
        refuse_without_gradient(self.dtype, out.requires_grad)
        for number, outputs in enumerate(sets):
            with torch.enable_grad():  # not around what is yielded
                some = out[torch.from_numpy(outputs).to(out.device)]
            random = torch.randn(some.shape, generator=torch.Generator().manual_seed(draw + number)).to(some)
            grad = torch.autograd.grad(some, leaves, random, allow_unused=True, retain_graph=True)[0]
            yield np.zeros(self.shape) if grad is None else grad.abs().double().flatten(2).norm(dim=-1).cpu().numpy()

    def part(self, begin, end):
        """The subject of the tokens from begin to end alone; None where it is not known what belongs to a token."""
        arguments = {key: self._cut(one, begin, end) for key, one in self.arguments.items()}
        if any(one is None and self.arguments[key] is not None for key, one in arguments.items()):
            return None
        one = Torch(self.model, arguments, self.kept)
        one._other = self._others()[:, begin:end]
        return one

    def beside(self, count):
        """The subject of copies of the batch beside each other."""
        one = Torch(self.model, self._copies(count), self.kept)
        one._other = torch.cat([self._others()] * count)
        return one

    def _copies(self, count):
        return {key: torch.cat([one] * count) if isinstance(one, torch.Tensor) else one for key, one in self.arguments.items()}

    def _changed(self, changed):
        """The arguments, copies of them beside each other, of which the tokens that are changed are others."""
        copies = changed.shape[0] // self.shape[0]
        arguments = self._copies(copies) if copies > 1 else self.arguments
        tokens = arguments[self.name]
        where = torch.from_numpy(changed).to(tokens.device).reshape(*changed.shape, *(1,) * (tokens.ndim - 2))
        return {**arguments, self.name: torch.where(where, torch.cat([self._others()] * copies), tokens)}

    def _cut(self, one, begin, end):
        """An argument for some tokens: of each token, or of each pair of tokens; None where it is neither."""
        if not isinstance(one, torch.Tensor) or one.ndim == 0:
            return one
        batch, tokens = self.shape
        if one is not self.tokens and one.ndim > 1 and one.shape[-2:] == (tokens, tokens) and (one.ndim > 2 or tokens != batch):
            return one[..., begin:end, begin:end]
        if one.ndim == 1:
            return one[begin:end] if len(one) == tokens else None
        return one[:, begin:end] if one.shape[1] == tokens and one.shape[0] in (1, batch) else None

    def tangents(self, changed, draw):
        import torch.autograd.forward_ad as forward

        def dual(numbers):
            random = torch.randn(numbers.shape, generator=torch.Generator().manual_seed(draw)).to(numbers)
            return forward.make_dual(numbers.detach(), random * torch.from_numpy(changed).to(numbers)[..., None])

        with forward.dual_level(), self._embedded(dual) as arguments:
            tangent = forward.unpack_dual(self.call(arguments)).tangent
        if tangent is None:
            raise Error("see: no tangent reaches the output")
        return tangent.detach().abs().double().flatten(2).norm(dim=-1).cpu().numpy()

    def layers(self, within=None, changed=None):
        """(name, module, its Layer) of the outermost modules inside one that map numbers [B, T, E] to such, in
        the order in which they run on the batch, or on it with inputs that are changed."""
        root = self.model if within is None else within
        if not isinstance(root, torch.nn.Module):
            return []
        names = {id(module): name.replace("_orig_mod.", "") for name, module in root.named_modules() if module is not root}
        ran, open_ones, hooks, begun = [], [], [], {}

        def as_it_began(one):  # before a layer filled it
            if not _is_cache(one):
                return one
            if id(one) not in begun:
                begun[id(one)] = one, copy.deepcopy(one)
            return begun[id(one)][1]

        def before(module, arguments, keywords):
            arguments = tuple(map(as_it_began, arguments))
            keywords = {key: as_it_began(one) for key, one in keywords.items()}
            if open_ones:
                return
            place = next((key for key, one in [*enumerate(arguments), *keywords.items()] if self._are_numbers(one)), None)
            if place is not None:
                open_ones.append((module, arguments, keywords, place))

        def after(module, arguments, keywords, out):
            if open_ones and open_ones[0][0] is module:
                _, arguments, keywords, place = open_ones.pop()
                with contextlib.suppress(Error):
                    if self._are_numbers(first_array(out)):
                        layer = Layer(self.kept, module, arguments, keywords, place, self.shape)
                        layer.came = first_array(out)
                        ran.append((names[id(module)], module, layer))

        for module in root.modules():
            if module is not root:
                hooks.append(module.register_forward_pre_hook(before, with_kwargs=True))
                hooks.append(module.register_forward_hook(after, with_kwargs=True, always_call=True))
        try:
            with torch.no_grad(), _as_written():
                self.call(self.arguments if changed is None else self._changed(changed))
        finally:
            for one in hooks:
                one.remove()
        self.cached = self.cached or bool(begun)
        return ran

    def _are_numbers(self, one):
        return isinstance(one, torch.Tensor) and one.is_floating_point() and one.ndim == 3 and one.shape[:2] == self.shape


class Layer(Torch):
    """One module inside a model, with what it was given in a run."""

    def __init__(self, kept, module, arguments, keywords, place, shape):
        self.kept, self.model, self.given, self.keywords, self.place = kept, module, arguments, keywords, place
        self.tokens = arguments[place] if isinstance(place, int) else keywords[place]
        self.name, self.arguments = "", {"": self.tokens}
        self.shape, self.notes, self.dtype = shape, [], "float32"
        self.ways, self.takes_copies = ("differences", "cotangents"), False

    def call(self, arguments):
        given = [_own(one) for one in self.given]
        keywords = {key: _own(one) for key, one in self.keywords.items()}
        (given if isinstance(self.place, int) else keywords)[self.place] = arguments[""]
        with _same_draws(self.seed), self.kept.undone():
            out = first_array(self.model(*given, **keywords))
        self.dtype = str(out.dtype).removeprefix("torch.")
        return out


@contextlib.contextmanager
def _same_draws(seed):
    """Dropout draws the same in each pass of one seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def _as_written():
    """Within, what torch.compile has compiled runs as it is written, so that hooks see it."""
    stance = getattr(torch.compiler, "set_stance", None)
    return contextlib.nullcontext() if stance is None else stance("force_eager")


def _modules(model):
    return list(model.modules()) if isinstance(model, torch.nn.Module) else []


def _array(out):
    out = out.detach().cpu().resolve_conj()
    return (out.float() if out.is_floating_point() and out.dtype != torch.float64 else out).numpy()


def _own(one):
    """A copy of a cache, so that no run fills that of another; anything else as it is."""
    return copy.deepcopy(one) if _is_cache(one) else one


def _is_cache(one):
    """Whether this is a cache of transformers, which a run fills."""
    return hasattr(one, "get_seq_length")
