"""maskctl.see on modules of torch and functions of JAX, where these are installed."""

import numpy as np
import pytest

import maskctl
from known_models import E, IDS, PACKED, T, TABLE, TOKENS, question
from maskctl import Mask


def test_jax_functions_are_differentiated():
    jax = pytest.importorskip("jax")
    numbers = jax.numpy.asarray(TABLE[TOKENS])
    weights = jax.numpy.asarray(PACKED / PACKED.sum(-1, keepdims=True), "float32")
    model = jax.jit(lambda x: jax.numpy.tanh(weights @ jax.numpy.sin(x)))
    for way in ("differences", "cotangents", "tangents"):
        answer = maskctl.see(model, numbers, segments=IDS, way=way)
        assert answer and answer.data.way == way and answer.matrix() == Mask(np.stack([PACKED] * 2)[:, None])


def test_modules_of_torch_name_their_layer():
    torch = pytest.importorskip("torch")

    class Mixes(torch.nn.Module):
        def __init__(self, cells):
            super().__init__()
            self.weights, self.linear = torch.tensor(cells / cells.sum(-1, keepdims=True), dtype=torch.float32), torch.nn.Linear(E, E)

        def forward(self, x):
            return x + self.linear(self.weights @ torch.sin(x))

    class Model(torch.nn.Module):
        def __init__(self, leaky):
            super().__init__()
            self.embed = torch.nn.Embedding(64, E)
            self.layers = torch.nn.ModuleList(Mixes(np.tri(T) if n == leaky else PACKED) for n in range(4))

        def forward(self, input_ids, position_ids=None):
            x = self.embed(input_ids)
            for layer in self.layers:
                x = layer(x)
            return x

    batch = {"input_ids": torch.tensor(TOKENS), "position_ids": torch.tensor(np.concatenate([np.arange(n) for n in (9, 7, 8)]))[None]}
    for way in ("differences", "cotangents", "tangents"):
        with torch.no_grad():
            assert maskctl.see(Model(None), batch, way=way)
        one = question(maskctl.see(Model(2), batch, way=way), "documents")
        assert one.layer == "layers.2" and one.module == "Mixes" and one.shape.kind == "document"
    dropping = torch.nn.Sequential(torch.nn.Embedding(64, E), torch.nn.Dropout(0.5))
    assert "dropout is on" in str(maskctl.see(dropping, batch["input_ids"]))
    assert maskctl.see(dropping.eval(), batch["input_ids"])


def test_buffers_of_a_model_in_training_are_restored():
    torch = pytest.importorskip("torch")

    class Normed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.norm = torch.nn.Embedding(64, E), torch.nn.BatchNorm1d(E)

        def forward(self, x):
            return self.norm(self.embed(x).mT).mT

    model = Normed()
    before = {name: one.clone() for name, one in model.named_buffers()}
    for way in ("differences", "cotangents"):
        assert not maskctl.see(model, torch.tensor(TOKENS), way=way)
    assert before and all(torch.equal(one, before[name]) for name, one in model.named_buffers())
    zeros = torch.zeros(1, T, dtype=torch.long)
    assert maskctl.see(model.eval(), zeros)  # 64 ids are known


class Cache:
    """Stands for a cache of transformers, which a run fills."""

    runs = 0

    def get_seq_length(self):
        return self.runs


def test_a_model_runs_as_it_is_called():
    torch = pytest.importorskip("torch")
    embed = torch.nn.Embedding(64, E)
    packed, causal = (torch.tensor(one / one.sum(-1, keepdims=True), dtype=torch.float32) for one in (PACKED, np.tri(T)))

    def model(input_ids, use_cache=True, past=None):  # it forgets documents where it has a cache, as llama does
        if past is not None:
            assert past.runs == 0
            past.runs += 1
        return torch.sin((causal if use_cache else packed) @ embed(input_ids))

    class Layer(torch.nn.Module):
        def forward(self, x, cache=None):
            cache.runs += 1
            return causal @ x * cache.runs  # a cache that another run filled gives other outputs

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.layer = embed, Layer()

        def forward(self, input_ids, position_ids):
            return torch.sin(self.layer(self.embed(input_ids), cache=Cache()))

    answer = maskctl.see(Model(), {"input_ids": torch.tensor(TOKENS), "position_ids": torch.arange(T)[None] % 12})
    assert question(answer, "documents").layer == "layer" and "try use_cache=False" in str(answer)
    tokens, past = torch.tensor(TOKENS), Cache()
    assert question(maskctl.see(model, {"input_ids": tokens}, segments=IDS), "documents").leaks
    assert maskctl.see(model, {"input_ids": tokens, "use_cache": False, "past": past}, segments=IDS) and past.runs == 0
