"""Files of masks: what is saved is read again, here and by the lines of docs/formats.md, which know no maskctl."""

import json
import re

import numpy as np
import pytest
from conftest import ROOT

import maskctl
from maskctl import Mask


@pytest.fixture(scope="module")
def page():
    """The functions that docs/formats.md shows."""
    names = {}
    for text in re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/formats.md").read_text(), re.M | re.S):
        exec(compile(text, "docs/formats.md", "exec"), names)
    return names


ids = np.array([[0, 0, 0, 1, 1, 1, 1, 1, -1, -1], [3, 3, 3, 3, 3, 4, 4, 5, 5, 5]], np.int32)
other = np.random.default_rng(7).random((2, 10, 10)) < 0.5


def masks():
    yield Mask.parse("causal | window:keys=3", 10)
    yield Mask.parse("doc:ids | causal", (2, 1, 10, 10), ids=ids)
    yield Mask.parse("or:other | not | heads:0{causal}", (2, 3, 10, 10), other=Mask(other[:, None]))
    yield Mask.parse("causal | slice:q=2:7", 10)
    yield Mask.parse("not", (3, 5))
    yield Mask(other)
    yield Mask.from_segments(ids).apply("causal")
    yield Mask.from_segments(np.repeat(np.arange(40), 50))


@pytest.mark.parametrize("number", range(8))
def test_a_saved_mask_is_read_again_and_by_the_lines_of_the_page(number, page, tmp_path):
    mask = list(masks())[number]
    path = str(tmp_path / "m.safetensors")
    mask.save(path, "mask")
    again = Mask(path)
    assert again == mask
    said, arrays = page["read"](path)
    assert tuple(json.loads(said["shape"])) == mask.shape
    assert said["digest"] == page["digest"](np.asarray(mask).reshape(mask.shape))
    assert again.pipeline == said["pipeline"] and again.name == path
    if "mask1/bits" in arrays:
        cells = page["from_bits"](arrays["mask1/bits"], arrays["mask1/shape"])
        assert (np.broadcast_to(cells, (2, 1, 10, 10)) == other[:, None]).all()
    again.save(path, "mask", force=True)
    assert page["read"](path)[0] == said


def test_a_file_that_other_programs_write_is_read(page, tmp_path):
    cells = other[:, None]
    head = json.dumps({"__metadata__": {"format": "maskctl.mask/1", "shape": "[2,1,10,10]", "pipeline": "and:x",
                                        "digest": page["digest"](cells)},
                       "x": {"dtype": "BOOL", "shape": cells.shape, "data_offsets": [0, cells.size]}}).encode()
    path = tmp_path / "m.safetensors"
    path.write_bytes(len(head).to_bytes(8, "little") + head + cells.tobytes())
    assert Mask(path) == Mask(cells)
    path.write_bytes(len(head).to_bytes(8, "little") + head + (~cells).tobytes())
    with pytest.raises(maskctl.Error, match="the cells have the digest .*, the file says "):
        Mask(path)


def test_a_mask_that_was_read_keeps_its_steps(tmp_path):
    import copy
    import pickle

    path = tmp_path / "m.safetensors"
    Mask.parse("doc:ids | causal", (2, 1, 10, 10), ids=ids).save(path, "mask")
    mask = Mask(path)
    assert mask.pipeline == "doc:ids1 | causal"
    assert [step["step"] for step in mask.why(1, 5).data["steps"]][-1] == "causal"
    assert mask.translate(to="flex")
    for same in (pickle.loads(pickle.dumps(mask)), copy.deepcopy(mask)):
        assert same == mask and same.pipeline == mask.pipeline
    assert mask.apply("window:keys=2").pipeline == "doc:ids1 | causal | window:keys=2"
    with pytest.raises(maskctl.Error, match="exists"):
        mask.save(path, "mask")
    with pytest.raises(maskctl.Error, match="whole file"):
        mask.save(tmp_path / "m.npz", "mask")
    with pytest.raises(maskctl.Error, match="in a shell"):
        mask.to("mask")
