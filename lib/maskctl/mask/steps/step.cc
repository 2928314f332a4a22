#include "maskctl/mask/steps/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/step_rules.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {

bool operator==(const NamedArray& a, const NamedArray& b) {
  return a.text == b.text && a.array.dtype() == b.array.dtype() &&
         a.array.shape() == b.array.shape() && std::ranges::equal(a.array.bytes(), b.array.bytes());
}

namespace step {

bool operator==(const Combine& a, const Combine& b) {
  return a.op == b.op && a.text == b.text && shape_text(a.mask) == shape_text(b.mask) &&
         differing_cells(a.mask, b.mask) == 0;
}

bool operator==(const Scoped& a, const Scoped& b) {
  return a.axis == b.axis && a.members == b.members && a.chain == b.chain;
}

bool operator==(const Within& a, const Within& b) {
  return a.lengths == b.lengths && a.kv_lengths == b.kv_lengths && a.q == b.q && a.kv == b.kv &&
         a.shared == b.shared && a.pad_id == b.pad_id && a.chain == b.chain;
}

}  // namespace step

void refuse(std::string_view step, const std::string& why) {
  throw Error(Errc::kInvalidArgument, fmt::format("step {}: {}", step, why));
}

Index align_shift(const Mask& mask, Align align, std::string_view step) {
  if (mask.queries() == mask.keys() || align == Align::kTopLeft) return 0;
  if (align == Align::kBottomRight) return mask.keys() - mask.queries();
  refuse(step,
         fmt::format("{} and {} leave the diagonal open: give align=bottom-right (the last query "
                     "sees the last key) or align=top-left",
                     counted(mask.queries(), "query", "queries"), counted(mask.keys(), "key")));
}

std::vector<Index> per_batch(const Mask& mask, const NamedArray& array, std::string_view step,
                             const char* what) {
  const auto values = as_int64(array.array, what);
  const auto batch = static_cast<std::size_t>(mask.batch());
  if (values.size() == 1) return std::vector<Index>(batch, values.front());
  if (array.array.rank() > 1 || values.size() != batch) {
    refuse(step, fmt::format("{} of shape {} do not fit {}: expected 1 value{}", what,
                             shape_text(array.array.shape()), shape_text(mask),
                             batch == 1 ? "" : fmt::format(" or {}", batch)));
  }
  return {values.begin(), values.end()};
}

std::vector<Index> per_batch_offsets(const Mask& mask, const NamedArray& array,
                                     std::string_view step, const char* what) {
  std::vector<Index> out = per_batch(mask, array, step, what);
  for (const Index offset : out) {
    if (offset < -kUnbounded || offset > kUnbounded) {
      refuse(step, fmt::format("offset {} is out of range", offset));
    }
  }
  return out;
}

void check_batched(const Mask& mask, const Tensor& array, Index length, std::string_view step,
                   const char* side) {
  const Index rank = array.rank();
  const bool fits = (rank == 1 && array.extent(0) == length) ||
                    (rank == 2 && array.extent(1) == length &&
                     (array.extent(0) == 1 || array.extent(0) == mask.batch()));
  if (fits) return;
  refuse(step, fmt::format("array of shape {} for the {} of {}: expected ({},) or ({}, {})",
                           shape_text(array.shape()), side, shape_text(mask), length, mask.batch(),
                           length));
}

Mask apply(const Mask& mask, const Step& step) {
  return std::visit([&](const auto& rule) { return apply_rule(mask, rule); }, step.rule);
}

Mask apply(Mask mask, std::span<const Step> chain) {
  for (const Step& step : chain) mask = apply(mask, step);
  return mask;
}

}  // namespace maskctl
