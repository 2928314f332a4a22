// Masks of padding flags, segment ids and block maps. Padding and ids make one plane for each
// distinct row of the arrays.
#include <fmt/core.h>

#include <cstring>
#include <map>
#include <optional>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/mask/equal/shared_planes.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

struct Rows {
  Index batch, length;
};

Rows batch_rows(const Tensor& array, const char* what) {
  if (array.rank() == 1) return {1, array.extent(0)};
  if (array.rank() == 2) {
    check_empty_extents(std::span(array.shape()).first(1), array.elements());
    return {array.extent(0), array.extent(1)};
  }
  throw Error(Errc::kShape, fmt::format("{} has the shape (S,) or (B, S), not {}", what,
                                        shape_text(array.shape())));
}

template <typename T>
std::span<const T> row_of(std::span<const T> data, Index row, Index length) {
  return data.subspan(static_cast<std::size_t>(row * length), static_cast<std::size_t>(length));
}

/// A mask of one head. Batches with equal rows of the array share a plane: plane(b) is called once
/// for each distinct row, with the first batch b that has it.
Mask per_distinct_row(const DistinctRows& rows, Index batch, Index queries, Index keys,
                      const std::function<PlanePtr(Index row)>& plane) {
  std::vector<PlanePtr> planes;
  planes.reserve(rows.first.size());
  for (const Index row : rows.first) planes.push_back(plane(row));
  return Mask::make(batch, 1, queries, keys, [&](Index b, Index) {
    return planes[rows.which[static_cast<std::size_t>(b)]];
  });
}

/// For each element, 1 if it is nonzero, else 0.
template <typename T>
std::vector<T> flags_of(const Tensor& valid) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(words_for(valid.elements())));
  pack_elements(valid.dtype(), valid.bytes(), words);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(valid.elements()));
  unpack_bytes(words, bytes);
  return {bytes.begin(), bytes.end()};
}

/// The shape without axes of length one before the last axis: [B,1,1,S] gives [B,S].
std::vector<Index> flat_shape(const Tensor& array) {
  std::vector<Index> shape = array.shape();
  while (shape.size() > 2 && shape[shape.size() - 2] == 1) shape.erase(shape.end() - 2);
  return shape;
}

/// For an additive mask, a bool array that is true where it is open; nothing for other arrays.
std::optional<Tensor> additive_flags(const Tensor& array) {
  if (!is_floating(array.dtype()) || !first_not_binary(array.dtype(), array.bytes())) return {};
  std::vector<std::uint64_t> words(as_size(words_for(array.elements())));
  BiasSeen seen;
  if (!pack_bias({array.dtype()}, array.bytes(), words, seen) || seen.is_mixed()) return {};
  Tensor flags(DType::kBool, array.shape());
  unpack_bytes(words, flags.as<std::uint8_t>());
  return flags;
}

}  // namespace

Tensor token_flags(const Tensor& array) {
  Tensor out = additive_flags(array).value_or(array);
  out.reshape(flat_shape(array));
  return out;
}

Mask mask_from_padding(const Tensor& valid) {
  const Rows shape = batch_rows(valid, "a padding mask");
  const auto flags = flags_of<std::int32_t>(valid);
  const std::span<const std::int32_t> ids = flags;
  return per_distinct_row(distinct_rows(std::as_bytes(ids), shape.batch), shape.batch, shape.length,
                          shape.length, [&](Index row) {
                            const auto ids_of_row = row_of(ids, row, shape.length);
                            return equal_ids(ids_of_row, ids_of_row, 0, Side::kBoth);
                          });
}

Mask mask_from_key_padding(const Tensor& valid, Index queries) {
  const Rows shape = batch_rows(valid, "a key padding mask");
  const auto flags = flags_of<std::uint8_t>(valid);
  const std::span<const std::uint8_t> all = flags;
  return per_distinct_row(
      distinct_rows(std::as_bytes(all), shape.batch), shape.batch, queries, shape.length,
      [&](Index row) { return key_flags(queries, row_of(all, row, shape.length)); });
}

Mask repeated_queries(const Mask& mask, Index queries) {
  if (mask.queries() != 1) {
    throw Error(Errc::kShape, fmt::format("the mask {} has {} queries; only one can be repeated",
                                          shape_text(mask), mask.queries()));
  }
  std::vector<PlanePtr> planes;
  std::vector<std::uint8_t> flags(as_size(mask.keys()));
  for (const PlanePtr& plane : mask.distinct()) {
    dense_rows(*plane, {0, 1}, flags);
    planes.push_back(key_flags(queries, flags));
  }
  return Mask::make(mask.batch(), mask.heads(), queries, mask.keys(),
                    [&](Index b, Index h) { return planes[mask.index_of(b, h)]; });
}

Mask mask_from_segments(const Tensor& q_ids, const Tensor& kv_ids, std::int32_t pad_id) {
  const Rows q_shape = batch_rows(q_ids, "an array of segment ids");
  const Rows kv_shape = batch_rows(kv_ids, "an array of segment ids");
  if (q_shape.batch != kv_shape.batch && q_shape.batch != 1 && kv_shape.batch != 1) {
    throw Error(Errc::kShape,
                fmt::format("the segment ids of queries {} and keys {} differ in batch; give equal "
                            "batches, or one of 1",
                            shape_text(q_ids.shape()), shape_text(kv_ids.shape())));
  }
  const Int32Elements q_all(q_ids, "segment ids of queries"), kv_all(kv_ids, "segment ids of keys");
  const DistinctRows q_rows = distinct_rows(std::as_bytes(q_all.values()), q_shape.batch);
  const DistinctRows kv_rows = distinct_rows(std::as_bytes(kv_all.values()), kv_shape.batch);
  const auto number = [](const DistinctRows& rows, Index b) {
    return rows.which[rows.which.size() == 1 ? 0 : static_cast<std::size_t>(b)];
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, PlanePtr> planes;
  const Index batch = q_shape.batch == 1 ? kv_shape.batch : q_shape.batch;
  return Mask::make(batch, 1, q_shape.length, kv_shape.length, [&](Index b, Index) {
    const auto q = number(q_rows, b);
    const auto kv = number(kv_rows, b);
    PlanePtr& plane = planes[{q, kv}];
    if (!plane) {
      plane = equal_ids(row_of(q_all.values(), q_rows.first[q], q_shape.length),
                        row_of(kv_all.values(), kv_rows.first[kv], kv_shape.length), pad_id,
                        Side::kBoth);
    }
    return plane;
  });
}

Mask mask_from_blocks(const Tensor& map, Index batch, Index heads, Index queries, Index keys,
                      BlockSize size) {
  const bool is_bool = map.dtype() == DType::kBool;
  const Tensor converted = is_bool ? Tensor() : astype(map, DType::kBool);
  const auto flags = (is_bool ? map : converted).as<std::uint8_t>();
  const Index columns = map.extent(map.rank() - 1), cells = map.extent(map.rank() - 2) * columns;
  return Mask::make(batch, heads, queries, keys, [&](Index b, Index h) {
    const auto grid = flags.subspan(as_size((b * heads + h) * cells), as_size(cells));
    return block_grid(queries, keys, size.q, size.k, grid, columns);
  });
}

}  // namespace maskctl
