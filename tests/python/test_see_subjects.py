"""What maskctl.see takes for a model: outputs of all forms, batches of all sizes, parts of long rows."""

import collections
import dataclasses

import numpy as np
import pytest
from test_see import E, IDS, PACKED, T, TABLE, TOKENS, question, through

import maskctl
from maskctl import Error, Mask


@dataclasses.dataclass
class Output:
    loss: object
    states: object


Pair = collections.namedtuple("Pair", "loss states")
FORMS = {
    "a tuple": lambda out: (out, None),
    "a loss first": lambda out: (out.sum(), out),
    "a named tuple": lambda out: Pair(None, out),
    "a list": lambda out: [out],
    "a dict": lambda out: {"loss": out.sum(), "states": out},
    "logits": lambda out: {"states": np.zeros_like(out), "logits": out},
    "no logits": lambda out: {"logits": None, "states": out},
    "a dataclass": lambda out: Output(out.sum(), out),
    "a dict in a tuple": lambda out: (None, {"states": (out, out)}),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_output_may_be_held_by_another_value(form):
    for cells, apart in ((PACKED, True), (np.tri(T, dtype=bool), False)):
        answer = maskctl.see(lambda x: FORMS[form](through(cells)(x)), TOKENS, segments=IDS)
        assert bool(answer) == apart and answer.matrix() == Mask(np.stack([cells] * 2)[:, None], "dense")


@pytest.mark.parametrize("out, words", [
    ({}, "the model returns dict; expected an array, or logits"), ((), "returns tuple"), ([None], "returns list"), (None, "returns NoneType"),
    (Output(None, None), "returns Output"), ((np.float32(1),), r"an output of shape \(\)")])
def test_an_output_without_arrays_is_refused(out, words):
    with pytest.raises(Error, match=words):
        maskctl.see(lambda x: out, TOKENS)


def test_outputs_that_are_not_finite_are_equal_to_themselves():
    spoilt = np.zeros((T, E), "f4")
    spoilt[4, 1], spoilt[5], spoilt[6, 0] = np.nan, np.inf, -np.inf
    answer = maskctl.see(lambda x: through(PACKED)(x) + spoilt, TOKENS, segments=IDS)
    assert all(not one.leaks for one in answer.data.questions) and answer.status == 2 and "6 outputs are not finite" in str(answer)

    def turns(x):
        out = through(PACKED)(x)
        out[x[:, 20] != TOKENS[0, 20]] = np.inf
        return out

    assert question(maskctl.see(turns, TOKENS[:1], segments=IDS), "future").leaks


def test_whole_numbers_are_compared_exactly():
    large = 1 << 30  # of which 1 is less than rounding of float32

    def counts(cells):
        return lambda x: large + (cells @ (np.eye(64, dtype="i8")[x] if x.ndim == 2 else x).astype("i8"))

    for cells, apart in ((PACKED, True), (np.tri(T, dtype=bool), False)):
        answer = maskctl.see(counts(cells), TOKENS, segments=IDS)
        assert bool(answer) == apart and answer.floor == 0 and answer.data.dtype == "int64"
        assert answer.matrix() == Mask(np.stack([cells] * 2)[:, None], "dense")
    assert maskctl.see(lambda x: through(PACKED)(x) > 0, TOKENS, segments=IDS).data.dtype == "bool"


@pytest.mark.parametrize("tokens", [1, 2, 3])
@pytest.mark.parametrize("batch", [1, 2])
def test_rows_of_few_tokens(batch, tokens):
    ids, x = np.arange(tokens) // 2, TOKENS[:batch, :tokens]
    causal = np.tri(tokens, dtype=bool)
    apart = causal & (ids[:, None] == ids)
    for cells in (causal, apart, np.ones_like(causal), np.eye(tokens, dtype=bool)):
        answer = maskctl.see(through(cells), x, segments=ids)
        asked = {one.name: one.leaks for one in answer.data.questions}
        assert set(asked) == ({"documents"} if tokens > 2 else set()) | ({"future"} if tokens > 1 else set()) | ({"batch"} if batch > 1 else set())
        assert asked.get("future", False) == (cells & ~causal).any() and asked.get("documents", False) == (cells & (ids[:, None] != ids)).any()
        assert not asked.get("batch", False) and answer.matrix() == Mask(np.stack([cells] * batch)[:, None], "dense")


@pytest.mark.parametrize("shape", [(0, T), (2, 0), (0,)])
def test_an_empty_batch_is_refused(shape):
    with pytest.raises(Error, match="a batch of shape .*; expected ids"):
        maskctl.see(through(PACKED), np.zeros(shape, int))
    torch = pytest.importorskip("torch")
    with pytest.raises(Error, match="tokens of shape .*; expected ids"):
        maskctl.see(torch.nn.Embedding(64, E), torch.zeros(shape, dtype=torch.long))


def long_row(lengths, seed=1):
    """Tokens of documents end to end, their ids and which cells causal attention inside them has."""
    ids = np.repeat(np.arange(len(lengths)), lengths)
    return np.random.default_rng(seed).integers(0, 64, (1, len(ids))), ids, (ids[:, None] == ids) & np.tri(len(ids), dtype=bool)


def test_documents_of_a_long_row_run_alone():
    x, ids, cells = long_row([100, 150, 50, 100])
    runs = []

    def model(x):  # the first document by itself has the same outputs, the others begin elsewhere
        runs.append(x.shape)
        return through(cells[:x.shape[1], :x.shape[1]])(x)

    answer = maskctl.see(model, x, segments=ids)
    assert answer
    mask = answer.matrix(rows=range(60, 90))
    assert mask == Mask(np.where(((np.arange(400) >= 60) & (np.arange(400) < 90))[:, None], cells, False), "dense")
    assert "1 part of the row ran alone" in mask.notes[-1] and all(shape[1] == 90 for shape in runs[-3:])
    assert answer.matrix() == Mask(cells, "dense")


def test_a_part_that_depends_on_the_rest_does_not_run_alone():
    x, ids, cells = long_row([200, 200])

    def model(x):  # all outputs shift with the length of the row
        return through(cells[:x.shape[1], :x.shape[1]])(x) + x.shape[1]

    mask = maskctl.see(model, x, segments=ids).matrix(rows=range(100))
    assert mask == Mask(np.where((np.arange(400) < 100)[:, None], cells, False), "dense") and not mask.notes


@pytest.mark.parametrize("chosen", [False, True])
def test_few_outputs_of_a_long_row_are_differentiated_where_changes_agree(chosen):
    torch = pytest.importorskip("torch")
    ids = np.repeat([0, 1], [150, 250])
    cells = torch.tensor((ids[:, None] == ids) & np.tri(400, dtype=bool))
    embed = torch.nn.Embedding(64, E)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = embed

        def forward(self, input_ids):
            x, n = torch.sin(self.embed(input_ids)), input_ids.shape[1]
            if chosen:  # outputs choose by their tokens, which no gradient shows
                x = torch.cat([x, torch.sign(x)], -1)
                return torch.tanh((cells[:n, :n] / cells[:n, :n].sum(-1, keepdim=True)) @ x)[..., E:] + x[..., :E]
            return torch.tanh((cells[:n, :n] / cells[:n, :n].sum(-1, keepdim=True)) @ x)

    tokens = torch.tensor(np.random.default_rng(5).integers(0, 64, (1, 400)))
    rows = [20, 149, 150, 300, 399]
    whole = maskctl.see(Model(), {"input_ids": tokens})
    assert whole.matrix(rows=rows) == whole.matrix(rows=rows, exact=True)
    answer = maskctl.see(Model(), {"input_ids": tokens}, segments=ids)
    mask = answer.matrix(rows=rows)
    assert mask == answer.matrix(rows=rows, exact=True)
    assert any("random cotangents, and changes of tokens agree" in note for note in mask.notes) == (not chosen)
    if not chosen:
        wanted = np.zeros((400, 1), bool)
        wanted[rows] = True
        assert mask == Mask(cells.numpy() & wanted, "dense")


def test_functions_of_torch_may_be_compiled_and_return_any_value():
    torch = pytest.importorskip("torch")
    weights = torch.tensor(PACKED / PACKED.sum(-1, keepdims=True), dtype=torch.float32)
    table, tokens = torch.tensor(TABLE), torch.tensor(TOKENS)
    compiled = torch.compile(lambda x: {"loss": x.sum(), "states": torch.tanh(weights @ torch.sin(table[x]))}, backend="eager")
    for batch in (tokens, tokens[:1], tokens[0]):
        answer = maskctl.see(compiled, batch, segments=IDS)
        assert answer and answer.matrix() == Mask(np.stack([PACKED] * (2 if batch is tokens else 1))[:, None])
    chosen = maskctl.see(lambda x: (weights @ torch.sin(table[x])).argmax(-1), tokens, segments=IDS)
    assert chosen and chosen.data.dtype == "int64"
    with pytest.raises(Error, match="outputs of int64 have no gradient; way=\"differences\""):
        maskctl.see(lambda x: (weights @ torch.sin(x)).argmax(-1), table[tokens], segments=IDS, way="cotangents")


def test_functions_of_jax_may_return_any_value():
    jax = pytest.importorskip("jax")
    weights = jax.numpy.asarray(PACKED / PACKED.sum(-1, keepdims=True), "float32")
    table = jax.numpy.asarray(TABLE)
    model = jax.jit(lambda x: {"loss": x.sum(), "states": jax.numpy.tanh(weights @ jax.numpy.sin(table[x]))})
    for batch in (TOKENS, TOKENS[:1], TOKENS[0]):
        answer = maskctl.see(model, jax.numpy.asarray(batch), segments=IDS) if batch.ndim == 2 else maskctl.see(
            lambda x: model(x[None])["states"][0], jax.numpy.asarray(batch), segments=IDS)
        assert answer and answer.matrix() == Mask(np.stack([PACKED] * (2 if batch is TOKENS else 1))[:, None])
    numbers = jax.numpy.asarray(TABLE[TOKENS])
    by_numbers = lambda x: (x.sum(), jax.numpy.tanh(weights @ jax.numpy.sin(x)))
    for way in ("differences", "cotangents", "tangents"):
        assert maskctl.see(by_numbers, numbers, segments=IDS, way=way)
    for way in ("cotangents", "tangents"):
        with pytest.raises(Error, match="outputs of int32 have no gradient"):
            maskctl.see(lambda x: x.argmax(-1), numbers, segments=IDS, way=way)


@pytest.mark.parametrize("way", ["differences", "cotangents"])
def test_few_outputs_of_one_long_document_are_asked_with_nothing_behind_them(way):
    torch = pytest.importorskip("torch")
    embed, lengths = torch.nn.Embedding(64, E), set()

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = embed

        def forward(self, input_ids, mask):
            lengths.add(input_ids.shape[1])
            return torch.tanh((mask / mask.sum(-1, keepdim=True)) @ torch.sin(self.embed(input_ids)))

    tokens = torch.tensor(np.random.default_rng(5).integers(0, 64, (1, 600)))
    cells = torch.ones(1, 600, 600).tril() * (torch.rand(1, 600, 600, generator=torch.Generator().manual_seed(1)) < 0.5)
    cells[0].fill_diagonal_(1)
    answer = maskctl.see(Model(), {"input_ids": tokens, "mask": cells}, way=way)
    rows = [3, 100, 170, 300, 450, 599]
    mask = answer.matrix(rows=rows)
    assert lengths == {600, 101, 171, 301}  # 450 and 599 are in the last quarter, which is asked in the whole row
    wanted = np.zeros((600, 1), bool)
    wanted[rows] = True
    assert mask == Mask(cells[0].bool().numpy() & wanted, "dense")
    assert any("of the row ran alone" in note for note in mask.notes)
