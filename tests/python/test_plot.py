"""Checks Mask.plot() on stand-ins for matplotlib, which record what is drawn on the axes;
tests/peers/pictures.py draws with the real one."""

import sys
import types

import numpy as np
import pytest

import maskctl
from maskctl import Mask


class Axis:
    def set_ticks(self, places, labels, **how):
        self.places, self.labels, self.how = list(places), labels, how

    def set_major_locator(self, locator):
        self.locator = locator

    def set_label_position(self, where):
        pass

    def tick_top(self):
        pass


class Axes:
    """Axes of so many pixels."""

    def __init__(self, wide=300, high=200):
        self.box = types.SimpleNamespace(width=wide, height=high)
        self.xaxis, self.yaxis, self.figure = Axis(), Axis(), self
        self.images, self.points, self.bars, self.said = [], [], [], {}

    def get_window_extent(self):
        return self.box

    def set_aspect(self, aspect):
        self.aspect = aspect

    def get_aspect(self):
        return self.aspect

    def imshow(self, values, **how):
        self.images.append((values, how))
        return self.images[-1]

    def scatter(self, x, y, **how):
        self.points += zip(x.tolist(), y.tolist())

    def colorbar(self, image, **how):
        self.bars.append(how)

    def __getattr__(self, name):
        if not name.startswith("set_"):
            raise AttributeError(name)
        return lambda *values, **how: self.said.update({name[4:]: values})


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib" or name == "maskctl._plot"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def axes(monkeypatch):
    """What plt.subplots() makes, where a stand-in is installed."""
    made = Axes()
    parts = {"": {"colormaps": {"Blues": lambda shades: shades}}, ".colors": {"ListedColormap": lambda *colours: colours},
             ".ticker": {"MaxNLocator": lambda *how, **more: how}, ".pyplot": {"subplots": lambda **how: (made, made)}}
    for name, members in parts.items():
        module = types.ModuleType("matplotlib" + name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, "matplotlib" + name, module)
    sys.modules["matplotlib"].pyplot = sys.modules["matplotlib.pyplot"]
    return made


def test_without_matplotlib_one_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for _ in range(2):
        with pytest.raises(maskctl.Error, match="^plot\\(\\) draws with matplotlib.*pip install matplotlib$"):
            Mask.parse("causal", 4).plot()


def test_small_masks_are_drawn_with_one_pixel_per_cell(axes, random_mask):
    cells = random_mask(2, 3, 7, 5)
    assert Mask(cells).plot(batch=1, head=2) is axes
    values, how = axes.images[0]
    assert (values.filled(0) == cells[1, 2]).all()
    assert how["extent"] == (-0.5, 4.5, 6.5, -0.5)
    assert axes.said["title"] == ("mask, batch 1, head 2",)
    assert axes.said["xlabel"] == ("key",) and axes.said["ylabel"] == ("query",)


@pytest.mark.parametrize("shape", [(700, 500), (333, 90), (1, 999), (999, 1), (201, 301)])
def test_large_masks_are_drawn_as_shares_of_blocks(axes, random_mask, shape):
    cells = random_mask(*shape)
    Mask(cells, "dense").plot()
    values, how = axes.images[0]
    left, right, bottom, top = how["extent"]
    q, k = round((bottom - top) / values.shape[0]), round((right - left) / values.shape[1])
    assert values.shape[0] <= 200 and values.shape[1] <= 300
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            block = cells[row * q:(row + 1) * q, column * k:(column + 1) * k]
            assert values.filled(0)[row, column] == pytest.approx(block.mean())
    assert axes.said["xlim"] == (-0.5, shape[1] - 0.5) and axes.said["ylim"] == (shape[0] - 0.5, -0.5)
    said = axes.said["title"][0]
    assert (f"{q}x{k} cells a pixel" in said) == ((q, k) != (1, 1))


