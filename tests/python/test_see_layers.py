"""What maskctl.see says of the layers of a model of torch: each that leaks, what it carries over calls, and the names of
shifts."""

import numpy as np
import pytest
from test_see import E, IDS, PACKED, T, question

import maskctl

torch = pytest.importorskip("torch")
from torch.nn import functional  # noqa: E402

ROW = torch.tensor(np.random.default_rng(2).integers(0, 64, (1, T)))
APART, ALL = (torch.tensor(one / one.sum(-1, keepdims=True), dtype=torch.float32) for one in (PACKED, np.tri(T)))


class Layer(torch.nn.Module):
    """x + a linear function of what it does."""

    def __init__(self, does):
        super().__init__()
        self.does, self.linear = does, torch.nn.Linear(E, E)

    def forward(self, x):
        return x + self.linear(self.does(x))


class Shift(Layer):
    pass


class Model(torch.nn.Module):
    def __init__(self, *layers):
        super().__init__()
        torch.manual_seed(1)
        self.embed, self.layers = torch.nn.Embedding(64, E), torch.nn.ModuleList(layers)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return x


def moved(by):
    """The tokens `by` places before, or after."""
    return lambda x: functional.pad(x, (0, 0, max(by, 0), max(-by, 0)))[:, max(-by, 0):max(-by, 0) + x.shape[1]]


def packed(x):
    return APART @ torch.sin(x)


def test_each_kind_of_leak_is_named():
    convolves = lambda x: moved(1)(x) + moved(2)(x)
    forgets = lambda x: ALL @ torch.sin(x)
    model = Model(Layer(packed), Layer(convolves), Layer(forgets), Layer(forgets), Layer(lambda x: x.mean(0, keepdim=True) + 0 * x))
    answer = maskctl.see(model.eval(), ROW.repeat(2, 1), segments=IDS)
    one = question(answer, "documents")
    assert one.layer == "layers.1" and one.shape.kind == "near" and [(other.layer, other.kind) for other in one.also] == [("layers.2", "document")]
    assert "first in layers.1 (Layer); of 5 layers, each run alone on what it was given, 3 leak" in str(answer)
    assert "also in layers.2 (Layer) and 1 more like it: tokens of the whole document" in str(answer)
    assert question(answer, "batch").layer == "layers.4" and not question(answer, "future").leaks


@pytest.mark.parametrize("batch", [1, 2])
def test_the_layer_that_mixes_entries_is_named(batch):
    model = Model(Layer(packed), Layer(lambda x: packed(x) + x.mean(0, keepdim=True)))
    answer = maskctl.see(model.eval(), ROW.repeat(batch, 1), segments=IDS)
    one = question(answer, "batch")
    assert one.leaks and one.layer == "layers.1" and not question(answer, "documents").leaks
    assert (" of a copy beside it" in str(answer)) == (batch == 1) and one.input[0] != one.output[0] and one.input[0] <= 1


def test_code_around_layers_that_leaks_is_placed():
    class Around(Model):
        def forward(self, x):
            x = self.layers[0](self.embed(x))
            return self.layers[1](x + x.mean(1, keepdim=True))

    answer = maskctl.see(Around(Layer(packed), Layer(packed)).eval(), ROW, segments=IDS)
    assert "none of 2 layers that ran alone leaks: outputs first move between layers.0 and layers.1 (Layer)" in str(answer)
    assert question(answer, "documents").layer is None and question(answer, "documents").also == []


def test_a_layer_that_cannot_run_alone_is_named():
    class Counts(Layer):
        runs = 0

        def forward(self, x):
            Counts.runs += 1
            if Counts.alone:
                raise RuntimeError("not alone")
            return super().forward(x)

    class Whole(Model):
        def forward(self, x):
            Counts.alone = False
            out = super().forward(x)
            Counts.alone = True
            return out

    answer = maskctl.see(Whole(Layer(packed), Counts(lambda x: ALL @ torch.sin(x))).eval(), ROW, segments=IDS)
    assert question(answer, "documents").layer == "layers.1" and "whose output moves where its input does not; 1 module could not" in str(answer)


class State(torch.nn.Module):
    """Keeps a mean of what it has seen, in a buffer or an attribute."""

    def __init__(self, in_buffer):
        super().__init__()
        self.in_buffer, self.last = in_buffer, None
        self.register_buffer("state", torch.zeros(E))

    def forward(self, x):
        out = x + packed(x) + self.state + (0 if self.last is None else self.last)
        if self.in_buffer:
            self.state.add_(out.detach().mean((0, 1)))
        else:
            self.last = out.detach().mean((0, 1))
        return out


