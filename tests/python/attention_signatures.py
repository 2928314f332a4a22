"""Attention functions of other libraries as their arguments: those of flash-attn are in flash_attn_calls.py. Read from
the files named, at these versions; tests/peers/signatures.py compares what is installed. None of their code is here."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Source:
    library: str  # whose rows of translate read the calls
    package: str
    versions: tuple  # that have these signatures, as far as they were looked at
    file: str
    module: str  # where the functions are, and the class of methods
    functions: dict
    call: str = ""  # by which the rows know it, if that is another name

    def made(self):
        """(dotted name, a function of that signature) for each."""
        for name, signature in self.functions.items():
            names = {}
            exec(f"def {name}({signature}): pass", names)
            yield f"{self.module}.{name}", names[name]


_SDPA = "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False"
_VARLEN = ("query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None, window_size=(-1, -1), "
           "enable_gqa=False, seqused_k=None, block_table=None, num_splits=None")
_MHA = ("query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, "
        "dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None, "
        "use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, "
        "static_v=None, average_attn_weights=True, is_causal=False")
_EFFICIENT = "query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None, output_dtype=None"
_PREFILL = ("q, k, v, scale_q=None, scale_k=None, scale_v=None, o_dtype=None, custom_mask=None, packed_custom_mask=None, "
            "causal=False, kv_layout='NHD', pos_encoding_mode='NONE', use_fp16_qk_reduction=False, sm_scale=None, "
            "window_left=-1, logits_soft_cap=None, rope_scale=None, rope_theta=None, backend='auto', return_lse=False, "
            "kv_cache_sf=None, k_scale=None, v_scale=None")
_RAGGED = ("self, qo_indptr, kv_indptr, num_qo_heads, num_kv_heads, head_dim_qk, head_dim_vo=None, custom_mask=None, "
           "packed_custom_mask=None, causal=False, pos_encoding_mode='NONE', use_fp16_qk_reduction=False, window_left=-1, "
           "logits_soft_cap=None, sm_scale=None, rope_scale=None, rope_theta=None, q_data_type='float16', kv_data_type=None, "
           "o_data_type=None, non_blocking=True, prefix_len_ptr=None, token_pos_in_items_ptr=None, token_pos_in_items_len=0, "
           "max_item_len_ptr=None, fixed_split_size=None, disable_split_kv=False, seq_lens=None, seq_lens_q=None, "
           "max_token_per_sequence=None, max_sequence_kv=None, v_indptr=None, o_indptr=None")
_PAGED = ("self, qo_indptr, paged_kv_indptr, paged_kv_indices, paged_kv_last_page_len, num_qo_heads, num_kv_heads, "
          "head_dim_qk, page_size, head_dim_vo=None, custom_mask=None, packed_custom_mask=None, causal=False, "
          "pos_encoding_mode='NONE', use_fp16_qk_reduction=False, sm_scale=None, window_left=-1, logits_soft_cap=None, "
          "rope_scale=None, rope_theta=None, q_data_type='float16', kv_data_type=None, o_data_type=None, non_blocking=True, "
          "prefix_len_ptr=None, token_pos_in_items_ptr=None, token_pos_in_items_len=0, max_item_len_ptr=None, seq_lens=None, "
          "seq_lens_q=None, block_tables=None, max_token_per_sequence=None, max_sequence_kv=None, fixed_split_size=None, "
          "disable_split_kv=False")
_DECODE = ("q, k, v, kv_layout='NHD', pos_encoding_mode='NONE', use_tensor_cores=False, q_scale=None, k_scale=None, "
           "v_scale=None, window_left=-1, logits_soft_cap=None, sm_scale=None, rope_scale=None, rope_theta=None, "
           "return_lse=False")
# The signature of _plan_impl(), to which plan() passes its **kwargs.
_DECODE_PLAN = ("self, indptr, indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size, *, "
                "pos_encoding_mode='NONE', window_left=-1, window_right=0, logits_soft_cap=None, q_data_type='float16', "
                "kv_data_type=None, o_data_type=None, data_type=None, sm_scale=None, rope_scale=None, rope_theta=None, "
                "non_blocking=True, block_tables=None, seq_lens=None, fixed_split_size=None, disable_split_kv=False, "
                "q_len_per_req=1")
# Defaults that are members of an enumeration are written as their names.
_CUDNN = ("q, k, v, is_inference=None, attn_scale=None, bias=None, block_mask=None, use_alibi_mask=False, "
          "use_padding_mask=False, seq_len_q=None, seq_len_kv=None, use_causal_mask=False, use_causal_mask_bottom_right=False, "
          "sliding_window_length=None, diagonal_alignment='TOP_LEFT', diagonal_band_left_bound=None, "
          "diagonal_band_right_bound=None, dropout=None, rng_dump=None, paged_attention_k_table=None, "
          "paged_attention_v_table=None, paged_attention_max_seq_len_kv=None, compute_data_type='NOT_SET', name='', "
          "score_mod=None, generate_stats=None, implementation='AUTO', score_max=None, score_sum_exp=None, sink_token=None, "
          "unfuse_fma=False")
# The signature of Transformer Engine's class. Its call repeats the arguments about the mask.
_TE = ("num_attention_heads, kv_channels, num_gqa_groups=None, attention_dropout=0.0, qkv_format='sbhd', "
       "attn_mask_type='causal', window_size=None, bottom_right_diagonal=None, sequence_parallel=False, tp_size=1, "
       "get_rng_state_tracker=None, tp_group=None, layer_number=None, attention_type='self', cp_group=None, "
       "cp_global_ranks=None, cp_stream=None, cp_comm_type='p2p', softmax_scale=None, softmax_type='vanilla', "
       "return_max_logit=False, name=None")
_TE_CALL = ("self, query_layer=None, key_layer=None, value_layer=None, attention_mask=None, qkv_format=None, cu_seqlens_q=None, "
            "cu_seqlens_kv=None, cu_seqlens_q_padded=None, cu_seqlens_kv_padded=None, max_seqlen_q=None, max_seqlen_kv=None, "
            "attn_mask_type=None, window_size=None, bottom_right_diagonal=None, checkpoint_core_attention=False, "
            "core_attention_bias_type='no_bias', core_attention_bias=None, alibi_slopes=None, fast_zero_fill=True, "
            "inference_params=None, pad_between_seqs=None, fp8_output=False, bf16_backward=False, num_splits=1, score_mod=None, "
            "score_mod_bprop=None, score_mod_tensors=None, score_mod_bprop_tensors=None, qkv_layer=None, kv_layer=None, "
            "qkv_interleave_dim=-3")
_VLLM = ("num_heads, head_size, scale, num_kv_heads=None, alibi_slopes=None, use_alibi_sqrt=None, cache_config=None, "
         "quant_config=None, logits_soft_cap=None, per_layer_sliding_window=None, prefix='', attn_type='AttentionType.DECODER', "
         "kv_sharing_target_layer_name=None, attn_backend=None, head_size_v=None, **extra_impl_args")
_VLLM_CHUNKS = ("num_heads, head_size, scale, attention_chunk_size, num_kv_heads=None, alibi_slopes=None, "
                "cache_config=None, quant_config=None, kv_sharing_target_layer_name=None, prefix=''")
_VLLM_ENCODER = "num_heads, head_size, scale, cache_config=None, attn_type=None, **kwargs"
_HF = "module, query, key, value, attention_mask"
_HF_SDPA = f"{_HF}, dropout=0.0, scaling=None, is_causal=None, position_bias=None"
_HF_FLASH = f"{_HF}, dropout=0.0, scaling=None, sliding_window=None, softcap=None, is_causal=None, s_aux=None"
_HF_FLEX = f"{_HF}, scaling=None, softcap=None, s_aux=None, position_bias=None, **kwargs"
_HF_EAGER = f"{_HF}, scaling, dropout=0.0, **kwargs"

_TORCH = ("torch", ("2.15.0",))
_FLASHINFER = ("flashinfer", ("0.6.18",))
_WITHOUT_CACHE = ("transformers", ("5.17.0", "5.24.0"))
_WITH_CACHE = ("transformers", ("5.20.2", "5.22.2", "5.23.0"))
_ALL = ("transformers", ("5.17.0", "5.20.2", "5.22.2", "5.23.0", "5.24.0"))
_HOME = "transformers.integrations"
_DOT = "transformer_engine/pytorch/attention/dot_product_attention/dot_product_attention"
_VLLM_HOME = "vllm/model_executor/layers/attention"

SOURCES = [
    Source("sdpa", *_TORCH, "torch/nn/functional.py", "torch.nn.functional", {"scaled_dot_product_attention": _SDPA}),
    Source("varlen", *_TORCH, "torch/nn/attention/varlen.py", "torch.nn.attention.varlen", {"varlen_attn": _VARLEN}),
    Source("varlen", "torch", ("2.11.0",), "torch/nn/attention/varlen.py", "torch.nn.attention.varlen",
           {"varlen_attn": _VARLEN[:_VARLEN.index(", enable_gqa")]}),
    Source("flex", *_TORCH, "torch/nn/attention/flex_attention.py", "torch.nn.attention.flex_attention",
           {"flex_attention": "query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, "
                              "return_lse=False, kernel_options=None, *, return_aux=None"}),
    Source("mha", *_TORCH, "torch/nn/modules/activation.py", "torch.nn.MultiheadAttention",
           {"forward": "self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, "
                       "average_attn_weights=True, is_causal=False"}),
    Source("mha", *_TORCH, "torch/nn/functional.py", "torch.nn.functional", {"multi_head_attention_forward": _MHA}),
    Source("xformers", "xformers", ("0.0.35",), "xformers/ops/fmha/__init__.py at bed3978b", "xformers.ops.fmha",
           {"memory_efficient_attention": _EFFICIENT, "memory_efficient_attention_forward": _EFFICIENT,
            "memory_efficient_attention_forward_requires_grad": _EFFICIENT,
            "memory_efficient_attention_partial": _EFFICIENT}),
    Source("flashinfer", *_FLASHINFER, "flashinfer/prefill.py at fb28d724", "flashinfer.prefill",
           {"single_prefill_with_kv_cache": _PREFILL}),
    Source("flashinfer", *_FLASHINFER, "flashinfer/prefill.py at fb28d724",
           "flashinfer.prefill.BatchPrefillWithRaggedKVCacheWrapper", {"plan": _RAGGED}),
    Source("flashinfer", *_FLASHINFER, "flashinfer/prefill.py at fb28d724",
           "flashinfer.prefill.BatchPrefillWithPagedKVCacheWrapper", {"plan": _PAGED}),
    Source("flashinfer", *_FLASHINFER, "flashinfer/decode.py at fb28d724", "flashinfer.decode",
           {"single_decode_with_kv_cache": _DECODE}),
    Source("flashinfer", *_FLASHINFER, "flashinfer/decode.py at fb28d724",
           "flashinfer.decode.BatchDecodeWithPagedKVCacheWrapper", {"_plan_impl": _DECODE_PLAN},
           "BatchDecodeWithPagedKVCacheWrapper.plan"),
    Source("cudnn", "cudnn", ("1.23.0",), "python/pygraph/sdpa.cpp of cudnn-frontend at 3929da2e", "cudnn.pygraph",
           {"sdpa": _CUDNN}),
    Source("te", "transformer_engine", ("2.20.0.dev0",), f"{_DOT}.py at d0067d0d", "transformer_engine.pytorch",
           {"DotProductAttention": _TE}),
    Source("te", "transformer_engine", ("2.20.0.dev0",), f"{_DOT}.py at d0067d0d",
           "transformer_engine.pytorch.DotProductAttention", {"forward": _TE_CALL}, "DotProductAttention"),
    Source("vllm", "vllm", (), f"{_VLLM_HOME}/attention.py at 0014ca6b", "vllm.model_executor.layers.attention", {"Attention": _VLLM}),
    Source("vllm", "vllm", (), f"{_VLLM_HOME}/chunked_local_attention.py at 0420dfc4", "vllm.model_executor.layers.attention",
           {"ChunkedLocalAttention": _VLLM_CHUNKS}),
    Source("vllm", "vllm", (), f"{_VLLM_HOME}/encoder_only_attention.py at 03b1efa0", "vllm.model_executor.layers.attention",
           {"EncoderOnlyAttention": _VLLM_ENCODER}),
    Source("hf", *_WITHOUT_CACHE, "integrations/sdpa_attention.py", f"{_HOME}.sdpa_attention",
           {"sdpa_attention_forward": f"{_HF_SDPA}, **kwargs"}),
    Source("hf", *_WITH_CACHE, "integrations/sdpa_attention.py", f"{_HOME}.sdpa_attention",
           {"sdpa_attention_forward": f"{_HF_SDPA}, cache=None, **kwargs"}),
    Source("hf", *_WITHOUT_CACHE, "integrations/flash_attention.py", f"{_HOME}.flash_attention",
           {"flash_attention_forward": f"{_HF_FLASH}, **kwargs"}),
    Source("hf", *_WITH_CACHE, "integrations/flash_attention.py", f"{_HOME}.flash_attention",
           {"flash_attention_forward": f"{_HF_FLASH}, cache=None, **kwargs"}),
    Source("hf", *_ALL, "integrations/flex_attention.py", f"{_HOME}.flex_attention", {"flex_attention_forward": _HF_FLEX}),
    Source("hf", *_ALL, "models/llama/modeling_llama.py", "transformers.models.llama.modeling_llama",
           {"eager_attention_forward": _HF_EAGER}),
]
