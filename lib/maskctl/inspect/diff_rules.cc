// Rules whose numbers can be read from planes, tried as the reason why two of them differ.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "maskctl/inspect/diff_change.h"
#include "maskctl/inspect/diff_diagonals.h"
#include "maskctl/inspect/diff_reason.h"
#include "maskctl/inspect/recognise_cells.h"
#include "maskctl/inspect/recognise_classes.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/leaves.h"

namespace maskctl {
namespace {

using recognising::Classes;
using recognising::common_stride;
using recognising::diagonals;
using recognising::Hull;
using recognising::hull_of;

MaybeReason stride_rule(const PlanePair& pair) {
  const Index a = common_stride(*pair.a), b = common_stride(*pair.b);
  if (a < 2 || b < 2 || a == b) return std::nullopt;
  const auto plane = [&pair](Index stride) {
    return dilated(pair.queries(), pair.keys(), stride, 0);
  };
  if (!kept_by(pair, plane(a), plane(b))) return std::nullopt;
  return Reason{"parameter", fmt::format("dilated stride {}", instead(b, a))};
}

MaybeReason pad_length_rule(const PlanePair& pair) {
  const Range a = hull_of(*pair.a).k, b = hull_of(*pair.b).k;
  if (a == b) return std::nullopt;
  const auto keys = [&pair](Range k) {
    return rectangle(pair.queries(), pair.keys(), {0, pair.queries()}, k);
  };
  const auto both = [&pair](Range k) { return rectangle(pair.queries(), pair.keys(), k, k); };
  if (!kept_by(pair, keys(a), keys(b)) && !(pair.square() && kept_by(pair, both(a), both(b)))) {
    return std::nullopt;
  }
  const bool left = a.begin != b.begin;
  const Index valid_a = left ? pair.keys() - a.begin : a.end;
  const Index valid_b = left ? pair.keys() - b.begin : b.end;
  return Reason{"parameter",
                fmt::format("{}pad length {}", left ? "left " : "", instead(valid_b, valid_a))};
}

/// Rows that only one of both planes opens, where they are all the difference; else none.
std::vector<Range> rows_of_one(const PlanePair& pair) {
  const Range a = hull_of(*pair.a).q, b = hull_of(*pair.b).q;
  const auto rows = [&pair](Range q) {
    return rectangle(pair.queries(), pair.keys(), q, {0, pair.keys()});
  };
  if (a == b || !kept_by(pair, rows(a), rows(b))) return {};
  const Range wide = a.size() > b.size() ? a : b, narrow = a.size() > b.size() ? b : a;
  std::vector<Range> ends;
  if (wide.begin < narrow.begin) ends.push_back({wide.begin, narrow.begin});
  if (narrow.end < wide.end) ends.push_back({narrow.end, wide.end});
  return ends;
}

MaybeReason padding_rows(const PlanePair& pair, const std::vector<Range>& rows) {
  if (rows.empty()) return std::nullopt;
  return Reason{"padding",
                fmt::format("padding rows {}: {}", is_empty(pair.only_a) ? "open" : "closed",
                            ranges_words("query", rows))};
}

MaybeReason padding_rows_rule(const PlanePair& pair) {
  return padding_rows(pair, rows_of_one(pair));
}

/// Such rows that see all keys, as no longer document does.
MaybeReason whole_rows_rule(const PlanePair& pair) {
  const std::vector<Range> rows = rows_of_one(pair);
  const PlanePtr& wide = is_empty(pair.only_a) ? pair.b : pair.a;
  const bool whole = std::ranges::all_of(rows, [&](const Range& range) {
    return wide->classify(range, {0, pair.keys()}) == Fill::kFull;
  });
  return whole ? padding_rows(pair, rows) : std::nullopt;
}

MaybeReason documents_rule(const PlanePair& pair) {
  const auto classes = [&pair](const PlanePtr& plane) {
    return recognising::connected(*plane, pair.square());
  };
  const Classes a = classes(pair.a), b = classes(pair.b);
  if (a.count < 1 || b.count < 1) return std::nullopt;
  if (!kept_by(pair, recognising::plane_of(a, pair.queries(), pair.keys()),
               recognising::plane_of(b, pair.queries(), pair.keys()))) {
    return std::nullopt;
  }
  const auto ids = [&pair](const Classes& found) {
    return Ids{recognising::ids_of(found.q, pair.queries(), 0, -1),
               recognising::ids_of(found.k, pair.keys(), 0, -1), -1};
  };
  return documents_change(ids(a), ids(b));
}

/// Chunks of `size`; the offset moves the rows against the keys.
struct Chunks {
  Index size = 0, offset = 0;
};
PlanePtr plane_of(const Chunks& chunks, const PlanePair& pair) {
  const Mask full(full_plane(pair.queries(), pair.keys()));
  return maskctl::apply(full, Step{step::Chunk{chunks.size, chunks.offset}}).plane(0, 0);
}

/// A few rows of a plane with their first and last key: what most chunks already fail on.
class RowSample {
 public:
  explicit RowSample(const Plane& plane) {
    constexpr Index kRows = 96;
    const Index step = std::max<Index>(1, plane.queries() / kRows);
    for (Index row = 0; row < plane.queries(); row += step) {
      plane.rows({row, row + 1}, [&](Range, const Keys& keys) {
        std::vector<Run> runs(keys.runs.begin(), keys.runs.end());
        if (keys.is_words()) words_to_runs(keys.words, runs);
        if (!runs.empty()) rows_.push_back({row, runs.front().begin, runs.back().end - 1});
      });
    }
  }
  bool fits(const Chunks& chunks) const {
    return std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
      const Index chunk = floor_div(row.query + chunks.offset, chunks.size);
      return chunk == floor_div(row.first, chunks.size) &&
             chunk == floor_div(row.last, chunks.size);
    });
  }
  /// No row has its first or last key in its chunk.
  bool misses(const Chunks& chunks) const {
    return std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
      const Index chunk = floor_div(row.query + chunks.offset, chunks.size);
      return chunk != floor_div(row.first, chunks.size) &&
             chunk != floor_div(row.last, chunks.size);
    });
  }

 private:
  struct Row {
    Index query, first, last;
  };
  std::vector<Row> rows_;
};

