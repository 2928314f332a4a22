"""Fixtures and paths that the tests of the Python module share."""

import pathlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def samples():
    return ROOT / "samples"


@pytest.fixture
def random_mask():
    """A function that makes random bool arrays of a shape, of which a third is open."""
    draw = np.random.default_rng(20260704)
    return lambda *shape: draw.random(shape) < 1 / 3
