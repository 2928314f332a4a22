"""Converts arrays to masks and back, compared with numpy."""

import array
import resource
import tracemalloc
import types

import numpy as np
import pytest
from makers import BlockMask

import maskctl
from maskctl import Error, Mask

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
          "float32", "float64"]


def dense(mask):
    return np.asarray(mask.to("dense"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 70), (2, 3, 5, 64)])
def test_every_dtype_and_rank_is_read(random_mask, dtype, shape):
    cells = random_mask(*shape)
    mask = Mask(cells.astype(dtype), "dense")
    expected = cells.reshape((1,) * (4 - len(shape)) + shape) if len(shape) != 3 else cells[:, None]
    assert mask.shape == expected.shape
    assert mask.count() == cells.sum()
    np.testing.assert_array_equal(dense(mask).reshape(expected.shape), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("closed", [-np.inf, "lowest"])
def test_a_bias_is_read(random_mask, dtype, closed):
    cells = random_mask(2, 3, 9, 66)
    bias = np.where(cells, 0, np.finfo(dtype).min if closed == "lowest" else closed).astype(dtype)
    mask = Mask(bias)
    assert mask.kind == "bias"
    np.testing.assert_array_equal(dense(mask), cells)


@pytest.mark.parametrize("view", [
    lambda a: a.T, lambda a: a[::2, ::3], lambda a: a[::-1, ::-1], lambda a: a[3:20, 5:],
    lambda a: np.broadcast_to(a[:1], a.shape), lambda a: np.broadcast_to(a[:, :1], a.shape),
    lambda a: np.asfortranarray(a), lambda a: np.asfortranarray(np.stack([a, a.copy()]))],
    ids=["turned", "strided", "reversed", "cut", "one row", "one column", "fortran", "fortran 3"])
@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_arrays_with_gaps_are_read(random_mask, view, dtype):
    cells = view(random_mask(66, 131).astype(dtype))
    np.testing.assert_array_equal(np.asarray(Mask(cells, "dense")).reshape(cells.shape), cells != 0)


def test_read_only_arrays_and_other_buffers_are_read(random_mask):
    cells = random_mask(8, 8)
    cells.setflags(write=False)
    np.testing.assert_array_equal(dense(Mask(cells)), cells)
    assert Mask.from_cu_seqlens(array.array("i", [0, 3, 8])) == Mask.parse("doc:lens=3+5", 8)
    assert Mask.from_key_padding(memoryview(b"\1\1\0")).count() == 6


def test_a_mask_is_a_value(random_mask):
    cells = random_mask(64, 64)
    before = cells.copy()
    mask = Mask(cells)
    cells[:] = ~cells
    np.testing.assert_array_equal(dense(mask), before)
    del cells
    np.testing.assert_array_equal(dense(mask), before)


def test_an_array_is_not_copied_before_it_is_read():
    cells = np.ones((16384, 16384), bool)  # 256 MiB, of which the mask needs little
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    before = peak()
    tracemalloc.start()
    mask = Mask(cells)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert mask.count() == cells.size
    assert held < 1 << 20
    assert peak() - before < cells.nbytes // 2


def test_lists_are_read():
    assert Mask([[True, False], [True, True]]) == Mask([[1, 0], [1, 1]]) == Mask.parse("causal", 2)
    assert Mask([[0.0, -np.inf], [0, 0]]) == Mask.parse("causal", 2)
    assert Mask.from_segments([0, 0, 1]) == Mask.parse("doc:lens=2+1", 3)
    assert Mask.from_segments((np.int64(0), np.int32(0), 1)) == Mask.parse("doc:ids", 3, ids=[0, 0, 1])
    assert Mask.from_key_padding([[1, 1, 0]], queries=2).shape == (1, 1, 2, 3)
    assert not Mask.parse("causal", 4).check(segments=[0, 0, 1, 1])


ROWS = [[True, False, False], [True, True, False], [False, True, True]]


@pytest.mark.parametrize("rows", [
    ROWS, tuple(map(tuple, ROWS)), [[int(one) for one in row] for row in ROWS], [[ROWS]], [[np.bool_(one) for one in row] for row in ROWS],
    [[0.0 if one else -np.inf for one in row] for row in ROWS], np.array(ROWS).tolist(), memoryview(np.array(ROWS)),
    [[np.float32(one) for one in row] for row in ROWS]])
def test_masks_are_compared_with_anything_that_makes_a_mask(rows):
    mask = Mask(rows)
    assert mask == rows and mask.diff(rows) and np.array_equal(np.asarray(mask).squeeze(), ROWS)
    other = Mask.parse("causal", 3)
    assert other != rows and not other.diff(rows) and (other ^ mask).count() == 1
    assert maskctl.run("diff", mask, rows) and maskctl.run("stats", rows).total["open"] == 5


@pytest.mark.parametrize("wrap", [list, tuple, np.int32, lambda ids: array.array("i", ids), lambda ids: [list(ids)]],
                         ids=["list", "tuple", "numpy", "array", "batch"])
def test_documents_are_given_as_lists(wrap):
    mask = Mask.parse("doc:lens=2+1 | causal", 3)
    for option, ids in (("segments", [0, 0, 1]), ("positions", [0, 1, 0]), ("cu_seqlens", [0, 2, 3])):
        if option == "cu_seqlens" and np.ndim(wrap([0])) == 2:
            continue  # lengths have one axis
        assert mask.check(**{option: wrap(ids)}) and not Mask.parse("causal", 3).check(**{option: wrap(ids)})
        made = getattr(Mask, f"from_{option}")(wrap(ids))
        assert made == Mask.parse("doc:lens=2+1", 3) and made.diff(Mask.parse("doc:lens=2+1", 3))
    assert Mask.parse("doc:ids", 3, ids=wrap([0, 0, 1])) == Mask.parse("doc:lens=2+1", 3)
    assert Mask.from_key_padding(wrap([1, 1, 0]), queries=2).shape == (1, 1, 2, 3)


@pytest.mark.parametrize("ids, words", [
    ([0, 0], "2 tokens do not fit a mask of 3"), ([], r"segments: lists of shape \(0,\)"), ([0, 0.5, 1], "element 1 is 0.5"),
    ([[0, 0, 1], [0, 1]], "side by side"), ([0, None, 1], "cannot be read as an array"), ([object()] * 3, "cannot be read")])
def test_lists_that_describe_no_documents_are_refused(ids, words):
    with pytest.raises(Error, match=words):
        Mask.parse("causal", 3).check(segments=ids)


def test_shapes_are_whole_numbers():
    assert Mask.parse("causal", np.int64(4)).shape == Mask.parse("causal", (np.int32(4), 4)).shape
    for shape in (2.5, (2.5, 2), "4", None, 0, (3, 0), -4, 1 << 31, (1 << 70, 1), (), (1,) * 5):
        with pytest.raises(Error, match="^(shape=|a shape of).*expected (whole numbers|extents of 1|n, )"):
            Mask.parse("causal", shape)


def test_written_arrays_are_numpy_arrays(random_mask):
    mask = Mask(random_mask(8, 8))
    assert isinstance(mask.to("dense"), np.ndarray)
    assert all(isinstance(array, np.ndarray) for array in mask.to("runs").values())
    assert Mask(mask.to("bias", dtype="bfloat16")) == mask  # a type that numpy lacks


def test_an_array_that_fits_several_kinds_is_refused():
    with pytest.raises(Error, match=r"mask: \(6,\) of bool fits several kinds; give kind=\"padding\""):
        Mask(np.ones(6, bool))
    with pytest.raises(Error, match="looks like position ids"):
        Mask(np.array([0, 1, 2, 0, 1]))
    with pytest.raises(Error, match=r"values other than 0 and 1, the first is 3 at \(0, 2\)"):
        Mask(np.arange(1, 10).reshape(3, 3) % 4 - (np.arange(9).reshape(3, 3) < 2) * 1, "dense")


def test_masks_are_made_from_ids_lengths_positions_and_flags():
    ids = np.array([[0, 0, 0, 1, 1, -1]])
    packed = Mask.from_segments(ids)
    np.testing.assert_array_equal(dense(packed).squeeze(),
                                  (ids.T == ids) & (ids >= 0) & (ids.T >= 0))
    assert Mask.from_positions(np.array([0, 1, 2, 0, 1])) == Mask.parse("doc:lens=3+2", 5)
    assert Mask.from_cu_seqlens(np.array([0, 3, 5], np.int32)) == Mask.parse("doc:lens=3+2", 5)
    assert Mask.from_cu_seqlens(np.array([0, 2, 3]), np.array([0, 4, 9])).shape == (1, 1, 3, 9)
    flags = np.array([[1, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(dense(Mask.from_key_padding(flags, queries=2))[:, 0, 1], flags)
    np.testing.assert_array_equal(np.asarray(Mask.from_padding(flags)).reshape(2, 3, 3),
                                  flags[:, :, None] & flags[:, None])
    closed = Mask(np.array([[0, 1], [1, 0]]), keep_value=0)
    assert closed == Mask(np.eye(2, dtype=bool))


class SegmentIds:  # as in jax
    q = kv = np.array([[1, 1, 2, 2]])


class CausalBias(np.ndarray):  # as in torch: a tensor whose memory holds no mask
    def __new__(cls, variant, queries, keys):
        made = np.full((queries, keys), 7.0).view(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = types.SimpleNamespace(name=variant), queries, keys
        return made


_SplashMask = type("Mask", (), {"__module__": "jax.experimental.pallas.ops.tpu.splash_attention.splash_attention_mask"})


class LazyMask(_SplashMask):  # as in jax
    def __init__(self, cells):
        self.cells, self.shape = cells, cells.shape

    def __getitem__(self, at):
        return self.cells[at]


class LowerTriangularMask:  # as in xformers
    __module__ = "xformers.ops.fmha.attn_bias"

    def materialize(self, shape):
        return np.where(np.tri(*shape), 0, -np.inf).astype("float32")


def test_masks_of_other_libraries_are_recognised_by_their_attributes():
    assert Mask(SegmentIds()) == Mask.parse("doc:lens=2+2", 4)
    assert Mask(LowerTriangularMask(), shape=(6, 6)) == Mask.parse("causal", 6)
    with pytest.raises(Error, match="LowerTriangularMask has no extents of its own; give shape="):
        Mask(LowerTriangularMask())


@pytest.mark.parametrize("queries, keys", [(4, 4), (3, 5), (5, 3), (1, 6), (6, 1)])
def test_a_causal_bias_of_torch_is_read(queries, keys):
    for variant, shift in ("UPPER_LEFT", 0), ("LOWER_RIGHT", keys - queries):
        bias = CausalBias(variant, queries, keys)
        np.testing.assert_array_equal(dense(Mask(bias)).reshape(queries, keys), np.tri(queries, keys, shift, dtype=bool))
        assert Mask(np.tri(queries, keys, shift, dtype=bool), "dense") == bias
    assert Mask.parse("causal:align=bottom-right", (queries, keys)).diff(bias)


def test_the_lazy_masks_of_splash_attention_are_read(random_mask):
    cells = random_mask(2, 5, 7)
    np.testing.assert_array_equal(dense(Mask(LazyMask(cells[0]))).reshape(5, 7), cells[0])
    np.testing.assert_array_equal(dense(Mask(LazyMask(cells))).reshape(2, 5, 7), cells)
    odd = LazyMask(cells)
    odd.cells = None
    with pytest.raises(Error, match="mask: a LazyMask raised TypeError: 'NoneType'"):
        Mask(odd)


def test_a_block_mask_whose_lists_differ_from_its_mask_mod_has_a_note():
    cells = np.tri(7, dtype=bool)
    assert Mask(BlockMask(cells)).notes == []
    dropped = BlockMask(cells)
    dropped.kv_num_blocks[0, 0, 2] = dropped.full_kv_num_blocks[0, 0, 2] = 1
    dropped.q_num_blocks = dropped.full_q_num_blocks = None
    dropped.q_indices = dropped.full_q_indices = None
    mask = Mask(dropped)
    assert mask == Mask(cells)
    note, = mask.notes
    assert note.startswith("mask: 4 cells are not as the lists of blocks say, the first in block (2, 1), which is not listed")
    opened = Mask(BlockMask(np.ones((7, 7), bool), lambda b, h, q, k: q >= k))
    assert "15 cells" in opened.notes[0] and "block (0, 0), which is full" in opened.notes[0]
    dropped.kv_num_blocks[0, 0, 2] = 9
    assert "its lists are none" in Mask(dropped).notes[0]


def test_arrays_come_back_in_every_kind(random_mask):
    mask = Mask.parse("doc:lens=3+5 | causal", 8)
    cells = dense(mask).squeeze()
    np.testing.assert_array_equal(np.asarray(mask.to("bias", dtype="float32")).reshape(8, 8),
                                  np.where(cells, 0, -np.inf))
    np.testing.assert_array_equal(np.asarray(mask.to("cu_seqlens")), [0, 3, 8])
    runs = mask.to("runs")
    assert sorted(runs) == ["begin", "end", "indptr", "shape"]
    blocks = np.asarray(mask.to("blockmap", block=4, lossy=True)).reshape(2, 2)
    np.testing.assert_array_equal(blocks, [[1, 0], [1, 1]])
    with pytest.raises(Error, match="segments cannot hold this mask"):
        mask.to("segments")
    assert Mask(mask.to("bits"), "bits", shape=(8, 8)) == mask
    assert mask.__dlpack_device__() == (1, 0)
    assert "dltensor" in repr(mask.__dlpack__())
