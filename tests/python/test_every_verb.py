"""Each attribute of Mask, asked of masks that were made in every way: it answers, or says in an Error
what is wrong."""

import copy
import pickle
import re

import numpy as np
import pytest
from makers import MAKERS

import maskctl
from maskctl import Answer, Error, Mask

FILES = iter(range(1_000_000))


def new(folder, suffix):
    return str(folder / f"{next(FILES)}{suffix}")


def floats(mask, axis):
    """An array [B, T, H, D] for the queries or the keys of a mask."""
    shape = mask.shape
    return np.random.default_rng(3).standard_normal((shape[0], shape[axis], shape[1], 4)).astype("f4")


def judged(mask, **options):
    query, key = floats(mask, 2), floats(mask, 3)
    return mask.verify(query=query, key=key, value=key, given=query, **options)


KINDS = ["dense", "bias", "padding", "key-padding", "segments", "cu_seqlens", "pairs", "bits", "runs"]
SPARSE_KINDS = ["index-lists", "flashmask", "flashmask-causal", "intervals", "slices", "request-bits", "tree-bits",
                "cu_seqlens-padded", "ragged-offsets"]
BLOCK_KINDS = ["blockmap", "flex", "fa4", "bsr"]
OPTIONS = {**{kind: {} for kind in KINDS}, **{kind: {"lossy": True} for kind in SPARSE_KINDS}, **{kind: {"block": "2x4", "lossy": True} for kind in BLOCK_KINDS}}

# Calls for each attribute of Mask: functions of the mask and a folder.
CALLS = {
    "show": [lambda m, f: m.show(), lambda m, f: m.show(max_rows=9), *(
        lambda m, f, suffix=suffix: m.show(output=new(f, suffix)) for suffix in (".svg", ".png", ".html"))],
    "stats": [lambda m, f: m.stats(), lambda m, f: m.stats(block="2+4")],
    "check": [lambda m, f: m.check(), lambda m, f: m.check(expect="no-empty-rows"),
              lambda m, f: m.check(segments=np.arange(m.shape[3]))],
    "recognise": [lambda m, f: m.recognise(), lambda m, f: m.recognise(write=new(f, ".npz"))],
    "recognize": [lambda m, f: m.recognize()],
    "why": [lambda m, f: m.why(0, 0), lambda m, f: m.why(-1, 0), lambda m, f: m.why("x", None),
            lambda m, f: m.why(m.shape[2] - 1, m.shape[3] - 1, batch=m.shape[0] - 1, head=m.shape[1] - 1)],
    "diff": [lambda m, f: m.diff(m), lambda m, f: m.diff(~m, show=True), lambda m, f: m.diff(np.asarray(m)),
             lambda m, f: m.diff("gen:causal:n=6"), lambda m, f: m.diff([[1, 0], [1, 1]])],
    "cost": [lambda m, f: m.cost(), lambda m, f: m.cost(head_dim=8)],
    "verify": [lambda m, f: m.verify(no_gradients=True), lambda m, f: judged(m),
               lambda m, f: judged(m, solve=True, output=new(f, ".npy"))],
    "parts": [lambda m, f: m.parts(ranks=2, assign="striped"), lambda m, f: m.parts(m, ranks=1),
              lambda m, f: m.parts(rollouts=np.arange(m.shape[2])[None])],
    "phases": [lambda m, f: m.phases(cache="dynamic"), lambda m, f: m.phases(positions=np.arange(m.shape[3])[None])],
    "translate": [lambda m, f: m.translate(to="flex"), lambda m, f: m.translate(to="fa+sdpa", write=new(f, ""))],
    "to": [lambda m, f, kind=kind: m.to(kind, **OPTIONS[kind]) for kind in OPTIONS],
    "save": [lambda m, f, kind=kind: m.save(new(f, ".npz"), kind, **OPTIONS[kind]) for kind in OPTIONS] + [
        lambda m, f, suffix=suffix: m.save(new(f, suffix)) for suffix in (".npy", ".h5", ".safetensors")],
    "apply": [lambda m, f: m.apply(), lambda m, f: m.apply("causal"), lambda m, f: m.apply("and:other", other=~m)],
    "count": [lambda m, f: m.count()],
    "shape": [lambda m, f: m.shape],
    "kind": [lambda m, f: m.kind],
    "name": [lambda m, f: m.name],
    "notes": [lambda m, f: m.notes],
    "pipeline": [lambda m, f: m.pipeline],
    "parse": [lambda m, f: Mask.parse("and:m", m.shape, m=m)],
    "read": [lambda m, f: Mask.read(m)],
    "from_segments": [lambda m, f: Mask.from_segments(m)],
    "from_positions": [lambda m, f: Mask.from_positions(m)],
    "from_cu_seqlens": [lambda m, f: Mask.from_cu_seqlens(m)],
    "from_padding": [lambda m, f: Mask.from_padding(m)],
    "from_key_padding": [lambda m, f: Mask.from_key_padding(m), lambda m, f: Mask.from_key_padding(m, queries=2)],
    "__init__": [lambda m, f: Mask(m), lambda m, f: Mask(np.asarray(m))],
    "__and__": [lambda m, f: m & m, lambda m, f: m & Mask.parse("causal", 5)],
    "__or__": [lambda m, f: m | ~m],
    "__xor__": [lambda m, f: m ^ m],
    "__sub__": [lambda m, f: m - m],
    "__invert__": [lambda m, f: ~m],
    "__eq__": [lambda m, f: m == ~m, lambda m, f: m == np.asarray(m), lambda m, f: m == [[1]], lambda m, f: m == 5],
    "__str__": [lambda m, f: str(m)],
    "__repr__": [lambda m, f: repr(m)],
    "_repr_html_": [lambda m, f: m._repr_html_()],
    "_repr_svg_": [lambda m, f: m._repr_svg_()],
    "_repr_png_": [lambda m, f: m._repr_png_()],
    "plot": [lambda m, f: m.plot()],
    "__array__": [lambda m, f: np.asarray(m), lambda m, f: np.asarray(m, "f4")],
    "__dlpack__": [lambda m, f: Mask(m.__dlpack__(), "dense")],
    "__dlpack_device__": [lambda m, f: m.__dlpack_device__()],
    "__getitem__": [lambda m, f: m[...], lambda m, f: m[..., 1:, :2], lambda m, f: m[:0], lambda m, f: m[0, 0, 0, 0]],
    "__copy__": [lambda m, f: copy.copy(m)],
    "__deepcopy__": [lambda m, f: copy.deepcopy(m)],
    "__reduce__": [lambda m, f: pickle.loads(pickle.dumps(m))],
}
# Attributes whose first call gives an answer for every mask.
ALWAYS = {"show", "stats", "check", "recognise", "recognize", "cost", "count", "shape", "kind", "name", "notes", "pipeline",
          "__invert__", "__or__", "__xor__", "__sub__", "__str__", "__repr__", "_repr_html_", "_repr_svg_", "_repr_png_",
          "__array__", "__dlpack__", "__dlpack_device__", "__copy__", "__deepcopy__", "__reduce__"}
