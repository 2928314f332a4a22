"""Calls of flash-attn, argument by argument: each is read, or said not to be, or cannot change the mask."""

import inspect

import flash_attn_calls
import numpy as np
import pytest

from maskctl import Error
from maskctl._library_calls import about_mask, at_default, mask_of_call

QUERIES, KEYS = 7, 9
ENDS_Q, ENDS_K = [0, 3, 7], [0, 4, 9]

# Arguments that cannot close or open a cell, each with a value other than its default.
SILENT = {"dropout_p": 0.1, "softmax_scale": 0.5, "softcap": 30.0, "alibi_slopes": np.ones(4), "deterministic": True,
          "return_attn_probs": True, "qv": np.ones((2, 7, 4, 8)), "q_descale": np.ones((2, 4)),
          "k_descale": np.ones((2, 4)), "v_descale": np.ones((2, 4)), "num_splits": 3, "pack_gqa": True,
          "sm_margin": 8, "num_heads_q": 4, "scheduler_metadata": np.ones(3, int), "learnable_sink": np.ones(4),
          "aux_tensors": [np.ones(3)], "aux_scalars": (1,), "return_lse": True, "score_mod_bwd": lambda *_: 0,
          "max_seqlen": 5, "max_seqlen_q": 5, "max_seqlen_k": 5, "min_seqlen_k": 2, "seqlen_k_per_split": 64,
          "disable_scheduler_metadata": True, "v": np.ones((2, 2, 4, 8)), "rotary_cos": np.ones((9, 4)),
          "rotary_sin": np.ones((9, 4)), "rotary_interleaved": False, "rotary_seqlens": np.array([3, 4]),
          "return_softmax_lse": True}
# Arguments that change the mask and are not read, each with a value other than its default.
UNREAD = {"cache_batch_idx": np.array([1, 0]), "cache_leftpad": np.array([1, 2]), "block_table": np.ones((2, 3), int),
          "page_table": np.ones((2, 3), int), "cu_seqlens_k_new": np.array([0, 1, 2]),
          "gather_kv_indices": np.ones((2, 7, 4), int), "score_mod": lambda *_: 0, "mask_mod": lambda *_: True,
          "block_sparse_tensors": object(), "block_sparse_tensors_bwd": object(),
          "full_block_cnt": np.ones((1, 1, 1), int), "full_block_idx": np.ones((1, 1, 1, 1), int),
          "mask_block_cnt": np.ones((1, 1, 1), int), "mask_block_idx": np.ones((1, 1, 1, 1), int)}
# Values for the arguments that are read, alone and together.
READ = [{"causal": True}, {"window_size": (3, 1)}, {"window_size": (2, 0)}, {"attention_chunk": 3},
        {"causal": True, "window_size": (3, 5)}, {"causal": True, "attention_chunk": 4},
        {"window_size": (1, 2), "attention_chunk": 4}]
USED = [{"seqused_k": [2, 5]}, {"seqused_q": [2, 4]}, {"seqused_q": [1, 3], "seqused_k": [4, 3]}]
CACHED = [{"cache_seqlens": [8, 3]}, {"cache_seqlens": 6}, {"cache_seqlens": [4, 2], "k": np.ones((2, 3, 4, 8))}]
ARRAYS = {"q", "k", "v", "kv", "qkv", "k_cache", "v_cache"}


def cells(queries, keys, causal=False, window_size=None, attention_chunk=0, **_):
    """One document or batch entry in plain loops: its last query is aligned to its last key."""
    open_ = np.zeros((queries, keys), bool)
    left, right = ((None if n is None or n < 0 else n) for n in (window_size or (None, None)))
    for q in range(queries):
        at = q + keys - queries
        for k in range(keys):
            chunk = attention_chunk == 0 or at // attention_chunk == k // attention_chunk
            near = (left is None or k >= at - left) and (causal or right is None or k <= at + right)
            open_[q, k] = chunk and near and not (causal and k > at)
    return open_