def test_a_mask_of_131072_tokens_is_drawn(axes):
    Mask.parse("window:keys=4096 | open:q=100000,k=5", 1 << 17).plot()
    values, _ = axes.images[0]
    step = -(-(1 << 17) // 200)
    assert values.shape == (200, 200) and values[100000 // step, 0] == pytest.approx(1 / step**2)
    assert values.mask[0, 199] and not values.mask[199, 199]


def test_a_bias_is_drawn_as_its_mean_over_open_cells(axes, random_mask):
    cells = random_mask(1, 1, 450, 310)
    numbers = np.random.default_rng(1).standard_normal((450, 310)).astype("f4")
    numbers[3, 4] = -np.inf
    Mask(cells).plot(bias=numbers)
    values, _ = axes.images[0]
    counted = cells[0, 0] & np.isfinite(numbers)
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            at = np.s_[3 * row:3 * row + 3, 3 * column:3 * column + 3]
            if not counted[at].any():
                assert values.mask[row, column]
            else:
                assert values[row, column] == pytest.approx(numbers[at][counted[at]].mean(), abs=1e-6)
    assert axes.bars == [{"ax": axes, "label": "bias"}] and "grey: closed" in axes.said["title"][0]


def test_a_bias_is_drawn_for_the_chosen_batch_and_head(axes):
    slopes = np.array([1.0, 2.0])[None, :, None, None] * np.ones((1, 2, 4, 4))
    Mask(np.ones((3, 2, 4, 4), bool)).plot(bias=slopes, batch=2, head=1)
    assert (axes.images[0][0] == 2).all()


def test_a_bias_can_be_drawn_over_a_mask_of_steps(axes):
    distance = -np.abs(np.subtract.outer(np.arange(64), np.arange(64))) / 10
    Mask.parse("window:keys=24", 64).plot(bias=distance)
    values, _ = axes.images[0]
    near = np.asarray(Mask.parse("window:keys=24", 64)).reshape(64, 64)
    assert (values.mask == ~near).all() and np.allclose(values[near].filled(9), distance[near])


@pytest.mark.parametrize("bias, said", [
    (np.zeros((3, 4)), "does not fit"), (np.zeros(4), "expected numbers"), (np.array([["a"]]), "expected numbers")])
def test_a_wrong_bias_is_refused(axes, bias, said):
    with pytest.raises(maskctl.Error, match="bias: .*" + said):
        Mask.parse("causal", 4).plot(bias=bias)
    assert not axes.images


def test_marks_are_drawn_as_points_if_cells_are_small(axes):
    a, b = Mask.parse("window:keys=8", 64), Mask.parse("window:keys=9", 64)
    a.plot(marks=a ^ b)
    assert axes.points == [(q - 8, q) for q in range(8, 64)] and "56 marked" in axes.said["title"][0]
    big = Axes(2000, 2000)
    a.plot(big, marks=a ^ b)
    assert not big.points and (big.images[1][0].filled(False) == np.asarray(a ^ b).reshape(64, 64)).all()


def test_tokens_label_the_axes(axes):
    tokens = ["The", "$cat$", "\x1b[31m", "sat"]
    Mask(np.ones((4, 3), bool), "dense").plot(tokens=tokens)
    assert axes.yaxis.labels == ["The", "$cat$", "\\x1b[31m", "sat"] and axes.yaxis.how["parse_math"] is False
    assert not hasattr(axes.xaxis, "labels")
    Mask.parse("causal", 200).plot(Axes(), tokens=[str(i) for i in range(200)])
    many = Axes()
    Mask.parse("causal", 200).plot(many, tokens=[str(i) for i in range(200)])
    assert many.xaxis.places == list(range(0, 200, 4)) and many.xaxis.labels == [str(i) for i in range(0, 200, 4)]
    with pytest.raises(maskctl.Error, match="5 tokens, but the mask has 4 queries and 3 keys"):
        Mask(np.ones((4, 3), bool), "dense").plot(tokens=["a"] * 5)


def test_names_are_shown_escaped(axes):
    Mask(np.eye(3, dtype=bool), name="\x1b[2J$x$").plot()
    assert axes.said["title"] == ("\\x1b[2J$x$",)


@pytest.mark.parametrize("given, said", [
    ({"batch": 2}, "batch 2 is out of range: the mask has 0 to 1"), ({"head": "x"}, "head='x': expected a whole number"),
    ({"head": -1}, "head -1 is out of range"), ({"marks": Mask.parse("causal", 5)}, "marks: 5 queries and 5 keys")])
def test_a_wrong_batch_head_or_mark_is_refused(axes, given, said):
    with pytest.raises(maskctl.Error, match=said):
        Mask(np.ones((2, 1, 4, 4), bool)).plot(**given)
