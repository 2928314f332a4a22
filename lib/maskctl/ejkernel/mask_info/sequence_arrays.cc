// Converts segment ids to lengths and positions, anchors to ids, and chunks to a mask.
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "maskctl/ejkernel/mask_info/conversions.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The positions of one row. They restart at each change of the id and after padding.
void count_positions(std::span<const std::int32_t> ids, std::int32_t pad_value,
                     std::span<std::int32_t> positions) {
  std::int32_t previous = -2, count = -1;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool padding = ids[i] < 0;
    count = padding ? -1 : ids[i] == previous ? count + 1 : 0;
    previous = padding ? -2 : ids[i];
    positions[i] = padding ? pad_value : count;
  }
}

/// The number of occurrences of each id 0 .. n - 1.
std::vector<std::int32_t> counts_of(const Tensor& ids, Index n) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(n));
  const Tensor wide = astype(ids, DType::kFloat64);  // the ids 0 .. n - 1 are exact in float64
  for (const double id : wide.as<double>()) {
    const bool counted = id >= 0 && id < static_cast<double>(n);
    if (!counted) continue;
    const auto i = static_cast<std::size_t>(id);
    if (static_cast<double>(i) == id) ++counts[i];
  }
  return counts;
}

}  // namespace

Tensor segment_ids_to_cu_seqlens(const Tensor& ids, DType out_dtype, Index max_segments) {
  const auto counts = counts_of(ids, std::max<Index>(max_segments, 0));
  Tensor cumulative(DType::kInt32, {static_cast<Index>(counts.size()) + 1});
  std::int32_t sum = 0;
  auto to = cumulative.as<std::int32_t>().begin();
  for (const std::int32_t count : counts) *++to = sum += count;
  return astype(cumulative, out_dtype);
}

Tensor positions_from_segments_2d(const Tensor& ids, std::int32_t pad_value) {
  if (ids.rank() != 2) {
    throw PythonError(ids.rank() > 2 ? PythonType::kTypeError : PythonType::kIndexError,
                      fmt::format("segment ids of shape {} have no positions; expected (B, S)",
                                  shape_text(ids.shape())));
  }
  const Tensor narrow = astype(ids, DType::kInt32);
  Tensor positions(DType::kInt32, ids.shape());
  const auto length = static_cast<std::size_t>(ids.extent(1));
  for (Index b = 0; b < ids.extent(0); ++b) {
    const auto begin = static_cast<std::size_t>(b) * length;
    count_positions(narrow.as<std::int32_t>().subspan(begin, length), pad_value,
                    positions.as<std::int32_t>().subspan(begin, length));
  }
  return positions;
}

Tensor compress_ids_from_anchors(const Tensor& anchors, const Tensor& pad_mask) {
  if (anchors.rank() != 1 || pad_mask.shape() != anchors.shape()) {
    throw PythonError(PythonType::kTypeError,
                      fmt::format("anchors of shape {} and padding of shape {}: expected (N,) both",
                                  shape_text(anchors.shape()), shape_text(pad_mask.shape())));
  }
  Tensor ids = astype(anchors, DType::kInt32);
  const Tensor padding = astype(pad_mask, DType::kBool);
  const auto values = ids.as<std::int32_t>();
  // ejkernel gives padding this value, so an anchor with this value counts as padding too.
  const auto sentinel = static_cast<std::int32_t>(values.size() + 1);
  std::vector<std::int32_t> groups;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (padding.as<std::uint8_t>()[i]) values[i] = sentinel;
    if (values[i] != sentinel) groups.push_back(values[i]);
  }
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  for (std::int32_t& value : values) {
    const auto group = std::ranges::lower_bound(groups, value);
    value = value == sentinel ? -1 : static_cast<std::int32_t>(group - groups.begin());
  }
  return ids;
}

MaskArray create_chunked_attention_mask(Index chunk_size, Index q_len, std::optional<Index> kv_len,
                                        Index offset, DType dtype) {
  if (chunk_size <= 0) {
    throw PythonError(PythonType::kValueError,
                      fmt::format("Invalid chunk_size: expected a positive integer, but got {}. "
                                  "Chunk size must be greater than 0.",
                                  chunk_size));
  }
  const Index queries = std::max<Index>(q_len, 0);
  const Index keys = std::max<Index>(kv_len.value_or(q_len), 0);
  const Mask chunks = apply(Mask(full_plane(queries, keys)), Step{step::Chunk{chunk_size, 0}});
  const Index high = std::clamp(offset, -kUnbounded, kUnbounded);
  const Mask causal(diagonal_band(queries, keys, -kUnbounded, high));
  return MaskArray(zip(Op::kAnd, chunks, causal), 2, dtype);
}

}  // namespace maskctl
