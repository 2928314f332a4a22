"""The arguments of attention functions, one by one and in pairs: each is read, and the mask is that of plain loops, or is
named as not read, or cannot change the mask. Those of flash-attn are in test_library_calls.py."""

import dataclasses
import inspect
import itertools

import attention_signatures
import numpy as np
import pytest
from test_library_calls import ENDS_K, ENDS_Q, KEYS, QUERIES, cells, expected

from maskctl import Error
from maskctl._library_calls import at_default, mask_of_call

ARRAY = np.ones((2, 4, QUERIES, 8))
MASK = np.ones((QUERIES, KEYS), bool)
OTHER_Q, OTHER_K = [0, 5, 7], [0, 2, 9]


@dataclasses.dataclass
class Law:
    """What the arguments of a function do. `given`: what it needs at least."""

    given: dict = dataclasses.field(default_factory=dict)
    read: dict = dataclasses.field(default_factory=dict)  # argument: values that change the mask
    unread: dict = dataclasses.field(default_factory=dict)  # argument: a value that changes it
    silent: dict = dataclasses.field(default_factory=dict)  # argument: a value that is not its default
    size: tuple = (QUERIES, KEYS)
    top_left: bool = False
    plain: object = None  # makes [1, Q, K] of the arguments, where those of other libraries do not say it


_HF_SILENT = {"dropout": 0.1, "scaling": 0.5}
# What models hand on, through **kwargs.
_HF_MODELS = {"output_attentions": True, "output_hidden_states": True, "output_router_logits": True,
              "num_items_in_batch": 4, "seq_idx": np.zeros((1, 7), int)}
_HF_MORE = _HF_MODELS | {"softcap": 30.0, "s_aux": np.ones(4), "position_ids": np.arange(7)[None], "sliding_window": 4,
                         "cu_seq_lens_q": np.array(ENDS_Q), "cu_seq_lens_k": np.array(ENDS_K), "max_length_q": 4,
                         "max_length_k": 5}
_SILENT_PLAN = {"num_qo_heads": 8, "num_kv_heads": 2, "head_dim_qk": 64, "head_dim_vo": 64, "pos_encoding_mode": "ALIBI",
                "use_fp16_qk_reduction": True, "logits_soft_cap": 30.0, "sm_scale": 0.5, "rope_scale": 2.0, "rope_theta": 1e5,
                "q_data_type": "bfloat16", "kv_data_type": "bfloat16", "o_data_type": "bfloat16", "non_blocking": False,
                "token_pos_in_items_len": 3, "fixed_split_size": 4, "disable_split_kv": True, "max_token_per_sequence": 5,
                "max_sequence_kv": 5}
_UNREAD_PLAN = {"custom_mask": np.ones(63, bool), "packed_custom_mask": np.ones(8, "u1"), "prefix_len_ptr": np.ones(2, int),
                "token_pos_in_items_ptr": np.ones(7, int), "max_item_len_ptr": np.ones(2, int), "seq_lens": np.array([2, 3]),
                "seq_lens_q": np.array([2, 3])}



def _cudnn(given):
    """cudnn-frontend attn_score_modifiers.h, col + W > row: a left bound counts the own key."""
    at = np.arange(QUERIES)[:, None] + (KEYS - QUERIES if given["diagonal_alignment"] == "BOTTOM_RIGHT" else 0)
    left, right = given["diagonal_band_left_bound"], given["diagonal_band_right_bound"]
    right = 0 if given["use_causal_mask"] else right
    keys = np.arange(KEYS)[None]
    return ((keys > at - (KEYS + QUERIES if left is None else left)) & (keys <= at + (KEYS if right is None else right)))[None]


def _te(given):
    """check_set_window_size: a causal type has no right side; its alignment is in its name."""
    kind, (left, right) = given["attn_mask_type"], given.get("window_size") or (-1, -1)
    bottom = kind.endswith("bottom_right") if "causal" in kind else given.get("bottom_right_diagonal") in (None, True)
    at = np.arange(QUERIES)[:, None] + (KEYS - QUERIES if bottom else 0)
    if "causal" in kind:
        right = 0
    keys = np.arange(KEYS)[None]
    return ((keys >= at - (left if left >= 0 else KEYS + QUERIES)) & (keys <= at + (right if right >= 0 else KEYS)))[None]


def _vllm(given):
    window = given.get("per_layer_sliding_window")
    return cells(QUERIES, KEYS, True, None if window is None else (window - 1, 0), given.get("attention_chunk_size", 0))[None]


