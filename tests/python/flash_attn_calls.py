"""The functions of flash-attn as their arguments: version -> (module, {function: signature}). Of version 2
flash_attn/flash_attn_interface.py, of 3 hopper/flash_attn_interface.py, of 4 flash_attn/cute/interface.py,
at flash-attention 0251105. None of their code is here."""

_FLAGS_2 = ("dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None, "
            "deterministic=False, return_attn_probs=False")
_FLAGS_3 = ("softmax_scale=None, causal=False, qv=None, q_descale=None, k_descale=None, v_descale=None, "
            "window_size=(-1, -1), attention_chunk=0, softcap=0.0, num_splits=1, pack_gqa=None, deterministic=False, "
            "sm_margin=0, return_attn_probs=False")
_DOCUMENTS = "cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k"

SIGNATURES = {
    "2": ("flash_attn", {
        "flash_attn_func": f"q, k, v, {_FLAGS_2}",
        "flash_attn_qkvpacked_func": f"qkv, {_FLAGS_2}",
        "flash_attn_kvpacked_func": f"q, kv, {_FLAGS_2}",
        "flash_attn_varlen_func": f"q, k, v, {_DOCUMENTS}, {_FLAGS_2}, block_table=None",
        "flash_attn_varlen_qkvpacked_func": f"qkv, cu_seqlens, max_seqlen, {_FLAGS_2}",
        "flash_attn_varlen_kvpacked_func": f"q, kv, {_DOCUMENTS}, {_FLAGS_2}",
        "flash_attn_with_kvcache":
            "q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None, cache_seqlens=None, "
            "cache_batch_idx=None, cache_leftpad=None, block_table=None, softmax_scale=None, causal=False, "
            "window_size=(-1, -1), softcap=0.0, rotary_interleaved=True, alibi_slopes=None, num_splits=0, "
            "return_softmax_lse=False",
    }),
    "3": ("flash_attn_interface", {
        "flash_attn_func": f"q, k, v, {_FLAGS_3}",
        "flash_attn_qkvpacked_func":
            "qkv, softmax_scale=None, causal=False, q_descale=None, k_descale=None, v_descale=None, "
            "window_size=(-1, -1), attention_chunk=0, softcap=0.0, deterministic=False, num_heads_q=None, sm_margin=0, "
            "return_attn_probs=False",
        "flash_attn_varlen_func": f"q, k, v, {_DOCUMENTS}, seqused_q=None, seqused_k=None, {_FLAGS_3}",
        "flash_attn_with_kvcache":
            "q, k_cache, v_cache, k=None, v=None, qv=None, rotary_cos=None, rotary_sin=None, cache_seqlens=None, "
            "cache_batch_idx=None, cache_leftpad=None, page_table=None, cu_seqlens_q=None, cu_seqlens_k_new=None, "
            "max_seqlen_q=None, rotary_seqlens=None, q_descale=None, k_descale=None, v_descale=None, "
            "softmax_scale=None, causal=False, window_size=(-1, -1), attention_chunk=0, softcap=0.0, "
            "rotary_interleaved=True, scheduler_metadata=None, num_splits=0, pack_gqa=None, sm_margin=0, "
            "return_softmax_lse=False",
    }),
    "4": ("flash_attn.cute", {
        "flash_attn_func":
            "q, k, v, qv=None, gather_kv_indices=None, softmax_scale=None, causal=False, window_size=(None, None), "
            "learnable_sink=None, softcap=0.0, num_splits=1, pack_gqa=None, deterministic=False, score_mod=None, "
            "score_mod_bwd=None, mask_mod=None, aux_tensors=None, aux_scalars=None, block_sparse_tensors=None, "
            "block_sparse_tensors_bwd=None, return_lse=False",
        "flash_attn_varlen_func":
            "q, k, v, qv=None, cu_seqlens_q=None, cu_seqlens_k=None, max_seqlen_q=None, max_seqlen_k=None, "
            "min_seqlen_k=None, seqused_q=None, seqused_k=None, gather_kv_indices=None, page_table=None, "
            "softmax_scale=None, causal=False, window_size=(None, None), learnable_sink=None, softcap=0.0, num_splits=1, "
            "pack_gqa=None, deterministic=False, score_mod=None, score_mod_bwd=None, mask_mod=None, "
            "block_sparse_tensors=None, aux_tensors=None, aux_scalars=None, return_lse=False, scheduler_metadata=None, "
            "seqlen_k_per_split=None, disable_scheduler_metadata=False",
    }),
    "4, first release": ("flash_attn.cute", {
        "flash_attn_func":
            "q, k, v, softmax_scale=None, causal=False, window_size=(None, None), learnable_sink=None, softcap=0.0, "
            "num_splits=1, pack_gqa=None, deterministic=False, mask_mod=None, full_block_cnt=None, full_block_idx=None, "
            "mask_block_cnt=None, mask_block_idx=None",
    }),
}


def functions():
    """(dotted name, a function of that signature) for each."""
    for version, (module, signatures) in SIGNATURES.items():
        for name, signature in signatures.items():
            made = {}
            exec(f"def {name}({signature}): return q if 'q' in locals() else qkv", made)
            yield version, f"{module}.{name}", made[name]
