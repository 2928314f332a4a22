// Masks from cumulative lengths and from start-end pairs: each document is a rectangle.
#include <fmt/core.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(Errc::kInvalidArgument, message); }

std::vector<std::int64_t> list(const Tensor& array, const char* what) {
  if (array.rank() != 1) {
    throw Error(Errc::kShape, fmt::format("{} has the shape {}; expected one axis", what,
                                          shape_text(array.shape())));
  }
  return as_int64(array, what);
}

std::vector<std::int64_t> cumulative(const Tensor& array) {
  const auto values = list(array, "cu_seqlens");
  if (values.empty()) fail("cu_seqlens is empty; expected 0 and the end of each document");
  if (values[0] != 0) fail(fmt::format("cu_seqlens starts with {}; expected 0", values[0]));
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] >= values[i - 1]) continue;
    fail(
        fmt::format("cu_seqlens falls from {} to {} at entry {}; expected ends that never decrease",
                    values[i - 1], values[i], i));
  }
  return values;
}

Index extent(const std::vector<std::int64_t>& values, std::optional<Index> wanted,
             const char* side) {
  if (!wanted) return values.back();
  if (*wanted >= values.back()) return *wanted;
  fail(fmt::format("cu_seqlens ends at {}, past the {} {}; expected at most that", values.back(),
                   *wanted, side));
}

Range pair_at(const std::vector<std::int64_t>& values, std::size_t b, Index extent,
              const char* side) {
  const Range range{values[2 * b], values[2 * b + 1]};
  if (range.begin >= 0 && range.begin <= range.end && range.end <= extent) return range;
  fail(fmt::format("pair {} is {} to {}; expected 0 <= start <= end <= {}, the number of {}", b,
                   range.begin, range.end, extent, side));
}

}  // namespace

Mask mask_from_cu_seqlens(const Tensor& cu_q, const Tensor& cu_kv, std::optional<Index> queries,
                          std::optional<Index> keys) {
  const auto q = cumulative(cu_q);
  const auto kv = cumulative(cu_kv);
  if (q.size() != kv.size()) {
    fail(fmt::format(
        "cu_seqlens has {} documents for queries and {} for keys; expected the same number",
        q.size() - 1, kv.size() - 1));
  }
  std::vector<Slab> slabs;
  for (std::size_t i = 1; i < q.size(); ++i) {
    if (q[i - 1] == q[i] || kv[i - 1] == kv[i]) continue;
    slabs.push_back({{q[i - 1], q[i]}, {Band{kv[i - 1], kv[i], 0, 0}}});
  }
  return Mask(bands(extent(q, queries, "queries"), extent(kv, keys, "keys"), slabs));
}

Mask mask_from_pairs(const Tensor& pairs_q, const Tensor& pairs_kv, Index queries, Index keys) {
  const auto q = list(pairs_q, "an array of start-end pairs");
  const auto kv = list(pairs_kv, "an array of start-end pairs");
  if (q.size() % 2 != 0)
    fail(fmt::format("{} entries are not start-end pairs; expected 2B", q.size()));
  if (q.size() != kv.size()) {
    fail(fmt::format("{} entries of pairs for queries and {} for keys; expected the same number",
                     q.size(), kv.size()));
  }
  return Mask::make(static_cast<Index>(q.size() / 2), 1, queries, keys, [&](Index b, Index) {
    const auto at = static_cast<std::size_t>(b);
    const Range rows = pair_at(q, at, queries, "queries");
    return rectangle(queries, keys, rows, pair_at(kv, at, keys, "keys"));
  });
}

}  // namespace maskctl
