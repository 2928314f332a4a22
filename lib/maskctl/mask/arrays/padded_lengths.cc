// Real beside padded cumulative lengths, and batches that lie end to end.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/requests.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The real tokens of each document on one side, from two arrays of cumulative lengths.
std::vector<Range> places_of(const Tensor& real, const Tensor& padded, const char* side) {
  const auto ends = as_int64(real, "cu_seqlens"), starts = as_int64(padded, "cu_seqlens_padded");
  std::vector<Range> out;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    const Index length = ends[i + 1] - ends[i], room = starts[i + 1] - starts[i];
    if (length > room) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("document {} has {} {}, but {} with its padding; expected no fewer",
                              i, length, side, room));
    }
    out.push_back({starts[i], starts[i] + length});
  }
  return out;
}

/// Refuses what is wrong with each array by itself; returns the extent.
Index checked_lengths(const Tensor& array, const Tensor& like, const char* name,
                      std::optional<Index> extent) {
  if (array.rank() != 1 || array.elements() != like.elements()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} has the shape {}; expected ({},), as cu_seqlens_q", name,
                            shape_text(array.shape()), like.elements()));
  }
  try {
    return mask_from_cu_seqlens(array, array, extent, extent).queries();
  } catch (const Error& error) {
    throw error.within(name);
  }
}

/// One side of documents: real and padded ends.
struct RealEnds {
  std::vector<Index> real{0}, padded{0};

  /// Adds a document that begins at `begin`, before which all is padding.
  void add(Range tokens) {
    if (tokens.begin > padded.back()) padded.back() = tokens.begin;
    real.push_back(real.back() + tokens.size());
    padded.push_back(tokens.end);
  }
};

}  // namespace

Mask mask_from_padded_lengths(const PaddedLengths& lengths, std::optional<Index> queries,
                              std::optional<Index> keys) {
  constexpr std::optional<Index> kAny;
  checked_lengths(lengths.q, lengths.q, "cu_seqlens_q", kAny);
  checked_lengths(lengths.kv, lengths.q, "cu_seqlens_kv", kAny);
  const Index q_extent =
      checked_lengths(lengths.q_padded, lengths.q, "cu_seqlens_q_padded", queries);
  const Index k_extent =
      checked_lengths(lengths.kv_padded, lengths.q, "cu_seqlens_kv_padded", keys);
  const auto q = places_of(lengths.q, lengths.q_padded, "queries");
  const auto kv = places_of(lengths.kv, lengths.kv_padded, "keys");
  std::vector<Slab> slabs;
  for (std::size_t i = 0; i < q.size(); ++i) {
    if (q[i].empty() || kv[i].empty()) continue;
    slabs.push_back({q[i], {Band{kv[i].begin, kv[i].end, 0, 0}}});
  }
  return Mask(bands(q_extent, k_extent, slabs));
}

PaddedDocuments documents_of_padded(const PaddedLengths& lengths, Index queries, Index keys) {
  const auto numbers = [](const std::vector<Range>& places, Index tokens) {
    Tensor out(DType::kInt32, {1, tokens});
    const auto ids = out.as<std::int32_t>();
    std::ranges::fill(ids, -1);
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::ranges::fill(ids.subspan(as_size(places[i].begin), as_size(places[i].size())),
                        static_cast<std::int32_t>(i));
    }
    return out;
  };
  return {numbers(places_of(lengths.q, lengths.q_padded, "queries"), queries),
          numbers(places_of(lengths.kv, lengths.kv_padded, "keys"), keys)};
}

NearestLengths nearest_padded_lengths(const Mask& mask) {
  const Nearest documents = nearest_cu_seqlens(mask);
  const auto q = as_int64(documents.q, "cu_seqlens"), kv = as_int64(documents.kv, "cu_seqlens");
  RealEnds q_ends, kv_ends;
  for (std::size_t i = 1; i < q.size(); ++i) {
    if (q[i] == q[i - 1] || kv[i] == kv[i - 1]) continue;
    // Padding before the first document has no document before it.
    const bool leads = q_ends.real.size() == 1 && (q[i - 1] > 0 || kv[i - 1] > 0);
    if (leads) q_ends.add({0, 0}), kv_ends.add({0, 0});
    q_ends.add({q[i - 1], q[i]});
    kv_ends.add({kv[i - 1], kv[i]});
  }
  if (q_ends.real.size() == 1) q_ends.add({0, 0}), kv_ends.add({0, 0});
  q_ends.padded.back() = mask.queries();
  kv_ends.padded.back() = mask.keys();
  NearestLengths out{{int32_list(q_ends.real), int32_list(kv_ends.real), int32_list(q_ends.padded),
                      int32_list(kv_ends.padded)},
                     {}};
  out.mask = mask_from_padded_lengths(out.lengths, mask.queries(), mask.keys());
  return out;
}

Mask end_to_end(const Mask& mask, Index max_bytes) {
  const Mask joined = reduce_heads(Op::kOr, mask);
  if (mask.batch() == 1) return joined;
  const auto queries = checked_mul(mask.batch(), mask.queries());
  const auto keys = checked_mul(mask.batch(), mask.keys());
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  if (!queries || !keys || *queries > kMost || *keys > kMost) {
    throw Error(Errc::kLimit,
                fmt::format("{} batch entries of {} queries and {} keys are too many tokens to lie "
                            "end to end",
                            mask.batch(), mask.queries(), mask.keys()),
                {{Remedy::kSliceMask}});
  }
  return Mask(filled_lists(*queries, *keys, 1, {max_bytes}, [&](Index row, std::vector<Run>& runs) {
    const Index b = row / mask.queries(), q = row % mask.queries();
    thread_local std::vector<Run> scratch;
    joined.plane(b, 0)->rows({q, q + 1}, [&](Range, const Keys& open) {
      const auto first = static_cast<std::int32_t>(b * mask.keys());
      for (const Run& run : as_runs(open, scratch)) {
        runs.push_back({run.begin + first, run.end + first});
      }
    });
  }));
}

Mask batches_of(const Mask& packed, Index batch, Index queries, Index keys) {
  const auto all_queries = checked_mul(batch, queries), all_keys = checked_mul(batch, keys);
  if (packed.batch() != 1 || packed.heads() != 1 || packed.queries() != all_queries ||
      packed.keys() != all_keys) {
    throw Error(Errc::kShape,
                fmt::format("the mask is {}; expected {} batch entries of {} queries and {} keys, "
                            "end to end",
                            shape_text(packed), batch, queries, keys));
  }
  Mask out = Mask::make(batch, 1, queries, keys, [&](Index b, Index) {
    return packed.plane(0, 0)->sliced({b * queries, (b + 1) * queries}, {b * keys, (b + 1) * keys});
  });
  if (out.count() == packed.count()) return out;
  throw Error(Errc::kFormat,
              fmt::format("{} open cells join queries and keys of different batch entries",
                          packed.count() - out.count()));
}

}  // namespace maskctl
