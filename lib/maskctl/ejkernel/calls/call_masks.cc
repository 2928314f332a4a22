#include "maskctl/ejkernel/calls/call_masks.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

/// Returns the mask of a MaskInfo. For an array [B,Q,K], whose Mask is [1,B,Q,K], moves the planes
/// to the batch axis: [B,1,Q,K].
Mask mask_of(MaskInfo& info) {
  const MaskArray& array = info.attention_mask();
  Mask mask = array.mask();
  if (array.rank() != 3) return mask;
  return Mask::make(mask.heads(), 1, mask.queries(), mask.keys(),
                    [&](Index b, Index) { return mask.plane(0, b); });
}

void check_axis(const MaskInfo& info, const std::string& axis_name) {
  const AxisName& sequence = info.fields().axes.sequence;
  if (axis_name.empty() || sequence == AxisName(axis_name)) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("ring_attention: the sequence axis of the MaskInfo is {}, but axis_name "
                          "is '{}'; give one name to both",
                          to_text(sequence), axis_name));
}

}  // namespace

void CallMask::close(MaskArguments& a) {
  Mask own = mask_of(info_);
  a.mask = &masks_.emplace_back(a.mask ? zip(Op::kAnd, own, *a.mask) : std::move(own));
}

void CallMask::give(RingAttentionOptions& options) {
  check_axis(info_, options.axis_name);
  MaskArguments& a = options.mask;
  const MaskInfoFields& info = info_.fields();
  if (info.attention_mask || a.q_segment_ids) return close(a);
  a.q_segment_ids = info.q_segment_ids.get();
  a.kv_segment_ids = info.kv_segment_ids.get();
}

void CallMask::give(BlocksparseAttentionOptions& options) {
  MaskArguments& a = options.mask;
  const bool stores_mask = info_.fields().attention_mask.has_value();
  const MaskInfoFields info = info_.fields();
  const bool has_ids = info.q_segment_ids && info.kv_segment_ids;
  const bool has_positions = info.q_positions && info.kv_positions;
  if (stores_mask || has_ids) close(a);
  // The positions in the caller's arguments take precedence over those of the MaskInfo.
  if (a.q_positions || a.kv_positions) return;
  // Ids that are stored beside a mask may have been derived from it, and then do not give
  // positions.
  if (!has_positions && (!has_ids || stores_mask)) return;
  positions_ = MaskInfo(info).get_or_compute_positions();
  a.q_positions = positions_.q.get();
  a.kv_positions = positions_.kv.get();
}

StaticMask static_mask(const lazy::MaskPtr& mask) {
  return mask ? std::make_shared<const Mask>(mask->mask()) : nullptr;
}

MaskBuilder mask_builder(LazyMaskBuilder build) {
  return [build = std::move(build)](Index q_len, Index kv_len, Index num_heads, Index head_index,
                                    Index num_reps) {
    return static_mask(build(q_len, kv_len, num_heads, head_index, num_reps));
  };
}

}  // namespace maskctl::attention
