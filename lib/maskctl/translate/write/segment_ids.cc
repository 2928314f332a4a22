#include "maskctl/translate/write/segment_ids.h"

#include <fmt/format.h>

#include <cstdlib>

#include "maskctl/base/text.h"
#include "maskctl/translate/write/code.h"

namespace maskctl {

MovedBand::MovedBand(const MaskForm& mask) : left(mask.left), right(mask.right) {
  if (right && *right < 0) by = *right;
  if (left && *left < 0) by = -*left;
  if (left) *left += by;
  if (right) *right -= by;
}

std::string MovedBand::offset(bool bottom_right, std::string_view shift) const {
  if (!bottom_right) return by == 0 ? "" : fmt::format("offset={}", by);
  std::string out = fmt::format("offset={}", shift);
  if (by != 0) out += fmt::format(" {} {}", by < 0 ? '-' : '+', std::abs(by));
  return out;
}

bool refuses_form(const MaskForm& mask, Translation& out) {
  const bool counted = !mask.kv_lengths.empty() || mask.chunk || mask.opens_first_keys();
  if (!mask.rest.empty()) {
    refuse(out, mask.rest);
  } else if (mask.opens_first_keys()) {
    refuse(out, refusal::kOpenKeys);
  } else if (mask.chunk && (mask.chunk_offset != 0 || !mask.chunk_origins.empty())) {
    refuse(out, refusal::kChunkOffset);
  } else if (mask.chunk && !mask.causal()) {
    refuse(out, refusal::kCausalChunks);
  } else if (mask.chunk &&
             (mask.align == Align::kBottomRight || mask.chunk_align == Align::kBottomRight)) {
    refuse(out, "its chunks count rows from the first, without an offset");
  } else if (mask.inside && counted) {
    refuse(out, refusal::kCountedInside);
  } else if (mask.documents && mask.lengths.empty()) {
    refuse(out, refusal::kUnknownLengths);
  } else if (MovedBand(mask).empty()) {
    refuse(out, "the band holds no key");
  }
  return !out.ok();
}

void add_document_ids(const MaskForm& mask, Translation& out) {
  out.code.push_back(fmt::format("doc_id = np.repeat(np.arange({}), [{}])", mask.lengths.size(),
                                 joined(mask.lengths, ", ")));
  out.notes.push_back(fmt::format("doc_id holds {0} tokens: for Q_LEN = KV_LEN = {0}",
                                  ends_of(mask.lengths).back()));
}

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

}  // namespace maskctl