def expected(given, documents, keys_of_cache):
    """[B, Q, K] of a call."""
    if documents:
        ends_q, ends_k = (np.asarray(given.get(name, given.get("cu_seqlens"))) for name in ("cu_seqlens_q", "cu_seqlens_k"))
        out = np.zeros((1, ends_q[-1], ends_k[-1]), bool)
        used_q = given.get("seqused_q", np.diff(ends_q))
        used_k = given.get("seqused_k", np.diff(ends_k))
        for q, k, n, m in zip(ends_q, ends_k, used_q, used_k):
            out[0, q:q + n, k:k + m] = cells(n, m, **given)
        return out
    used_k = np.atleast_1d(given.get("seqused_k", given.get("cache_seqlens", keys_of_cache)))
    used_k = used_k + (given["k"].shape[1] if given.get("k") is not None and "cache_seqlens" in given else 0)
    used_q = np.atleast_1d(given.get("seqused_q", QUERIES))
    entries = max(len(used_q), len(used_k))
    out = np.zeros((entries, QUERIES, keys_of_cache), bool)
    for entry, n, m in zip(range(entries), np.resize(used_q, entries), np.resize(used_k, entries)):
        out[entry, :n, :m] = cells(n, m, **given)
    return out


def base_of(name, function, padded=False):
    """What the function needs at least, and whether that is documents."""
    parameters = inspect.signature(function).parameters
    given = {key: one.default for key, one in parameters.items() if one.default is not one.empty}
    given |= {key: np.ones((2, 7, 4, 8)) for key in parameters if key in ARRAYS and key not in given}
    if "varlen" not in name or padded:
        return given, False
    given |= {"max_seqlen": 5} if "cu_seqlens" in parameters else {"max_seqlen_q": 5, "max_seqlen_k": 5}
    ends = {"cu_seqlens": np.array(ENDS_Q)} if "cu_seqlens" in parameters else \
        {"cu_seqlens_q": np.array(ENDS_Q), "cu_seqlens_k": np.array(ENDS_K)}
    return given | ends, True


def mask_of(name, function, given, size=(QUERIES, KEYS)):
    return mask_of_call("fa", name, size, given, at_default(function, given))


def check(name, function, base, documents, more):
    given = base | {key: np.array(value) if isinstance(value, list) else value for key, value in more.items()}
    keys = QUERIES if "qkv" in name else KEYS
    wanted = expected({key: value for key, value in given.items() if value is not None}, documents, keys)
    made = np.asarray(mask_of(name, function, given, (QUERIES, keys)))
    assert np.array_equal(np.broadcast_to(made[:, 0], wanted.shape), wanted), (name, more)


CALLS = list(flash_attn_calls.functions())


@pytest.mark.parametrize("version, name, function", CALLS, ids=[f"{name} {version}" for version, name, _ in CALLS])
def test_each_argument_is_read_or_reported_as_unread(version, name, function):
    base, documents = base_of(name, function)
    check(name, function, base, documents, {})
    read = set()
    for more in READ + (USED if documents else []) + (CACHED if "kvcache" in name else []):
        for flags in {}, {"causal": True}, {"window_size": (2, 1), "causal": False}:
            if set(more) | set(flags) <= set(base):
                check(name, function, base, documents, flags | more)
                read |= set(more)
    for key, value in base.items():
        if key in SILENT and not (key == "v" and "kvcache" not in name):
            check(name, function, base | {key: SILENT[key]}, documents, {"causal": True})
            read.add(key)
        if key in UNREAD or (key == "cu_seqlens_q" and "kvcache" in name):
            with pytest.raises(Error, match=f"^{key}$"):
                mask_of(name, function, base | {key: UNREAD.get(key, np.array(ENDS_Q))})
            read.add(key)
    unclassified = set(base) - read - ARRAYS - {"cu_seqlens_q", "cu_seqlens_k", "cu_seqlens"}
    assert not unclassified, "an argument of no class"


@pytest.mark.parametrize("version, name, function", CALLS, ids=[f"{name} {version}" for version, name, _ in CALLS])
def test_unknown_arguments_are_reported_unless_they_have_the_default(version, name, function):
    base, _ = base_of(name, function)
    signature = inspect.signature(function)
    extra = inspect.Parameter("sliding_sinks", inspect.Parameter.KEYWORD_ONLY, default=0)
    wider = lambda: None
    wider.__signature__ = signature.replace(parameters=[*signature.parameters.values(), extra])
    mask_of(name, wider, base | {"sliding_sinks": 0}, (QUERIES, QUERIES if "qkv" in name else KEYS))
    with pytest.raises(Error, match="^sliding_sinks=4$"):
        mask_of(name, wider, base | {"sliding_sinks": 4})


