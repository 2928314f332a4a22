"""Stand-ins for eleven more libraries that `translate` writes for, as twin_libraries.py has them for
the others: names_of(library, twins) gives the names that the code of a library uses, and leaves the
mask of the last call in twins.mask."""
import types

import numpy as np


def sides(window):
    return [None if side is None or side < 0 else side for side in window]


def names_of(library, twins):
    def onnx(q, k, v, attn_mask=None, is_causal=0, left_window_size=-1, right_window_size=-1,
             nonpad_kv_seqlen=None):
        bottom_right = nonpad_kv_seqlen is not None  # then the last of these keys is on the diagonal
        assert not bottom_right or twins.batch == 1 and list(nonpad_kv_seqlen) == [twins.keys]
        left, right = sides((left_window_size, right_window_size))
        twins.mask = twins.band(bottom_right, left, 0 if is_causal and right is None else right)
        if is_causal:
            twins.mask = twins.mask & twins.band(bottom_right, None, 0)
        if attn_mask is not None:
            twins.mask = twins.mask & np.asarray(attn_mask)

    def onnxruntime(*_, causal=1, local_window_size=-1, seqlens_k=None):
        window = None if local_window_size < 0 else local_window_size - 1
        twins.mask = twins.band(True, window, 0) if causal else twins.full()

    def mlx(q, k, v, mask=None):
        given = None if mask is None or isinstance(mask, str) else np.asarray(mask)
        twins.mask = twins.band(True, None, 0) if isinstance(mask, str) else twins.full()
        if given is not None:
            twins.mask = twins.mask & given

    def keras(q, k, v, mask=None, is_causal=False):
        twins.mask = twins.band(False, None, 0) if is_causal else twins.full()
        if mask is not None:
            twins.mask = twins.mask & np.asarray(mask)

    def openvino(q, k, v, attention_mask=None, causal=False):
        twins.mask = twins.full() if attention_mask is None else np.asarray(attention_mask)
        if causal:
            twins.mask = twins.band(False, None, 0)

    def sglang(*_, sliding_window_size=-1):
        twins.mask = twins.band(True, sides((sliding_window_size,))[0], 0)

    def trt(q, k, v, metadata, attention_mask="causal", attention_window_size=None):
        causal = attention_mask == "causal"
        assert causal or attention_window_size is None
        left = None if attention_window_size is None else attention_window_size - 1
        twins.mask = twins.band(True, left, 0) if causal else twins.full()

    def megatron(window_size=None):
        left, right = (None, 0) if window_size is None else window_size
        twins.mask = twins.band(False, left, right)

    def varlen(q, k, v, cu_seq_q, cu_seq_k, max_q, max_k, window_size=(-1, -1)):
        twins.flash_attn_varlen_func(q, k, v, cu_seq_q, cu_seq_k, max_q, max_k, window_size=window_size)

    def magi(cu_seqlens_q, cu_seqlens_k, causal=False, window_size=(-1, -1), **_):
        assert not causal or tuple(window_size) == (-1, -1)
        longest = [int(np.diff(np.asarray(cu)).max()) for cu in (cu_seqlens_q, cu_seqlens_k)]
        twins.flash_attn_varlen_func(0, 0, 0, cu_seqlens_q, cu_seqlens_k, *longest, causal=causal,
                                     window_size=window_size)

    def natten(q, k, v, is_causal=False, cumulative_seqlen_Q=None, cumulative_seqlen_KV=None,
               max_seqlen_Q=None, max_seqlen_KV=None):
        if cumulative_seqlen_Q is None:
            twins.mask = twins.band(False, None, 0) if is_causal else twins.full()
            return
        twins.flash_attn_varlen_func(q, k, v, cumulative_seqlen_Q, cumulative_seqlen_KV, max_seqlen_Q,
                                     max_seqlen_KV, causal=is_causal)

    def na1d(q, k, v, kernel_size, dilation=1, is_causal=False):
        i, j = twins.grid(False)
        if is_causal:
            first = i - (kernel_size - 1) * dilation
        else:  # windows are moved inwards at both ends
            last = twins.keys - 1 - (twins.keys - 1 - i) % dilation  # the last key that i may see
            first = np.clip(i - kernel_size // 2 * dilation, i % dilation,
                            last - (kernel_size - 1) * dilation)
        near = (j >= first) & (j < first + kernel_size * dilation) & ((i - j) % dilation == 0)
        twins.mask = near & ((j <= i) | (not is_causal))

    fast = types.SimpleNamespace(scaled_dot_product_attention=mlx)
    placeholders = ("past_key", "past_value", "seqlens_k", "total_sequence_length", "scaling", "layer_id",
                    "metadata", "num_heads_q", "num_heads_kv", "pad_size", "cp_group_or_mesh")
    return dict.fromkeys(placeholders, 0) | {
        "onnx": {"op": types.SimpleNamespace(Attention=onnx)},
        "onnxruntime": {"GroupQueryAttention": onnxruntime},
        "mlx": {"mx": types.SimpleNamespace(array=np.asarray, fast=fast)},
        "keras": {"keras": types.SimpleNamespace(ops=types.SimpleNamespace(dot_product_attention=keras))},
        "openvino": {"scaled_dot_product_attention": openvino},
        "sglang": {"RadixAttention": sglang},
        "tensorrt-llm": {"attention": types.SimpleNamespace(forward=trt),
                         "PredefinedAttentionMask": types.SimpleNamespace(FULL="full", CAUSAL="causal")},
        "megatron": {"TransformerConfig": megatron},
        "varlen": {"varlen_attn": varlen},
        "magi": {"magi_attn_varlen_key": magi},
        "natten": {"attention": natten, "na1d": na1d},
    }.get(library, {})
