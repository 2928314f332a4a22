"""The pytest plugin: the fixture mask_golden and the option --mask-golden-update."""

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("maskctl")
    group.addoption("--mask-golden-update", action="store_true",
                    help="write the masks that mask_golden gets instead of comparing them")
    parser.addini("mask_golden_manifest", default="golden.toml",
                  help="the manifest of mask_golden, beside the test (golden.toml)")


@pytest.fixture
def mask_golden(request):
    """mask_golden(mask, "name"): fails unless the mask is what the manifest golden.toml beside the
    test expects of that entry. --mask-golden-update writes it; `maskctl golden check` reads it."""
    from maskctl.testing import Golden

    config = request.config
    manifest = request.path.parent / config.getini("mask_golden_manifest")
    return Golden(manifest, config.getoption("--mask-golden-update"))