def _around(given):
    window = given.get("per_layer_sliding_window")
    return cells(QUERIES, KEYS, False, None if window is None else (window - 1,) * 2)[None]


_TE_UNREAD = {"attention_mask": MASK, "cu_seqlens_q": np.array(ENDS_Q), "cu_seqlens_kv": np.array(ENDS_K),
              "cu_seqlens_q_padded": np.array(ENDS_Q), "cu_seqlens_kv_padded": np.array(ENDS_K),
              "core_attention_bias": ARRAY, "inference_params": object(), "pad_between_seqs": True,
              "score_mod": lambda *_: 0, "cp_group": object(), "qkv_format": "thd"}
_TE_SILENT = {"num_attention_heads": 8, "kv_channels": 32, "num_gqa_groups": 2, "attention_dropout": 0.1,
              "sequence_parallel": True, "tp_size": 2, "get_rng_state_tracker": object(), "tp_group": object(),
              "layer_number": 1, "attention_type": "cross", "cp_global_ranks": [0, 1], "cp_stream": object(),
              "cp_comm_type": "a2a", "softmax_scale": 0.5, "softmax_type": "learnable", "return_max_logit": True, "name": "a",
              "max_seqlen_q": 5, "max_seqlen_kv": 5, "checkpoint_core_attention": True, "core_attention_bias_type": "alibi",
              "alibi_slopes": np.ones(4), "fast_zero_fill": False, "fp8_output": True, "bf16_backward": True, "num_splits": 2,
              "score_mod_bprop": object(), "score_mod_tensors": {"a": ARRAY}, "score_mod_bprop_tensors": {"a": ARRAY},
              "qkv_layer": ARRAY, "kv_layer": ARRAY, "qkv_interleave_dim": -2}
_VLLM = {"num_heads": 4, "head_size": 64, "scale": 0.5}
_VLLM_SILENT = {"num_kv_heads": 2, "alibi_slopes": [0.5], "cache_config": object(), "quant_config": object(),
                "kv_sharing_target_layer_name": "a", "prefix": "a", "num_heads": 8, "head_size": 32, "scale": 0.7}