MaybeReason chunk_rule(const PlanePair& pair) {
  constexpr Index kMostSizes = 4096, kSizesWithOffset = 300, kMostTrials = 64;
  Index trials = 0;
  const RowSample a(*pair.a), b(*pair.b), only_a(*pair.only_a), only_b(*pair.only_b);
  const auto explains = [&](const Chunks& x, const Chunks& y) {
    return y.size > 0 && b.fits(y) && only_a.misses(y) && only_b.misses(x) &&
           ++trials <= kMostTrials && kept_by(pair, plane_of(x, pair), plane_of(y, pair));
  };
  const Index longest = std::max(pair.queries(), pair.keys());
  for (Index size = 1; size <= std::min(longest, kMostSizes); ++size) {
    const Index reach = longest <= kSizesWithOffset ? longest : 1;
    for (Index offset = 0; std::abs(offset) < reach; offset = offset > 0 ? -offset : 1 - offset) {
      const Chunks x{size, offset};
      if (!a.fits(x)) continue;
      for (const Index by : {Index{1}, Index{-1}}) {
        if (explains(x, {size + by, offset})) {
          return Reason{"parameter", fmt::format("chunk size {}", instead(size + by, size))};
        }
        if (explains(x, {size, offset + by})) {
          return Reason{"parameter", fmt::format("chunk offset {}", instead(offset + by, offset))};
        }
      }
    }
  }
  return std::nullopt;
}

/// The most first keys that every query sees, as far as `limits` lets it.
Index first_keys_of(const PlanePair& pair, const PlanePtr& plane, const PlanePtr& limits) {
  Index low = 0, high = pair.keys();
  while (low < high) {
    const Index n = (low + high + 1) / 2;
    const PlanePtr first = rectangle(pair.queries(), pair.keys(), {0, pair.queries()}, {0, n});
    if (inside(combine(Op::kAnd, first, limits), plane)) {
      low = n;
    } else {
      high = n - 1;
    }
  }
  return low;
}

MaybeReason first_keys_rule(const PlanePair& pair) {
  const auto span_a = diagonals(*pair.a), span_b = diagonals(*pair.b);
  if (!span_a || !span_b) return std::nullopt;
  const PlanePtr limits =
      diagonal_band(pair.queries(), pair.keys(), std::min(span_a->low, span_b->low),
                    std::max(span_a->high, span_b->high));
  const Index a = first_keys_of(pair, pair.a, limits), b = first_keys_of(pair, pair.b, limits);
  if (a == b || std::max(a, b) == pair.keys()) return std::nullopt;  // all keys are no prefix
  const auto plane = [&](Index n) {
    return combine(Op::kAnd, rectangle(pair.queries(), pair.keys(), {0, pair.queries()}, {0, n}),
                   limits);
  };
  if (!opened_by(pair, plane(a), plane(b))) return std::nullopt;
  return Reason{"parameter", fmt::format("prefix or sinks {}", instead(b, a))};
}

}  // namespace

namespace {

MaybeReason simplest_rule(const PlanePair& pair) {
  MaybeReason best;
  for (const auto rule : {whole_rows_rule, diagonals_rule, first_keys_rule, documents_rule,
                          stride_rule, pad_length_rule, chunk_rule, padding_rows_rule}) {
    auto found = rule(pair);
    if (found && (!best || found->changes < best->changes)) best = std::move(found);
    if (best && best->changes == 1) break;
  }
  return best;
}

}  // namespace

MaybeReason rules_reason(const PlanePair& pair) {
  auto found = simplest_rule(pair);
  if (found && found->changes == 1) return found;
  if (const auto rest = uncovered(pair)) {
    auto under = simplest_rule(*rest);
    if (under && (!found || under->changes < found->changes)) return under;
  }
  return found;
}

}  // namespace maskctl
