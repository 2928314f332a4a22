// Writes a mask for JAX splash attention and ejkernel's MaskInfo, where segment ids say documents
// and padding.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/translate/write/code.h"

namespace maskctl {
namespace {

/// The band as sides around a diagonal that is moved by `by`, so that no side is negative.
struct MovedBand {
  std::optional<Index> left, right;
  Index by = 0;

  explicit MovedBand(const MaskForm& mask) : left(mask.left), right(mask.right) {
    if (right && *right < 0) by = *right;
    if (left && *left < 0) by = -*left;
    if (left) *left += by;
    if (right) *right -= by;
  }
  bool empty() const { return (left && *left < 0) || (right && *right < 0); }
  bool window() const { return left || (right && *right != 0); }
  bool causal() const { return right == Index{0}; }
  /// "offset=KV_LEN - Q_LEN + 1", or "" for none.
  std::string offset(bool bottom_right, std::string_view shift) const {
    if (!bottom_right) return by == 0 ? "" : fmt::format("offset={}", by);
    std::string out = fmt::format("offset={}", shift);
    if (by != 0) out += fmt::format(" {} {}", by < 0 ? '-' : '+', std::abs(by));
    return out;
  }
};

/// Refuses what neither library has an argument for; true if it did.
bool refuses_form(const MaskForm& mask, Translation& out) {
  const bool counted = !mask.kv_lengths.empty() || mask.chunk || splits(mask);
  if (splits(mask)) {
    refuse_keys(out);
  } else if (mask.chunk && (mask.chunk_offset != 0 || !mask.chunk_origins.empty())) {
    refuse(out, "no argument for the offset of chunks");
  } else if (mask.chunk && !mask.causal()) {
    refuse(out, "its chunks are causal too");
  } else if (mask.chunk &&
             (mask.align == Align::kBottomRight || mask.chunk_align == Align::kBottomRight)) {
    refuse(out, "its chunks count rows from the first, without an offset");
  } else if (mask.inside && counted) {
    refuse(out, "steps that count inside documents");
  } else if (mask.documents && mask.lengths.empty()) {
    refuse(out, "these ids are not lengths of consecutive documents");
  } else if (MovedBand(mask).empty()) {
    refuse(out, "the band holds no key");
  }
  return !out.ok();
}

std::string document_ids(const MaskForm& mask) {
  return fmt::format("doc_id = np.repeat(np.arange({}), [{}])", mask.lengths.size(),
                     joined(mask.lengths, ", "));
}

/// Lines that define the ids of keys: 0 for valid ones, `closed` for padding.
void add_padding_ids(const MaskForm& mask, std::string_view keys, int closed, Translation& out) {
  const bool one = mask.padding.size() == 1;
  const std::string length =
      one ? std::to_string(mask.padding.front())
          : fmt::format("np.array([{}])[:, None]", joined(mask.padding, ", "));
  out.code.push_back(fmt::format("valid = np.arange({0}) {1} {2}", keys,
                                 mask.pad_left ? fmt::format(">= {} -", keys) : "<", length));
  out.code.push_back(fmt::format("kv_ids = np.where(valid, 0, {})", closed));
  note_batch(mask.padding.size(), out);
}

}  // namespace

void write_splash(const MaskForm& mask, Translation& out) {
  if (refuses_form(mask, out)) return;
  const MovedBand band(mask);
  const std::string offset = band.offset(mask.align == Align::kBottomRight, "KV_LEN - Q_LEN");
  const auto side = [](std::optional<Index> n) { return n ? std::to_string(*n) : "None"; };
  std::string code;
  if (mask.chunk) code = fmt::format("ChunkedCausalMask((Q_LEN, KV_LEN), {})", *mask.chunk);
  if (band.window()) {
    code += fmt::format("{}LocalMask((Q_LEN, KV_LEN), ({}, {}), {})", code.empty() ? "" : " & ",
                        side(band.left), side(band.right), offset.empty() ? "offset=0" : offset);
  } else if (band.causal() && !mask.chunk) {
    code = fmt::format("CausalMask((Q_LEN, KV_LEN){}{})", offset.empty() ? "" : ", ", offset);
  }
  if (code.empty()) code = "FullMask((Q_LEN, KV_LEN))";
  out.code = {kLengthsLine, "mask = " + code,
              "kernel = make_splash_mha(MultiHeadMask([mask] * q.shape[-3]), head_shards=1, "
              "q_seq_shards=1)"};
  if (mask.documents) {
    out.code.push_back(document_ids(mask));
    out.code.emplace_back("kernel(q, k, v, segment_ids=SegmentIds(q=doc_id, kv=doc_id))");
    const Index total = ends_of(mask.lengths).back();
    out.notes.push_back(fmt::format("doc_id holds {0} tokens: for Q_LEN = KV_LEN = {0}", total));
  } else if (mask.padded()) {
    add_padding_ids(mask, "KV_LEN", 1, out);
    const bool one = mask.padding.size() == 1;
    out.code.push_back(mask.pad_queries ? "q_ids = np.where(valid, 0, 2)"  // 2: the id of no key
                       : one            ? "q_ids = np.zeros(Q_LEN, int)"
                                        : "q_ids = np.zeros((len(valid), Q_LEN), int)");
    out.code.push_back(one ? "kernel(q, k, v, segment_ids=SegmentIds(q=q_ids, kv=kv_ids))"
                           : "jax.vmap(kernel)(q, k, v, SegmentIds(q=q_ids, kv=kv_ids))");
  } else {
    out.code.emplace_back("kernel(q, k, v)");
  }
  if (!mask.padded() || mask.padding.size() == 1) {
    out.notes.emplace_back("q, k and v are [heads, tokens, dim]; jax.vmap adds the batch");
  }
}

void write_mask_info(const MaskForm& mask, Translation& out) {
  if (refuses_form(mask, out)) return;
  const MovedBand band(mask);
  const std::string offset = band.offset(mask.align == Align::kBottomRight, "kv_len - q_len");
  std::string code;
  if (mask.documents) {
    out.code.push_back(document_ids(mask));
    code = "MaskInfo.from_segments(jnp.asarray(doc_id)[None])";
    const Index total = ends_of(mask.lengths).back();
    out.notes.push_back(fmt::format("doc_id holds {0} tokens: for Q_LEN = KV_LEN = {0}", total));
  } else {
    out.code.emplace_back("batch, q_len, kv_len = q.shape[0], q.shape[1], k.shape[1]");
    code = "MaskInfo.from_attention_mask(jnp.ones((batch, 1, q_len, kv_len), bool))";
  }
  if (mask.padded()) {
    add_padding_ids(mask, "kv_len", -1, out);
    out.code.emplace_back("kv_ids = jnp.asarray(np.broadcast_to(kv_ids, (batch, kv_len)))");
    out.code.push_back(mask.pad_queries ? "q_ids = kv_ids"
                                        : "q_ids = jnp.zeros((batch, q_len), int)");
    code = "MaskInfo.from_segments(q_ids, kv_ids)";
  }
  if (mask.chunk) {
    code += fmt::format(".apply_chunked({})", *mask.chunk);
  } else if (band.causal()) {
    code += fmt::format(".apply_causal({})", offset);
  }
  if (band.window()) {
    const auto side = [](std::optional<Index> n) { return n ? std::to_string(*n) : "2**30"; };
    code += fmt::format(".apply_sliding_window(({}, {}){}{})", side(band.left), side(band.right),
                        offset.empty() ? "" : ", ", offset);
  }
  out.code.push_back("mask_info = " + code);
}

}  // namespace maskctl