LAWS = {
    "sdpa scaled_dot_product_attention": Law(
        read={"is_causal": [True]}, unread={"attn_mask": MASK}, top_left=True,
        silent={"dropout_p": 0.1, "scale": 0.5, "enable_gqa": True}),
    "varlen varlen_attn": Law(
        {"cu_seq_q": ENDS_Q, "cu_seq_k": ENDS_K, "max_q": 5, "max_k": 5},
        {"cu_seq_q": [OTHER_Q], "cu_seq_k": [OTHER_K], "window_size": [(-1, 0), (3, 1), (2, 0), (-1, 2), [1, 1]],
         "seqused_k": [[2, 1], [0, 2]]},
        {"block_table": np.ones((2, 3), int)},
        {"max_q": 6, "max_k": 7, "return_aux": object(), "scale": 0.5, "enable_gqa": True, "num_splits": 1}),
    "flex flex_attention": Law(
        unread={"score_mod": lambda *_: 0, "block_mask": object()},
        silent={"scale": 0.5, "enable_gqa": True, "return_lse": True, "kernel_options": {"BLOCK_M": 32}, "return_aux": object()}),
    "mha forward": Law(
        unread={"attn_mask": MASK, "key_padding_mask": np.zeros((2, KEYS), bool), "is_causal": True},
        silent={"need_weights": False, "average_attn_weights": False}),
    "mha multi_head_attention_forward": Law(
        dict.fromkeys(["in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj_weight", "out_proj_bias"]) |
        {"embed_dim_to_check": 32, "num_heads": 4, "dropout_p": 0.0, "add_zero_attn": False},
        unread={"attn_mask": MASK, "key_padding_mask": np.zeros((2, KEYS), bool), "is_causal": True, "bias_k": np.ones((1, 1, 32)),
                "bias_v": np.ones((1, 1, 32)), "add_zero_attn": True, "static_k": np.ones((8, 9, 8))},
        silent={"static_v": np.ones((8, 9, 8)), "embed_dim_to_check": 64, "num_heads": 8, "dropout_p": 0.1, "training": False,
                "need_weights": False, "average_attn_weights": False, "use_separate_proj_weight": True} |
        dict.fromkeys(["in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias", "q_proj_weight", "k_proj_weight",
                       "v_proj_weight"], np.ones((32, 32)))),
    **{f"xformers memory_efficient_attention{end}": Law(
        unread={"attn_bias": object()}, silent={"p": 0.1, "scale": 0.5, "op": object(), "output_dtype": object()})
       for end in ("", "_forward", "_forward_requires_grad", "_partial")},
    "flashinfer single_prefill_with_kv_cache": Law(
        read={"causal": [True], "window_left": [0, 3]},
        unread={"custom_mask": MASK, "packed_custom_mask": np.ones(8, "u1")},
        silent={key: _SILENT_PLAN[key] for key in ("pos_encoding_mode", "use_fp16_qk_reduction", "sm_scale", "logits_soft_cap",
                                                   "rope_scale", "rope_theta")} |
        {"scale_q": ARRAY, "scale_k": ARRAY, "scale_v": ARRAY, "o_dtype": "bfloat16", "kv_layout": "HND", "backend": "fa2",
         "return_lse": True, "kv_cache_sf": (ARRAY, ARRAY), "k_scale": 0.5, "v_scale": 0.5}),
    "flashinfer BatchPrefillWithRaggedKVCacheWrapper.plan": Law(
        {"qo_indptr": ENDS_Q, "kv_indptr": ENDS_K, "num_qo_heads": 4, "num_kv_heads": 4, "head_dim_qk": 128},
        {"qo_indptr": [OTHER_Q], "kv_indptr": [OTHER_K], "causal": [True], "window_left": [0, 3]}, _UNREAD_PLAN,
        _SILENT_PLAN | {"v_indptr": np.array(ENDS_K), "o_indptr": np.array(ENDS_Q)}),
    "flashinfer BatchPrefillWithPagedKVCacheWrapper.plan": Law(
        {"qo_indptr": ENDS_Q, "paged_kv_indptr": [0, 1, 3], "paged_kv_indices": [2, 7, 0],
         "paged_kv_last_page_len": np.array([4, 1]), "num_qo_heads": 4, "num_kv_heads": 4, "head_dim_qk": 128, "page_size": 4},
        {"qo_indptr": [OTHER_Q], "causal": [True], "window_left": [0, 3],
         ("paged_kv_indptr", "paged_kv_last_page_len"): [([0, 2, 3], np.array([2, 3]))],
         ("page_size", "paged_kv_last_page_len"): [(6, np.array([2, 1]))]},
        _UNREAD_PLAN | {"block_tables": np.ones((2, 3), int)}, _SILENT_PLAN | {"paged_kv_indices": np.array([5, 3, 4])}),
    "flashinfer single_decode_with_kv_cache": Law(
        read={"window_left": [0, 3]}, size=(1, KEYS),
        silent={key: _SILENT_PLAN[key] for key in ("pos_encoding_mode", "sm_scale", "logits_soft_cap", "rope_scale", "rope_theta")}
        | {"kv_layout": "HND", "use_tensor_cores": True, "q_scale": 0.5, "k_scale": 0.5, "v_scale": 0.5, "return_lse": True}),
    "flashinfer BatchDecodeWithPagedKVCacheWrapper.plan": Law(
        {"indptr": [0, 1, 3], "indices": [2, 7, 0], "last_page_len": np.array([4, 1]), "num_qo_heads": 4, "num_kv_heads": 4,
         "head_dim": 128, "page_size": 4},
        {"window_left": [0, 3], ("indptr", "last_page_len"): [([0, 2, 3], np.array([2, 3]))],
         ("page_size", "last_page_len"): [(6, np.array([2, 1]))]},
        size=(2, KEYS), unread={"block_tables": np.ones((2, 3), int), "window_right": 2, "q_len_per_req": 2},
        silent={key: value for key, value in _SILENT_PLAN.items() if key in attention_signatures._DECODE_PLAN} |
        {"head_dim": 64, "indices": np.array([5, 3, 4]), "data_type": "bfloat16", "seq_lens": np.array([3])}),
    "cudnn sdpa": Law(
        read={"use_causal_mask": [True], "diagonal_band_left_bound": [1, 4], "diagonal_band_right_bound": [0, 2],
              "diagonal_alignment": ["BOTTOM_RIGHT"]},
        unread={"bias": ARRAY, "block_mask": ARRAY, "use_padding_mask": True, "seq_len_q": np.array([3]),
                "seq_len_kv": np.array([3]), "use_causal_mask_bottom_right": True, "sliding_window_length": 3,
                "paged_attention_k_table": ARRAY, "paged_attention_v_table": ARRAY, "score_mod": lambda *_: 0},
        silent={"is_inference": False, "attn_scale": 0.5, "use_alibi_mask": True, "dropout": (0.1, ARRAY, ARRAY),
                "rng_dump": ARRAY, "paged_attention_max_seq_len_kv": 9, "compute_data_type": object(), "name": "a",
                "generate_stats": True, "implementation": object(), "score_max": ARRAY, "score_sum_exp": ARRAY,
                "sink_token": ARRAY, "unfuse_fma": True}, plain=_cudnn),
    "te DotProductAttention": Law(
        {"num_attention_heads": 4, "kv_channels": 64, "attn_mask_type": "causal"},
        {"attn_mask_type": ["no_mask", "causal_bottom_right"], "window_size": [(3, 0), (2, 2), (-1, -1)],
         "bottom_right_diagonal": [True, False]},
        _TE_UNREAD, _TE_SILENT, plain=_te),
    "vllm Attention": Law(
        _VLLM, {"per_layer_sliding_window": [1, 3]}, {"attn_type": "encoder_only", "chunk_lookback": 1},
        _VLLM_SILENT | {"logits_soft_cap": 30.0, "use_alibi_sqrt": True, "attn_backend": object(), "head_size_v": 64,
                        "sinks": np.ones(4)}, plain=_vllm),
    "vllm ChunkedLocalAttention": Law(_VLLM | {"attention_chunk_size": 3}, {"attention_chunk_size": [1, 4]}, {}, _VLLM_SILENT,
                                      plain=_vllm),
    "vllm EncoderOnlyAttention": Law(
        _VLLM, {"per_layer_sliding_window": [1, 3]}, {}, _VLLM_SILENT | {"attn_type": "encoder_only"}, plain=_around),
    "hf sdpa_attention_forward": Law(
        {"attention_mask": None, "is_causal": False}, {"is_causal": [True]},
        {"attention_mask": MASK, "position_bias": ARRAY, "cache": object()},
        _HF_SILENT | _HF_MORE, top_left=True),
    "hf flash_attention_forward": Law(
        {"attention_mask": None, "is_causal": False},
        {"is_causal": [True], "sliding_window": [1, 3], ("cu_seq_lens_q", "cu_seq_lens_k"): [(ENDS_Q, ENDS_K)]},
        {"attention_mask": np.ones((1, KEYS)), "cache": object(), "position_ids": np.arange(7)[None],
         "block_table": np.ones((1, 2), int)},
        _HF_SILENT | _HF_MODELS | {"softcap": 30.0, "s_aux": np.ones(4), "max_length_q": 4, "max_length_k": 5, "deterministic": True}),
    "hf flex_attention_forward": Law(
        {"attention_mask": None}, unread={"attention_mask": object(), "position_bias": ARRAY, "cache": object()},
        silent=_HF_SILENT | _HF_MORE | {"is_causal": True}),
    "hf eager_attention_forward": Law(
        {"attention_mask": None, "scaling": 1.0}, unread={"attention_mask": MASK, "cache": object()},
        silent=_HF_SILENT | _HF_MORE | {"is_causal": True}),
}

