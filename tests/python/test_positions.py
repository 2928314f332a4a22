"""Calls of flash-attn over packed sequences, caches and pages: the masks of watch() in positions, and what prove= says of stand-ins,
beside what these apply. Tested where torch is installed."""

import importlib

import pytest

torch = pytest.importorskip("torch")

import flash_attn_stand_ins
import maskctl

DRAW = torch.Generator().manual_seed(3)
HEADS, KEY_HEADS, DIM, SIZE = 4, 2, 32, 16
USED = [37, 5, 64]


def drawn(*shape):
    return torch.randn(*shape, DIM, generator=DRAW)


def whole(*numbers):
    return torch.tensor(numbers, dtype=torch.int32)


def packed():
    return {"q": drawn(70, HEADS), "k": drawn(90, KEY_HEADS), "v": drawn(90, KEY_HEADS), "cu_seqlens_q": whole(0, 30, 31, 70),
            "cu_seqlens_k": whole(0, 40, 45, 90), "max_seqlen_q": 39, "max_seqlen_k": 45}


def cached():
    return {"q": drawn(3, 4, HEADS), "k_cache": drawn(5, 80, KEY_HEADS), "v_cache": drawn(5, 80, KEY_HEADS),
            "k": drawn(3, 4, KEY_HEADS), "v": drawn(3, 4, KEY_HEADS), "cache_seqlens": whole(*USED),
            "cache_batch_idx": whole(4, 0, 2), "cache_leftpad": whole(3, 0, 11)}


def packed_cache():
    ends = whole(0, 4, 5, 12)
    return cached() | {"q": drawn(12, HEADS), "cu_seqlens_q": ends, "k": drawn(12, KEY_HEADS), "v": drawn(12, KEY_HEADS),
                       "cu_seqlens_k_new": ends, "max_seqlen_q": 7}


def pages():
    return {"k": drawn(12, SIZE, KEY_HEADS), "v": drawn(12, SIZE, KEY_HEADS)}, whole(*[
        [7, 1, 4, 0, 0], [2, -1, -1, -1, -1], [3, 8, 0, 5, 9]])


def paged_cache():
    pool, table = pages()
    return {"q": drawn(3, 1, HEADS), "k_cache": pool["k"], "v_cache": pool["v"], "cache_seqlens": whole(*USED), "block_table": table}


def paged(name="block_table"):
    pool, table = pages()
    return pool | {"q": drawn(9, HEADS), "cu_seqlens_q": whole(0, 6, 7, 9), "cu_seqlens_k": whole(0, 37, 42, 106), "max_seqlen_q": 6,
                   "max_seqlen_k": 64, name: table}


def paged_batch():
    given = paged("page_table")
    del given["cu_seqlens_k"], given["cu_seqlens_q"], given["max_seqlen_q"], given["max_seqlen_k"]
    return given | {"q": drawn(3, 4, HEADS), "seqused_k": whole(*USED), "seqused_q": whole(4, 1, 3)}


CALLS = {"packed": ("flash_attn.flash_attn_varlen_func", packed, ["window", "top-left", "documents"]),
         "cached": ("flash_attn.flash_attn_with_kvcache", cached, ["window", "top-left", "longer", "shorter", "padding", "entries"]),
         "packed cache": ("flash_attn_interface.flash_attn_with_kvcache", packed_cache, ["window", "longer", "padding"]),
         "paged cache": ("flash_attn.flash_attn_with_kvcache", paged_cache, ["window", "longer", "shorter", "pages", "stranger"]),
         "paged": ("flash_attn.flash_attn_varlen_func", paged, ["window", "top-left", "longer", "pages", "stranger"]),
         "paged batch": ("flash_attn.cute.flash_attn_varlen_func", paged_batch, ["window", "longer", "pages", "stranger"])}


class Layer(torch.nn.Module):
    def __init__(self, name, given):
        super().__init__()
        self.name, self.given = name, given

    def forward(self):
        module, _, function = self.name.rpartition(".")
        return getattr(importlib.import_module(module), function)(**self.given)


def watched(name, given, fault=None):
    kernels = flash_attn_stand_ins.Kernels()
    kernels.fault = fault
    with kernels.installed():
        layer = Layer(name, given)
        with maskctl.watch(layer, prove=64) as run:
            layer()
    call, = run.calls
    return run, call, kernels.applied[0]


