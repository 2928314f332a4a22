// Converts segment ids to masks.
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "maskctl/ejkernel/mask_info/broadcast.h"
#include "maskctl/ejkernel/mask_info/conversions.h"
#include "maskctl/ejkernel/mask_info/debug_trace.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr std::int32_t kPadding = -1;

/// Converts the ids of queries and keys to int32, so that equal ids stay equal and others differ;
/// ids of -1 or less become -1. Integers wrap around to 32 bits, as in all arrays of ejkernel;
/// distinct fractional ids are numbered.
class PlainIds {
 public:
  PlainIds(const Tensor& q, const Tensor& kv)
      : floating_(is_floating(q.dtype()) || is_floating(kv.dtype())) {}

  Tensor operator()(const Tensor& ids) {
    Tensor out(DType::kInt32, ids.shape());
    const auto to = out.as<std::int32_t>().begin();
    if (floating_) {
      const Tensor wide = astype(ids, DType::kFloat64);
      std::ranges::transform(wide.as<double>(), to,
                             [&](double id) { return id > -1 ? number(id) : kPadding; });
    } else {
      const Tensor narrow = astype(ids, DType::kInt32);
      std::ranges::transform(narrow.as<std::int32_t>(), to,
                             [](std::int32_t id) { return std::max(id, kPadding); });
    }
    return out;
  }

 private:
  std::int32_t number(double id) {
    return numbers_.try_emplace(id, static_cast<std::int32_t>(numbers_.size())).first->second;
  }
  bool floating_;
  std::unordered_map<double, std::int32_t> numbers_;
};

void check_indexable(const Tensor& ids) {
  if (ids.rank() >= 2) return;
  throw PythonError(PythonType::kIndexError,
                    fmt::format("too many indices: segment ids of shape {} are indexed with 2",
                                shape_text(ids.shape())));
}

std::vector<Index> with_axis(std::vector<Index> shape, Index axis) {
  shape.insert(shape.begin() + axis, 1);
  return shape;
}

/// Computes (q[:, :, None] == kv[:, None, :])[:, None, :, :] for ids above -1, cell by cell.
MaskArray pairs_of_any_rank(const Tensor& q, const Tensor& kv) {
  const std::vector<Index> q_shape = with_axis(q.shape(), 2), kv_shape = with_axis(kv.shape(), 1);
  Tensor cells(DType::kBool, broadcast_shape(q_shape, kv_shape));
  const auto q_ids = q.as<std::int32_t>(), kv_ids = kv.as<std::int32_t>();
  const auto to = cells.as<std::uint8_t>();
  std::size_t at = 0;
  for_each_broadcast(cells.shape(), q_shape, kv_shape, [&](std::size_t i, std::size_t j) {
    to[at++] = q_ids[i] == kv_ids[j] && q_ids[i] > kPadding;
  });
  cells.reshape(with_axis(cells.shape(), 1));
  return MaskArray(cells);
}

MaskArray pairs(const Tensor& q, const Tensor& kv) {
  if (q.rank() != 2 || kv.rank() != 2) return pairs_of_any_rank(q, kv);
  broadcast_shape(with_axis(q.shape(), 2), with_axis(kv.shape(), 1));  // throws for unequal batches
  return MaskArray(mask_from_segments(q, kv, kPadding));
}

Array valid(const Tensor& plain_ids, DType dtype) {
  Tensor out(DType::kBool, plain_ids.shape());
  std::ranges::transform(plain_ids.as<std::int32_t>(), out.as<std::uint8_t>().begin(),
                         [](std::int32_t id) { return id > kPadding; });
  return make_array(astype(out, dtype));
}

MaskArray mask_of(const Tensor& q_ids, const Tensor& kv_ids, DType dtype) {
  check_indexable(q_ids);
  check_indexable(kv_ids);
  PlainIds plain(q_ids, kv_ids);
  return pairs(plain(q_ids), plain(kv_ids)).astype(dtype);
}

}  // namespace

MaskArray segment_ids_to_mask(const Tensor& q_ids, const Tensor& kv_ids, DType dtype) {
  trace_call("tuple.segment_ids_to_mask");
  return mask_of(q_ids, kv_ids, dtype);
}

MaskArray segment_ids_to_mask(const Tensor& ids, DType dtype) {
  trace_call("ArrayImpl.segment_ids_to_mask");
  return mask_of(ids, ids, dtype);
}

QkvMasks segment_ids_to_qkv_masks(const Array& q_ids, const Array& kv_ids, DType dtype) {
  trace_call("ArrayImpl.segment_ids_to_qkv_masks");
  // ejkernel calls segment_ids_to_mask() internally, so it appears in the trace.
  trace_call("tuple.segment_ids_to_mask");
  const Array& keys = kv_ids ? kv_ids : q_ids;
  check_indexable(*q_ids);
  check_indexable(*keys);
  PlainIds plain(*q_ids, *keys);
  const Tensor q = plain(*q_ids), kv = plain(*keys);
  return {valid(q, dtype), valid(kv, dtype), pairs(q, kv).astype(dtype)};
}

}  // namespace maskctl