def test_lengths_without_cumulative_lengths_are_those_of_batch_entries():
    for version, name, function in CALLS:
        if "varlen" not in name or version != "4":
            continue
        base, documents = base_of(name, function, padded=True)
        for more in USED:
            for flags in {}, {"causal": True}, {"window_size": (2, 1)}:
                check(name, function, base, documents, flags | more)
        with pytest.raises(Error, match="^cu_seqlens_q$"):
            mask_of(name, function, base | {"cu_seqlens_q": np.array(ENDS_Q)})
        with pytest.raises(Error, match="^cu_seqlens_k$"):
            mask_of(name, function, base | {"cu_seqlens_k": np.array(ENDS_K)})


@pytest.mark.parametrize("window, causal, sides", [
    ((-1, 3), False, (-1, 3)), ((-2, 1), False, (None, None)), ((3, -2), False, (3, -2)), ((None, -2), False, (None, -2)),
    ((-1, None), False, (-1, None)), ((-1, 5), True, (None, 0)), ((2, None), True, (2, 0))])
def test_negative_window_sides_are_bounds_only_in_version_4(window, causal, sides):
    """cute/interface.py _resolve_causal_local_window; before, a negative side is no end."""
    at = np.arange(QUERIES)[:, None] + KEYS - QUERIES
    keys = np.arange(KEYS)[None]
    left, right = sides
    wanted = (keys >= at - (KEYS if left is None else left)) & (keys <= at + (KEYS if right is None else right))
    made = mask_of_call("fa", "flash_attn.cute.flash_attn_func", (QUERIES, KEYS), {"window_size": window, "causal": causal})
    assert np.array_equal(np.asarray(made)[0, 0], wanted)
    if None not in window:
        before = mask_of_call("fa", "flash_attn.flash_attn_func", (QUERIES, KEYS), {"window_size": window, "causal": causal})
        assert np.array_equal(np.asarray(before)[0, 0], cells(QUERIES, KEYS, causal, window))


@pytest.mark.parametrize("given, words", [
    ({"cu_seqlens_q": None, "cu_seqlens_k": None, "causal": "maybe"}, "^causal: expected True or False$"),
    ({"cu_seqlens_q": np.array([1, 3]), "cu_seqlens_k": np.array([0, 3])}, "start at 0"),
    ({"cu_seqlens_q": np.ones(3), "cu_seqlens_k": np.ones(3)}, "^cu_seqlens_q, cu_seqlens_k"),
    ({"cu_seqlens_q": np.array([0, 7]), "cu_seqlens_k": np.array([0, 9]), "seqused_k": np.array([10])}, "9 keys, of which"),
    ({"cu_seqlens_q": np.array([0, 7]), "cu_seqlens_k": np.array([0, 9]), "seqused_k": np.array([1, 1])}, "1 documents"),
    ({"window_size": (1 << 40, 0)}, "window_size")])
def test_values_that_the_library_refuses_are_errors(given, words):
    with pytest.raises(Error, match=words):
        mask_of_call("fa", "flash_attn_interface.flash_attn_varlen_func", (QUERIES, KEYS), given)


def test_flags_may_be_arrays():
    for causal in np.bool_(True), np.array(True), np.array(1):
        made = mask_of_call("fa", "flash_attn_func", (QUERIES, KEYS), {"causal": causal})
        assert np.array_equal(np.asarray(made)[0, 0], cells(QUERIES, KEYS, True))


def test_functions_and_libraries_without_a_row_are_told():
    with pytest.raises(Error, match="fa: no function flash_attn_combine is known"):
        mask_of_call("fa", "flash_attn_combine", (1, 1), {})
    with pytest.raises(Error, match="no library far"):
        about_mask("far", "flash_attn_func")


@pytest.mark.parametrize("causal", [True, False])
def test_windows_of_transformers_include_the_key_of_the_query(causal):
    """integrations/flash_attention.py gives flash-attn (W - 1, W - 1)."""
    given = {"is_causal": causal, "sliding_window": 3, "cu_seq_lens_q": None, "cu_seq_lens_k": None}
    made = mask_of_call("hf", "flash_attention_forward", (QUERIES, KEYS), given)
    assert np.array_equal(np.asarray(made)[0, 0], cells(QUERIES, KEYS, causal, (2, 2)))
    ends = {"cu_seq_lens_q": np.array(ENDS_Q), "cu_seq_lens_k": np.array(ENDS_K)}
    made = mask_of_call("hf", "flash_attention_forward", (QUERIES, KEYS), given | ends)
    wanted = expected({"cu_seqlens_q": ENDS_Q, "cu_seqlens_k": ENDS_K, "causal": causal, "window_size": (2, 2)}, True, KEYS)
    assert np.array_equal(np.asarray(made)[0, 0], wanted[0])
