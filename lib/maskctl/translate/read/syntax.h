// Reads masks as other programs spell them, as chains of steps.
#pragma once

#include <string>
#include <string_view>

#include "maskctl/mask/steps/step.h"
#include "maskctl/translate/conventions.h"

namespace maskctl {

/// Arguments in the form that a library takes:
///   hf        sliding_window=W | attention_chunk_size=N, is_causal=BOOL (default True)
///   fa        causal=BOOL (default False), window_size=(L, R) with -1 unbounded, attention_chunk=N
///   te        attn_mask_type="causal", window_size=(L, R), bottom_right_diagonal=BOOL
///   cudnn     diagonal_band_left_bound=W, diagonal_band_right_bound=R,
///             diagonal_alignment=TOP_LEFT or BOTTOM_RIGHT
///   xformers  a class with its arguments: LowerTriangularFromBottomRightLocalAttentionMask(W)
///   flashinfer causal=BOOL, window_left=W
///   flex      an expression: and_masks(causal, sliding_window(W)), see parse_mask_expression()
///   splash    classes joined by &, see parse_splash()
///   vllm      sliding_window=W
///   ck_tile   the text of -mask, see parse_ck_tile()
///   flashmask causal=BOOL, window_size=W
///   ejkernel  causal=BOOL, sliding_window=W or (L, R), chunk_size=N; ejkernel-flash the same;
///   ejkernel-ragged sliding_window=W
/// The alignment is the library's own. Throws PipelineError with the caret.
Chain parse_library_syntax(Library library, std::string_view text);

/// ROCm ck_tile: 0 or empty, 1 or t (causal, top-left), 2 or b (bottom-right), t:L,R and b:L,R (a
/// third number: sink tokens), xt:W and xb:W (xformers: W keys around the query), g:Y,X (keys q - Y
/// + 1 to q + X - 1); may be preceded by "-mask=". Throws PipelineError.
Chain parse_ck_tile(std::string_view text);

/// CausalMask(), LocalMask((L, R)) with None unbounded, ChunkedCausalMask(N) and FullMask(), joined
/// by &, as translate() writes them: a shape may be the first argument, offset=N or offset=KV_LEN -
/// Q_LEN (bottom-right) the last; "mask =" may precede it all. With a shape and no offset, the
/// alignment is top-left; with neither, any. Throws PipelineError.
Chain parse_splash(std::string_view text);

/// and_masks(...), or_masks(...) and names with numbers: causal, sliding_window(W) (attention-gym:
/// q - kv <= W, causal), prefix_lm(n), prefix(n), sinks(n), document(3+5), chunked(N),
/// dilated(stride); a generate_ before and a _mask or _mask_mod after a name are ignored. Throws
/// PipelineError for unknown names, and for what a single chain cannot express.
Chain parse_mask_expression(std::string_view text);

}  // namespace maskctl