LEADING = {"self", "module", "query", "key", "value", "q", "k", "v", "query_layer", "key_layer", "value_layer"}
SAME = {"is_causal": "causal", "cu_seq_q": "cu_seqlens_q", "qo_indptr": "cu_seqlens_q", "cu_seq_lens_q": "cu_seqlens_q",
        "cu_seq_k": "cu_seqlens_k", "kv_indptr": "cu_seqlens_k", "cu_seq_lens_k": "cu_seqlens_k"}

CALLS = [(source, source.call or name, function) for source in attention_signatures.SOURCES for name, function in source.made()]


def law_of(source, name):
    return next(law for of, law in LAWS.items() if of.split()[0] == source.library and f".{name}".endswith(f".{of.split()[1]}"))


def plain(law, given):
    """[B, Q, K] in plain loops, of what is given by names of any library."""
    if law.plain:
        return law.plain(given)
    made = {SAME.get(key, key): value for key, value in given.items() if value is not None}
    if "window_left" in made:
        made["window_size"] = (made["window_left"], -1)
    if "sliding_window" in made:
        made["window_size"] = (made["sliding_window"] - 1,) * 2
    indptr, last = (made.get(f"paged_kv_{key}", made.get(key)) for key in ("indptr", "last_page_len"))
    if indptr is not None:
        keys = [(pages - 1) * made["page_size"] + n for pages, n in zip(np.diff(indptr), last)]
        made["cu_seqlens_k"] = np.cumsum([0, *keys])
        made.setdefault("cu_seqlens_q", np.arange(len(keys) + 1))
    if law.top_left:
        return np.tri(*law.size, dtype=bool)[None] if made["causal"] else np.ones((1, *law.size), bool)
    if "cu_seqlens_q" in made:
        return expected(made, True, KEYS)
    return cells(*law.size, **made)[None]


