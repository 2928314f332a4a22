"""Stand-ins for the libraries that `maskctl translate` writes for: a few lines of numpy each, written from
the libraries' documentation (FlashAttention's README, cuDNN's attention page, xformers' attn_bias, ...).
translate_operators.py has those of eleven more."""
import types

import numpy as np

from twin_arrays import tensor, Scalar, Ssa, AuxTensor, Sized


class Twins:
    """The names that the code uses. `mask` is what the last call would attend."""

    def __init__(self, queries, keys, batch=1, cache="cache"):
        self.queries, self.keys, self.batch, self.mask = queries, keys, batch, None
        self.cache = cache  # how transformers calls it: past_key_values before 5.24

    def grid(self, bottom_right):
        i = np.arange(self.queries)[:, None] + (self.keys - self.queries if bottom_right else 0)
        return i, np.arange(self.keys)[None]

    def full(self):
        return np.ones((self.queries, self.keys), bool)

    def band(self, bottom_right, left=None, right=None):
        """left <= 0 <= right around the diagonal, both inclusive; None is unbounded."""
        i, j = self.grid(bottom_right)
        out = self.full()
        if left is not None:
            out &= j >= i - left
        if right is not None:
            out &= j <= i + right
        return out

    def fa_band(self, bottom_right, causal, window):
        left, right = (None if side < 0 else side for side in window)
        return self.band(bottom_right, left, 0 if causal else right)

    def documents(self, cu):
        number = np.searchsorted(np.asarray(cu)[1:], np.arange(self.keys), side="right")
        return (number[:, None] == number) & (number < len(cu) - 1)

    # flash-attn: -1 is unbounded; masks are aligned bottom-right.
    def flash_attn_func(self, q, k, v, causal=False, window_size=(-1, -1), attention_chunk=0):
        self.mask = self.fa_band(True, causal, window_size)
        if attention_chunk:
            i, j = self.grid(True)
            self.mask &= i // attention_chunk == j // attention_chunk

    def flash_attn_varlen_func(self, q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                               max_seqlen_k, causal=False, window_size=(-1, -1), attention_chunk=0):
        band = (True, causal, window_size, attention_chunk)
        self.mask = self.inside(cu_seqlens_q, cu_seqlens_k, self.flash_attn_func, *band[1:])
        longest = [int(np.diff(np.asarray(cu)).max()) for cu in (cu_seqlens_q, cu_seqlens_k)]
        assert longest == [max_seqlen_q, max_seqlen_k]

    def inside(self, cu_q, cu_k, attention, *args):
        """Each document alone, by its own sizes; nothing between them."""
        out = np.zeros((self.queries, self.keys), bool)
        for q0, q1, k0, k1 in zip(cu_q, cu_q[1:], cu_k, cu_k[1:]):
            part = Twins(int(q1 - q0), int(k1 - k0))
            getattr(part, attention.__name__)(0, 0, 0, *args)
            out[q0:q1, k0:k1] = part.mask
        return out

    # Transformer Engine: the type of a causal mask names its alignment.
    def te(self, q, k, v, attn_mask_type="causal", window_size=(-1, -1), bottom_right_diagonal=None,
           qkv_format="bshd", cu_seqlens_q=None, cu_seqlens_kv=None):
        if bottom_right_diagonal is None:
            bottom_right_diagonal = attn_mask_type not in ("causal", "padding_causal")
        causal = "causal" in attn_mask_type
        if causal:
            bottom_right_diagonal = "bottom_right" in attn_mask_type
        else:  # as Transformer Engine's check_set_window_size does
            assert window_size == (-1, -1) or min(window_size) >= 0
        if cu_seqlens_q is not None:
            assert qkv_format == "thd" and "padding" in attn_mask_type
            self.mask = self.inside(cu_seqlens_q, cu_seqlens_kv, self.te,
                                    attn_mask_type.replace("padding_", "").replace(
                                        "padding", "no_mask"), window_size, bottom_right_diagonal)
            return
        self.mask = self.fa_band(bottom_right_diagonal, causal, window_size)

    # cuDNN: the left bound of the band is exclusive.
    def sdpa(self, q, k, v, diagonal_alignment="TOP_LEFT", diagonal_band_left_bound=None,
             diagonal_band_right_bound=None, use_causal_mask=False, use_padding_mask=False,
             seq_len_q=None, seq_len_kv=None):
        i, j = self.grid(diagonal_alignment == "BOTTOM_RIGHT")
        self.mask = self.full()
        if diagonal_band_left_bound is not None:
            self.mask &= j + diagonal_band_left_bound > i
        if diagonal_band_right_bound is not None:
            self.mask &= j <= i + diagonal_band_right_bound
        if use_padding_mask:
            ends = [np.concatenate([[0], np.cumsum(lens.reshape(-1))])
                    for lens in (seq_len_q, seq_len_kv)]
            self.mask = self.inside(*ends, self.cudnn, diagonal_alignment, diagonal_band_left_bound,
                                    diagonal_band_right_bound)

    def cudnn(self, q, k, v, *args):
        self.sdpa(q, k, v, *args)

    # xformers: CausalLocal classes use triu(shift - W + 1); the Local class has inclusive sides.
    def memory_efficient_attention(self, q, k, v, attn_bias=None):
        self.mask = self.full() if attn_bias is None else attn_bias

    def causal_local(self, window):
        ones = np.ones((self.queries, self.keys), bool)
        shift = self.keys - self.queries
        return np.tril(ones, shift) & np.triu(ones, shift - window + 1)

    def block_diagonal(self, q_lengths, k_lengths=None):
        ends = [np.concatenate([[0], np.cumsum(lens)]) for lens in (q_lengths, k_lengths or q_lengths)]
        bottom = lambda twins, q, k, v, window=None: setattr(
            twins, "mask", twins.causal_local(window or twins.keys + twins.queries))

        def top(twins, q, k, v, window=None):
            i, j = twins.grid(False)
            twins.mask = (j <= i) & (j > i - (window or twins.keys + twins.queries))

        def blocks(rule, *args):
            Twins.block_rule = rule
            return self.inside(*ends, self.block_rule, *args)

        top.__name__ = bottom.__name__ = "block_rule"
        made = DocumentsMask()
        everything = lambda twins, q, k, v: setattr(twins, "mask", twins.full())
        everything.__name__ = "block_rule"
        made.array = lambda: blocks(everything)
        made.make_causal = lambda: blocks(top)
        made.make_causal_from_bottomright = lambda: blocks(bottom)
        made.make_local_attention = lambda window: blocks(top, window)
        made.make_local_attention_from_bottomright = lambda window: blocks(bottom, window)
        return made

    # FlashInfer: window_left is inclusive; masks are aligned bottom-right.
    def single_prefill(self, q, k, v, causal=False, window_left=-1, custom_mask=None):
        self.mask = self.fa_band(True, causal and custom_mask is None, (window_left, -1))
        if custom_mask is not None:
            self.mask &= np.asarray(custom_mask)

    def plan(self, qo_indptr, kv_indptr, num_qo_heads, num_kv_heads, head_dim_qk, causal=False,
             window_left=-1):
        self.mask = self.inside(qo_indptr, kv_indptr, self.single_prefill, causal, window_left)

    # FlexAttention: evaluates the function for each cell.
    def create_block_mask(self, mask_mod, b, h, queries, keys, device):
        i, j = np.arange(queries)[:, None], np.arange(keys)[None]
        assert b in (None, self.batch)
        self.mask = self.cells(mask_mod, i, j)

    def cells(self, function, i, j):
        """A function of b, h, q_idx and kv_idx on every cell of head 0: [batch, queries, keys]."""
        shape = (self.queries, self.keys)
        return np.stack([np.broadcast_to(function(b, 0, i, j), shape) for b in range(self.batch)])

    # flash-attn 4: the function has vectors of one element, Int32 or conditions, and no other numbers.
    def fa4_func(self, q, k, v, mask_mod, aux_tensors=()):
        lengths = types.SimpleNamespace(seqlen_q=Scalar(self.queries), seqlen_k=Scalar(self.keys))
        arrays = [AuxTensor(np.asarray(array)) for array in aux_tensors]
        self.mask = np.array([[[mask_mod(Ssa(b), Ssa(0), Ssa(i), Ssa(j), lengths, arrays).condition()
                                for j in range(self.keys)] for i in range(self.queries)] for b in range(self.batch)])

    # splash: both sides are inclusive, None is unbounded, the offset is added to the query.
    def local(self, shape, window, offset=0):
        i, j = np.arange(shape[0])[:, None] + offset, np.arange(shape[1])[None]
        left, right = window
        out = np.ones(shape, bool)
        if left is not None:
            out &= i - left <= j
        if right is not None:
            out &= j <= i + right
        return out

    def chunked_causal(self, shape, size):
        i, j = np.arange(shape[0])[:, None], np.arange(shape[1])[None]
        return (j <= i) & (i // size == j // size)

    def make_splash_mha(self, masks, head_shards, q_seq_shards):
        self.mask = masks[0]

        def kernel(q, k, v, segment_ids=True):
            self.mask = self.mask & segment_ids
        return kernel

    def segment_ids(self, q, kv):
        return np.asarray(q)[..., :, None] == np.asarray(kv)[..., None, :]

    # ejkernel's MaskInfo: aligned top-left; an offset moves the query; chunks are causal.
    class MaskInfo:
        def __init__(self, twins, mask):
            self.twins, self.mask = twins, mask
            twins.mask = mask

        def with_(self, rule):
            return type(self)(self.twins, self.mask & rule)

        def apply_causal(self, offset=0):
            i, j = self.twins.grid(False)
            return self.with_(j <= i + offset)

        def apply_sliding_window(self, window, offset=0):
            i, j = self.twins.grid(False)
            left, right = window
            return self.with_((j >= i + offset - left) & (j <= i + offset + right))

        def apply_chunked(self, size):
            i, j = self.twins.grid(False)
            return self.with_((j <= i) & (i // size == j // size))

    # Operations of ejkernel; flash attention follows the rules of its Triton kernel.
    def flash_attention(self, q, k, v, causal=False, sliding_window=None, cum_seqlens_q=None,
                        cum_seqlens_k=None):
        if cum_seqlens_q is not None:
            self.mask = self.inside(cum_seqlens_q, cum_seqlens_k, self.flash_attention, causal,
                                    sliding_window)
            return
        self.mask = self.fa_band(True, causal, sliding_window or (-1, -1))

    def ragged(self, sliding_window=None):
        i, j = self.grid(True)
        self.mask = j <= i
        if sliding_window is not None:
            self.mask &= ~(i - sliding_window >= j)

    def vllm(self, num_heads, head_size, scale, per_layer_sliding_window=None):
        self.flash_attn_func(0, 0, 0, causal=True, window_size=(
            -1 if per_layer_sliding_window is None else per_layer_sliding_window - 1, 0))

    def vllm_encoder(self, num_heads, head_size, scale, attn_type, per_layer_sliding_window=None):
        side = -1 if per_layer_sliding_window is None else per_layer_sliding_window - 1
        self.flash_attn_func(0, 0, 0, window_size=(side, side))

    def vllm_chunks(self, num_heads, head_size, scale, attention_chunk_size):
        self.flash_attn_func(0, 0, 0, causal=True, attention_chunk=attention_chunk_size)

    def open_images(self, mm_prefix_range):
        """What vLLM's attention metadata adds: spans that see themselves, ends included."""
        i, j = self.grid(True)
        for start, end in mm_prefix_range[0]:
            self.mask = self.mask | ((i >= start) & (i <= end) & (j >= start) & (j <= end))

    # FlashMask: column 0 closes rows from its value on; a second column closes rows before its
    # value.
    def flashmask(self, q, k, v, startend_row_indices=None, causal=False):
        i, j = self.grid(False)
        self.mask = (j <= i) if causal else self.full()
        if startend_row_indices is None:
            return
        assert startend_row_indices.dtype == np.int32
        columns = np.moveaxis(startend_row_indices[:, 0], -1, 0)[:, :, None]
        if len(columns) == 4:  # start and end of two ranges of rows
            for start, end in (columns[:2], columns[2:]):
                self.mask = self.mask & ~((i >= start) & (i < end))
            return
        self.mask = self.mask & (i < columns[0])
        if len(columns) == 2:
            self.mask = self.mask & (i >= columns[1])

    # ck_tile: left and right become coordinates (y, x) of its generic mask.
    def ck_tile(self, text):
        i, j = self.grid(False)
        kind, _, rest = text.partition(":")
        if kind == "0":
            self.mask = self.full()
            return
        left, right, *_ = [int(n) for n in rest.split(",")] if rest else (-1, 0)
        left = self.keys + self.queries if left < 0 else left
        right = self.keys + self.queries if right < 0 else right
        shift = self.keys - self.queries if kind == "b" else 0
        y, x = left + 1 - shift, right + 1 + shift
        self.mask = (j >= i - y + 1) & (j < i + x)

    # torch and jax: aligned top-left.
    def scaled_dot_product_attention(self, q, k, v, attn_mask=None, is_causal=False):
        i, j = self.grid(False)
        self.mask = (j <= i) if is_causal else self.full()
        if attn_mask is not None:
            self.mask = self.mask & attn_mask

    def mha(self, query, key, value, attn_mask):
        assert attn_mask.shape[-2:] == (self.queries, self.keys)
        self.mask = ~attn_mask

    def dot_product_attention(self, q, k, v, mask=None, is_causal=False, local_window_size=None,
                              query_seq_lengths=None, key_value_seq_lengths=None):
        i, j = self.grid(False)
        self.mask = self.full() if mask is None else self.full() & mask
        if is_causal:
            self.mask = self.mask & (j <= i)
        if local_window_size is not None:
            left, right = local_window_size
            self.mask = self.mask & (j >= i - left) & (j <= i + right)
        for index, lengths in ((i, query_seq_lengths), (j, key_value_seq_lengths)):
            if lengths is not None:
                assert lengths.shape == (self.batch,)
                self.mask = self.mask & (index < np.asarray(lengths)[:, None, None])

    # transformers: q_idx counts from the first cached token. Where position_ids start again,
    # another document begins, which causal masks hide; they count from each document's start.
    def hf(self, rule, causal, inputs_embeds, and_mask_function=None, attention_mask=None,
           position_ids=None, **cache):
        assert list(cache) == [self.cache]
        i, j = self.grid(True)
        self.mask = self.full()
        if position_ids is not None and causal:
            assert attention_mask is None and cache[self.cache] is None
            place = np.asarray(position_ids)[0]
            number = np.cumsum(place == 0)
            self.mask = number[:, None] == number
            i, j = place[:, None], place[None]
        self.mask = self.mask & rule(i, j) & ((j <= i) | (not causal))
        if and_mask_function is not None:
            self.mask = self.mask & self.cells(and_mask_function, i, j)
        if attention_mask is not None:
            assert attention_mask.shape == (self.batch, self.keys)
            self.mask = self.mask & np.asarray(attention_mask)[:, None]

    def names(self, config):
        torch = types.SimpleNamespace(
            tensor=tensor, int32=np.int32, arange=lambda n, **_: tensor(np.arange(n)),
            isin=lambda *given: tensor(np.isin(*given)),
            where=lambda *given: tensor(np.where(*given)), cat=np.concatenate,
            repeat_interleave=lambda a, n: tensor(np.repeat(a, n)))
        jnp = types.SimpleNamespace(
            array=tensor, asarray=np.asarray, arange=np.arange, isin=np.isin, where=np.where,
            repeat=np.repeat, ones=np.ones, zeros=np.zeros, int32=np.int32)
        paddle = types.SimpleNamespace(arange=np.arange, stack=np.stack, where=np.where,
                                       minimum=np.minimum, maximum=np.maximum,
                                       full_like=np.full_like,
                                       broadcast_tensors=lambda given: np.broadcast_arrays(*given),
                                       to_tensor=np.array, repeat_interleave=np.repeat)
        everything = lambda i, j: True
        window = lambda i, j: j > i - config.sliding_window
        chunk = lambda i, j: i // config.attention_chunk_size == j // config.attention_chunk_size
        near = lambda i, j: abs(i - j) <= config.sliding_window
        made = lambda rule, causal: lambda **given: self.hf(rule, causal, **given)
        info = types.SimpleNamespace(
            from_attention_mask=lambda mask: self.MaskInfo(self, mask[0, 0]),
            from_segments=lambda q, kv=None: self.MaskInfo(
                self, self.segment_ids(q, q if kv is None else kv) & (q[..., None] != -1)))
        q, k = Sized(self.queries, self.batch), Sized(self.keys, self.batch)
        cache = types.SimpleNamespace(get_seq_length=lambda: self.keys - self.queries)
        return {
            "q": q, "k": k, "v": k, "query": q, "key": k, "value": k, "arrays": [],
            "num_qo_heads": 1, "num_kv_heads": 1, "head_dim_qk": 1, "num_heads": 1, "head_dim": 1,
            "head_size": 1, "scale": 1, "workspace": 0, "torch": torch, "paddle": paddle,
            "jnp": jnp, "np": np, "flash_attn_func": self.flash_attn_func,
            "flash_attn_varlen_func": self.flash_attn_varlen_func,
            "DotProductAttention": lambda *_: self.te,
            "graph": self, "cudnn": types.SimpleNamespace(diagonal_alignment=types.SimpleNamespace(
                TOP_LEFT="TOP_LEFT", BOTTOM_RIGHT="BOTTOM_RIGHT")),
            "memory_efficient_attention": self.memory_efficient_attention,
            "LowerTriangularMask": lambda: np.tril(self.full()),
            "LowerTriangularFromBottomRightMask": lambda: np.tril(
                self.full(), self.keys - self.queries),
            "LowerTriangularFromBottomRightLocalAttentionMask": self.causal_local,
            "LocalAttentionFromBottomRightMask": lambda l, r: self.band(True, l, r),
            "BlockDiagonalMask": types.SimpleNamespace(from_seqlens=self.block_diagonal),
            "single_prefill_with_kv_cache": self.single_prefill,
            "BatchPrefillWithRaggedKVCacheWrapper": lambda _: self,
            "create_block_mask": self.create_block_mask,
            "LocalMask": self.local, "ChunkedCausalMask": self.chunked_causal,
            "CausalMask": lambda shape, offset=0: self.local(shape, (None, 0), offset),
            "FullMask": lambda shape: np.ones(shape, bool), "MultiHeadMask": list,
            "make_splash_mha": self.make_splash_mha,
            "SegmentIds": self.segment_ids, "MaskInfo": info,
            "jax": types.SimpleNamespace(vmap=lambda kernel: kernel),
            "flash_attention": self.flash_attention, "ragged_page_attention": self.ragged,
            "Attention": self.vllm, "EncoderOnlyAttention": self.vllm_encoder,
            "ChunkedLocalAttention": self.vllm_chunks,
            "AttentionType": types.SimpleNamespace(ENCODER_ONLY=0), "flashmask_attention": self.flashmask,
            "scaled_dot_product_attention": self.scaled_dot_product_attention,
            "causal_lower_right": lambda q, k: np.tril(np.ones((q, k), bool), k - q),
            "causal_upper_left": lambda q, k: np.tril(np.ones((q, k), bool)),
            "mha": self.mha, "dot_product_attention": self.dot_product_attention,
            "create_bidirectional_mask": made(everything, False),
            "create_causal_mask": made(everything, True),
            "create_sliding_window_causal_mask": made(window, True),
            "create_chunked_causal_mask": made(chunk, True),
            "create_bidirectional_sliding_window_mask": made(near, False),
            "config": config, "mask_kwargs": {"inputs_embeds": q, self.cache: cache},
        }


class DocumentsMask:
    """BlockDiagonalMask: an array, and what makes others of it."""

    def __array__(self, dtype=None, copy=None):
        return self.array()