NO_CALLS = {"__module__", "__doc__", "__slots__", "__weakref__", "__hash__", "__iter__", "__array_ufunc__"}


def test_every_attribute_has_a_call_here():
    named = {name for name in dir(Mask) if not name.startswith("_")}
    special = {name for name in vars(Mask) if name.startswith("__")} | {name for name in dir(Mask) if name.startswith("_repr")}
    assert set(CALLS) == (named | special) - NO_CALLS


def judge(answer, has_data):
    assert isinstance(answer.text, str) and str(answer) == repr(answer) == answer.text.rstrip("\n")
    assert bool(answer) == (answer.status == 0) and answer.status in (0, 1, 2)
    assert all(isinstance(note, str) for note in answer.notes)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]|\nforged", answer.text)
    assert "<pre>" in answer._repr_html_()
    kept = pickle.loads(pickle.dumps(answer))
    assert (kept.text, kept.status, kept.notes) == (answer.text, answer.status, answer.notes)
    assert hasattr(answer, "data") == has_data
    if has_data:
        assert kept.data == answer.data and answer.data["schema"].startswith("maskctl.")
        assert answer.schema == answer.data["schema"]


@pytest.mark.parametrize("maker", MAKERS)
def test_every_attribute_of_every_mask(maker, tmp_path):
    mask = MAKERS[maker](np.copy, tmp_path)
    answered = set()
    for name, calls in CALLS.items():
        for call in calls:
            try:
                said = call(mask, tmp_path)
            except Error as error:
                assert name not in ALWAYS or call is not calls[0]
                assert re.fullmatch("[^\x00-\x1f\x7f-\x9f\u202e]{10,}", str(error)) and "internal" not in str(error)
                assert "arrays.npz" not in str(error)
                continue
            except IndexError as error:
                assert name == "__getitem__" and 0 in mask.shape and "out of range" in str(error)
                continue
            answered.add(name)
            if isinstance(said, Answer):
                judge(said, name != "show")
    empty = 0 in mask.shape
    assert answered >= ALWAYS | {"diff", "apply", "save", "to", "__getitem__", "__eq__", "__and__"}
    assert empty or answered >= {"why", "verify", "parse"}


@pytest.mark.parametrize("maker", MAKERS)
def test_arrays_of_a_mask_are_masks(maker, tmp_path):
    mask = MAKERS[maker](np.copy, tmp_path)
    for kind in ("dense", "bias", "runs"):
        mask.save(tmp_path / f"{kind}.npz", kind)
        assert Mask(tmp_path / f"{kind}.npz", kind) == mask
    assert Mask(np.asarray(mask), "dense") == mask == Mask(mask.to("bias", dtype="bfloat16"), "bias")


@pytest.mark.parametrize("maker", ["segments", "batches", "and", "not", "heads"])
def test_translated_code_names_no_internal_file(maker, tmp_path):
    mask = MAKERS[maker](np.copy, tmp_path)
    try:
        said = str(mask.translate(to="flex+sdpa"))
    except Error as error:
        said = str(error)
        assert "no pipeline makes this mask; nearest: " in said
    assert "arrays.npz" not in said and "/tmp" not in said


def test_long_ids_are_translated():
    ids = np.random.default_rng(0).integers(0, 4, 300)
    read, given = Mask.from_segments(ids).translate(to="flex"), Mask.parse("doc:ids1", 300, ids1=ids).translate(to="flex")
    assert str(read) == str(given) and read.data == given.data and read.notes == given.notes