def base_of(law, function):
    parameters = inspect.signature(function).parameters
    given = {key: ARRAY for key in parameters if key in LEADING - {"self"}}
    given |= {key: one.default for key, one in parameters.items() if one.default is not one.empty}
    return given | {key: as_array(value) for key, value in law.given.items()}


def as_array(value):
    return np.array(value) if isinstance(value, list) and len(value) > 2 else value


def mask_of(source, name, function, law, given):
    return mask_of_call(source.library, name, law.size, given, at_default(function, given))


def readings(law):
    """Each value that is read, alone and beside each other one: {argument: value}."""
    single = [dict(zip(key, value)) if isinstance(key, tuple) else {key: value}
              for key, values in law.read.items() for value in values]
    return [{}, *single, *({**one, **other} for one, other in itertools.combinations(single, 2) if not set(one) & set(other))]


def fits(more):
    """Used lengths that fit into documents."""
    used, ends = more.get("seqused_k"), more.get("cu_seq_k", ENDS_K)
    return used is None or all(n <= m for n, m in zip(used, np.diff(ends)))


EACH = pytest.mark.parametrize("source, name, function", CALLS, ids=[f"{name} {source.file} {' '.join(source.versions)}" for source, name, _ in CALLS])


@EACH
def test_each_argument_is_either_read_unread_or_without_effect(source, name, function):
    law = law_of(source, name)
    read = set(itertools.chain.from_iterable(key if isinstance(key, tuple) else (key,) for key in law.read))
    arguments = {key for key, one in inspect.signature(function).parameters.items() if one.kind is not one.VAR_KEYWORD} - LEADING
    classes = [read, set(law.unread), set(law.silent)]
    assert sum(map(len, classes)) == len(set().union(*classes)), "an argument of two classes"
    assert arguments <= set().union(*classes), "an argument of no class"


@EACH
def test_each_argument_is_read_or_reported_or_without_effect(source, name, function):
    law = law_of(source, name)
    base = base_of(law, function)
    for more in filter(fits, readings(law)):
        given = base | {key: as_array(value) for key, value in more.items()}
        made = np.asarray(mask_of(source, name, function, law, given))[:, 0]
        np.testing.assert_array_equal(np.broadcast_to(made, (1, *law.size)), plain(law, given), err_msg=str(more))
        for key, value in law.silent.items():
            silent = np.asarray(mask_of(source, name, function, law, given | {key: value}))[:, 0]
            np.testing.assert_array_equal(silent, made, err_msg=key)
    for key, value in law.unread.items():
        with pytest.raises(Error) as raised:
            mask_of(source, name, function, law, base | {key: value})
        assert key in [one.split("=")[0] for one in str(raised.value).split(", ")]


@EACH
def test_an_unknown_argument_is_reported_unless_it_has_the_default(source, name, function):
    law = law_of(source, name)
    base = base_of(law, function)
    extra = inspect.Parameter("sliding_sinks", inspect.Parameter.KEYWORD_ONLY, default=0)
    wider = lambda: None
    parameters = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
    wider.__signature__ = inspect.Signature([*parameters, extra])
    mask_of(source, name, wider, law, base | {"sliding_sinks": 0})
    with pytest.raises(Error, match="^sliding_sinks=4$"):
        mask_of(source, name, wider, law, base | {"sliding_sinks": 4})
    with pytest.raises(Error, match="^sliding_sinks$"):
        mask_of(source, name, function, law, base | {"sliding_sinks": object()})


def test_sdpa_of_transformers_opens_all_keys_to_a_single_query():
    for queries in 1, 2:
        made = mask_of_call("hf", "sdpa_attention_forward", (queries, KEYS), {"is_causal": True, "attention_mask": None})
        assert made.count() == (KEYS if queries == 1 else 1 + 2)


def test_is_causal_none_is_refused_because_the_module_decides():
    for function in "sdpa_attention_forward", "flash_attention_forward":
        with pytest.raises(Error, match="is_causal: expected True or False"):
            mask_of_call("hf", function, (QUERIES, KEYS), {"is_causal": None})


def test_ends_of_queries_are_not_used_for_keys():
    with pytest.raises(Error, match="^cu_seq_q$"):
        mask_of_call("varlen", "varlen_attn", (QUERIES, KEYS), {"cu_seq_q": np.array(ENDS_Q), "cu_seq_k": None})
