"""Which numbers close: drawn scores with masks, where no cell may be told wrongly. Tested where torch is
installed."""

import pytest

torch = pytest.importorskip("torch")

from maskctl._closing import closing

LOWEST = torch.finfo(torch.float32).min
LOWS = [-100.0, -1000.0, -9984.0, -1e4, -1e9, LOWEST, float("-inf")]


def drawn(seed, spread, low, slope=0.0, size=(2, 3, 40, 40)):
    """(scores, the cells that are open): a product, distances, and what a mask adds."""
    draw = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(size, generator=draw)
    at = torch.arange(size[-1])
    scores -= slope * (at[:, None] - at).abs()
    cells = (torch.rand(size, generator=draw) < 0.7) | (at[:, None] == at)
    cells &= at[:, None] >= at
    return torch.where(cells, scores, scores + low), cells


def told(scores, cells):
    """"right", "counted", or what is wrong."""
    found = closing(scores)
    if not found.unknown:
        return "right" if torch.equal(found.open, cells) else f"wrong: {found.words}"
    wrong = ((found.open != cells) & (scores <= -20)).sum()  # others have a weight, whatever was added
    return "counted" if wrong <= found.unknown else f"wrong beyond {found.unknown}: {found.words}"


def test_a_bool_mask_that_is_added_is_said():
    words = "none closed: they are 0 and 1, as of a bool mask that is added"
    draw = torch.Generator().manual_seed(1)
    for _ in range(50):
        bits = torch.randint(0, 2, (4, 4), generator=draw).float()
        both = bool((bits == 0).any() and (bits == 1).any())
        assert (closing(bits).words == words) == both
        assert closing(bits + 0.5).words == "none closed"
    assert closing(torch.zeros(4, 4)).words == closing(torch.tensor([[0.0, 0.5, 1.0]])).words == "none closed"


@pytest.mark.parametrize("low", LOWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_masks_on_usual_scores_are_found(low, dtype):
    for seed in range(20):
        for spread in (0.1, 1.0, 4.0):
            scores, cells = drawn(seed, spread, low)
            assert told(scores.to(dtype), cells) == "right", (spread, closing(scores).words)


@pytest.mark.parametrize("low", LOWS)
def test_masks_on_wide_scores_are_found_or_counted_as_unknown(low):
    outcomes = [told(*drawn(seed, spread, low)) for seed in range(20) for spread in (8.0, 12.0, 20.0, 40.0)]
    assert set(outcomes) <= {"right", "counted"}, outcomes
    if low < -1000:
        assert set(outcomes[:20]) == {"right"}


def test_scores_without_a_mask_are_open():
    for seed in range(20):
        for spread in (0.1, 1.0, 4.0, 8.0):
            scores, _ = drawn(seed, spread, 0.0)
            assert told(scores, torch.ones_like(scores).bool()) == "right"


@pytest.mark.parametrize("slope", [0.1, 0.707, 3.0])
def test_a_bias_by_distance_closes_no_cell(slope):
    for seed in range(5):
        for low in (-1e9, LOWEST):
            scores, cells = drawn(seed, 1.0, low, slope, (1, 2, 200, 200))
            assert told(scores, cells) == "right"


def test_nan_scores_are_counted_as_unknown():
    scores, cells = drawn(1, 1.0, LOWEST)
    scores[0, 0, 5, :2] = torch.nan
    found = closing(scores)
    assert found.unknown == 2 and torch.equal(found.open[0, 1:], cells[0, 1:])


def test_rows_without_an_open_cell_are_read_as_closed():
    for low in (-1e9, LOWEST):
        found = closing(torch.randn(1, 1, 4, 8) + low)
        assert not found.open.any() and not found.unknown
