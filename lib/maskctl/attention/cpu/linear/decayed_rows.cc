// Rows moved on from segment to segment.
#include "maskctl/attention/cpu/linear/decayed_rows.h"

#include "maskctl/attention/cpu/kernel.h"

namespace maskctl::attention {

DecayedRows::DecayedRows(Index width, Index capacity)
    : width_(width),
      decays_(width, capacity),
      rows_(as_size(round_up(capacity, kRowGroup) * width + kRowGroup)),
      moved_(rows_.size()) {}

void DecayedRows::load(const Rows& from, Index count) {
  scale_rows(from, count, width_, {.cells = decays_.cells(), .divides = true},
             {rows_.data(), width_});
}

const float* DecayedRows::meet(Index j, Range segment) {
  if (j == 0 || !decays_.cells()) return rows();
  const Rows own{rows(), width_};
  const RowsOf<float> moved{moved_.data(), width_};
  scale_rows(j == 1 ? own : Rows{moved.data, width_}, segment.begin, width_,
             {.by_column = decays_.across(j - 1)}, moved);
  scale_rows(own.from(segment.begin), segment.size(), width_, {}, moved.from(segment.begin));
  return moved_.data();
}

const float* DecayedRows::leave(std::span<const Index> bounds, const float* by_row) {
  if (!decays_.cells() && !by_row) return rows();
  const Rows own{rows(), width_};
  const RowsOf<float> moved{moved_.data(), width_};
  for (std::size_t j = 0; j + 1 < bounds.size(); ++j) {
    const Index begin = bounds[j];
    scale_rows(own.from(begin), bounds[j + 1] - begin, width_,
               {.by_row = by_row ? by_row + begin : nullptr,
                .by_column = decays_.after(static_cast<Index>(j))},
               moved.from(begin));
  }
  return moved_.data();
}

}  // namespace maskctl::attention