@pytest.mark.parametrize("in_buffer", [True, False])
@pytest.mark.parametrize("trains", [True, False])
def test_what_is_carried_from_call_to_call_is_named_and_undone(in_buffer, trains):
    model = Model(Layer(packed), State(in_buffer)).train(trains)
    answer = maskctl.see(model, ROW, segments=IDS)
    name = "state" if in_buffer else "last"
    assert answer and answer.data.noise == 0
    assert (f"carried from call to call, and undone here after each run: `{name}` of layers.1 (State)" in answer.notes) == (not in_buffer or not trains)
    assert model.layers[1].last is None and not model.layers[1].state.any()
    leaks = maskctl.see(Model(State(in_buffer), Layer(lambda x: ALL @ torch.sin(x))).train(trains), ROW, segments=IDS)
    assert question(leaks, "documents").layer == "layers.1"


def test_what_the_last_call_left_is_carried_where_equal_calls_are_equal():
    class Cache(State):
        def forward(self, x):
            out = packed(x) + (0 if self.last is None else self.last)
            self.last = x.detach().mean((0, 1))
            return out

    model = Model(Cache(False), Layer(packed)).eval()
    for warm in (None, ROW, ROW.flip(1)):
        if warm is not None:
            model(warm)
        before = model.layers[0].last
        answer = maskctl.see(model, ROW, segments=IDS)
        assert answer and "carried from call to call, and undone here after each run: `last` of layers.0 (Cache)" in answer.notes
        assert model.layers[0].last is before


def test_draws_are_no_leak_into_copies():
    class Drops(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.dropout(packed(x), 0.3, self.training)

    for drops in (Layer(packed), Drops()):
        model = Model(drops, torch.nn.Dropout(0.3)).train()
        answer = maskctl.see(model, ROW, segments=IDS)
        assert answer and any("whether entries share anything was not asked" in note for note in answer.notes)
    quiet = Model(Layer(packed), Drops()).eval()
    quiet.layers[1].train()
    assert any(note.startswith("layers.1 (Drops) is in training mode") for note in maskctl.see(quiet, ROW, segments=IDS).notes)


def test_what_changes_is_named_where_runs_stay_different():
    class Draws(State):
        def forward(self, x):
            return super().forward(x) + torch.tensor(np.random.standard_normal(x.shape), dtype=x.dtype)

    with pytest.raises(maskctl.Error, match="two equal runs differ .* a fixed seed; each run changes `state` of layers.0 \\(Draws\\)"):
        maskctl.see(Model(Draws(True)).eval(), ROW, segments=IDS)


@pytest.mark.parametrize("by", [1, -1, 2, -3])
@pytest.mark.parametrize("around", [True, False])
def test_a_shift_has_one_name_in_each_question(by, around):
    model = Model(Layer(packed), Shift((lambda x: x.roll(by, 1)) if around else moved(by)), Layer(packed))
    answer = maskctl.see(model.eval(), ROW, segments=IDS)
    kind = "shift" if around or abs(by) > 1 else "near"
    leaks = [one for one in answer.data.questions if one.leaks]
    assert [one.name for one in leaks] == (["documents", "future"] if around or by < 0 else ["documents"])
    for one in leaks:
        assert (one.layer, one.shape.kind, one.shape.reach) == ("layers.1", kind, abs(by))
        assert ("around the end of the row" in one.shape.words) == around and "shift" in one.shape.words


def test_watch_says_what_has_no_mask():
    class Attends(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv1d(E, E, 3, padding=1)

        def forward(self, x):
            return functional.scaled_dot_product_attention(*[self.conv(x.mT).mT[:, None]] * 3)[:, 0]

    def said(model):
        with maskctl.watch(model) as masks:
            model(torch.randn(1, T, E))
        return str(masks)

    twice = torch.nn.Sequential(Attends(), torch.nn.LSTM(E, E, batch_first=True))
    twice.forward = lambda x: twice[1](twice[0](x))[0]
    assert "convolutions and states have no mask and were not looked at: 0 (Attends), 1 (LSTM); maskctl.see asks" in said(twice)
    alone = Attends()
    alone.conv = torch.nn.Conv1d(E, E, 1)
    assert "convolutions" not in said(alone)