@pytest.mark.parametrize("flags", [{}, {"causal": True}, {"window_size": (9, 2)}, {"causal": True, "window_size": (9, -1)}])
@pytest.mark.parametrize("kind", CALLS)
def test_the_masks_of_packed_and_cached_calls_are_those_of_positions(kind, flags):
    name, make, _ = CALLS[kind]
    if "cute" in name and "window_size" in flags:
        flags = flags | {"window_size": (9, 2)}
    run, call, applied = watched(name, make() | flags)
    cells = torch.from_dlpack(call.mask).bool().reshape(call.mask.shape)[:, 0]
    for entry, mask in enumerate(applied if isinstance(applied, list) else [applied]):
        keys = cells.shape[2]
        expected = torch.zeros(cells.shape[1:], dtype=torch.bool)
        expected[:len(mask), :mask.shape[1]] = mask[:, :keys]
        assert torch.equal(cells[entry], expected) and not mask[:, keys:].any()
    assert call.known == "given" and call.obeys and "0 differ from what was given" in call.applied
    assert f"({call.applied})" in run.table()


@pytest.mark.parametrize("kind, fault", [(kind, fault) for kind, (_, _, faults) in CALLS.items() for fault in faults])
def test_faults_of_packed_and_cached_calls_are_found(kind, fault):
    name, make, _ = CALLS[kind]
    window = {"causal": True, "window_size": (9, 0)} if fault in ("window", "top-left", "shorter") else {}
    run, call, _ = watched(name, make() | window, fault)
    assert call.obeys is False and not run.check(), call.applied
    if kind == "packed" and fault == "documents":
        assert "the first sequence 0, head 0, query " in call.applied and " of sequence " in call.applied
    if fault == "stranger":
        assert "they obey no mask that was tried" in call.applied or "differ from" in call.applied


def test_the_row_names_a_position_without_a_cache_slot():
    given = paged_cache()
    given["block_table"][0, 1] = -1
    _, call, _ = watched("flash_attn.flash_attn_with_kvcache", given)
    assert call.mask is not None and call.applied == (
        "not solved position 16 of batch entry 0 is in no slot of the 12 pages of 16")


@pytest.mark.parametrize("more, words", [({"rotary_cos": torch.ones(80, 16)}, "beside rotary_cos"), ({"softcap": 0.5}, "0 differ")])
def test_the_row_names_arguments_that_change_queries(more, words):
    assert words in watched("flash_attn.flash_attn_with_kvcache", cached() | more)[1].applied


def test_slopes_and_sinks_are_part_of_the_judged_call():
    for kind, more in (("packed", {"alibi_slopes": torch.rand(HEADS)}), ("cached", {"alibi_slopes": torch.rand(HEADS)}),
                       ("paged batch", {"learnable_sink": torch.randn(HEADS)})):
        name, make, _ = CALLS[kind]
        assert watched(name, make() | more)[1].obeys
    name, make, _ = CALLS["packed"]
    _, call, _ = watched(name, make() | {"alibi_slopes": torch.full((HEADS,), 0.5)}, "alibi")
    assert call.obeys is False and "without bias" in call.applied


def test_packed_calls_of_torch_are_read(monkeypatch):
    varlen = pytest.importorskip("torch.nn.attention.varlen")
    kernels = flash_attn_stand_ins.Kernels()

    def varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, scale=None, window_size=(-1, -1), seqused_k=None,
                    block_table=None):
        more = {} if block_table is None else {"page_table": block_table, "seqused_k": seqused_k}
        return kernels.modules["flash_attn.cute"].flash_attn_varlen_func(
            query, key, value, cu_seqlens_q=cu_seq_q, cu_seqlens_k=cu_seq_k, window_size=window_size, **more)

    monkeypatch.setattr(varlen, "varlen_attn", varlen_attn)
    for make, more, window in ((packed, {}, (9, 0)), (paged, {"seqused_k": whole(*USED)}, (9, 3))):
        given = make()
        layer = Layer("torch.nn.attention.varlen.varlen_attn", more | {
            "query": given["q"], "key": given["k"], "value": given["v"], "cu_seq_q": given["cu_seqlens_q"], "max_q": 39, "max_k": 64,
            "cu_seq_k": given["cu_seqlens_k"], "window_size": window, "block_table": given.get("block_table")})
        with maskctl.watch(layer, prove=64) as run:
            layer()
        assert run.calls[0].mask is not None, run.calls[0].unread
        applied = kernels.applied.pop()
        cells = torch.from_dlpack(run.calls[0].mask).bool()[:, 0]
        for entry, mask in enumerate(applied if isinstance(applied, list) else [applied]):
            assert torch.equal(cells[entry, :len(mask)], mask[:, :cells.shape[2]])
        assert run.calls[0].obeys and run.calls[0].function == "varlen_attn"
