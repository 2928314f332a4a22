// Combines planes: each pair of forms of storage (bands, run lists, bits, stacks) in the cheapest
// way possible, everything else row by row.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/bands_plane.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "maskctl/mask/planes/row_lists/combine_lists.h"
#include "maskctl/mask/planes/stored_planes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

// If no shortcut exists, stored operands of at most this many runs are always read, so that the
// result can be stored instead of computed each time it is read.
constexpr Index kReadRuns = Index{1} << 22;
// Rows of both operands are buffered in blocks of 1 to kBlockRows rows, kFirstBlockRows at first.
// After a block of more than kBlockSize / 2 runs and 64-bit words the next one has half as many
// rows, else twice as many.
constexpr Index kBlockRows = 128, kFirstBlockRows = 8;
constexpr std::size_t kBlockSize = std::size_t{1} << 17;

/// Buffers a few rows of a plane.
class RowBlock {
 public:
  void read(const Plane& plane, Range q) {
    entries_.clear();
    runs_.clear();
    words_.clear();
    plane.rows(q, [&](Range r, const Keys& keys) {
      const bool is_words = keys.is_words();
      const std::size_t begin = is_words ? words_.size() : runs_.size();
      if (is_words) {
        words_.insert(words_.end(), keys.words.begin(), keys.words.end());
      } else {
        runs_.insert(runs_.end(), keys.runs.begin(), keys.runs.end());
      }
      entries_.push_back({r, is_words, begin, is_words ? keys.words.size() : keys.runs.size()});
    });
    next_ = 0;
  }
  /// The number of runs and words in the buffer.
  std::size_t size() const { return runs_.size() + words_.size(); }
  /// The keys of `row`; lowers `end` to the end of the range of rows equal to it. Call it with
  /// ascending rows.
  Keys at(Index row, Index& end) {
    while (entries_[next_].rows.end <= row) ++next_;
    const Entry& entry = entries_[next_];
    end = std::min(end, entry.rows.end);
    if (entry.is_words) return {{}, std::span(words_).subspan(entry.begin, entry.size)};
    return {std::span(runs_).subspan(entry.begin, entry.size), {}};
  }

 private:
  struct Entry {
    Range rows;
    bool is_words;
    std::size_t begin, size;
  };
  std::vector<Entry> entries_;
  std::vector<Run> runs_;
  std::vector<std::uint64_t> words_;
  std::size_t next_ = 0;
};

/// Computes one row of a op b; the result is valid until the next call.
class RowOp {
 public:
  RowOp(Op op, Index keys) : op_(op), stride_(static_cast<std::size_t>(words_for(keys))) {}

  Keys operator()(const Keys& a, const Keys& b) {
    if (!a.is_words() && !b.is_words()) {
      runs_.clear();
      combine_runs(op_, a.runs, b.runs, runs_);
      return {runs_, {}};
    }
    words_.resize(stride_);
    combine_words(op_, as_words(a, a_), as_words(b, b_), words_);
    return {{}, words_};
  }

 private:
  std::span<const std::uint64_t> as_words(const Keys& keys, std::vector<std::uint64_t>& scratch) {
    if (keys.is_words()) return keys.words;
    scratch.resize(stride_);
    runs_to_words(keys.runs, scratch);
    return scratch;
  }
  Op op_;
  std::size_t stride_;
  std::vector<Run> runs_;
  std::vector<std::uint64_t> words_, a_, b_;
};

/// a op b, computed each time it is read.
class Combined final : public Plane {
 public:
  Combined(Op op, PlanePtr a, PlanePtr b)
      : Plane(a->queries(), a->keys()), op_(op), a_(std::move(a)), b_(std::move(b)) {}

  void rows(Range q, const RowSink& sink) const override {
    RowBlock block_a, block_b;
    RowOp row_op(op_, keys());
    Index rows = kFirstBlockRows;
    const StopPoll poll;
    for (Range block{q.begin, q.begin}; block.end < q.end;) {
      block = {block.end, std::min(block.end + rows, q.end)};
      block_a.read(*a_, block);
      block_b.read(*b_, block);
      const bool is_large = block_a.size() + block_b.size() > kBlockSize / 2;
      rows = std::clamp<Index>(is_large ? rows / 2 : rows * 2, 1, kBlockRows);
      for (Index row = block.begin; row < block.end;) {
        poll();
        Index end = block.end;
        const Keys in_a = block_a.at(row, end);
        const Keys in_b = block_b.at(row, end);
        sink({row, end}, row_op(in_a, in_b));
        row = end;
      }
    }
  }
  /// Uses the count of the intersection if that has a closed form: |a or b| = |a| + |b| - |a and
  /// b|.
  Index count(Range q, Range k) const override {
    const PlanePtr both = q.size() == queries() ? combine_lists(Op::kAnd, a_, b_) : nullptr;
    if (!both) return Plane::count(q, k);
    const Index in_a = a_->count(q, k), in_b = b_->count(q, k), in_both = both->count(q, k);
    switch (op_) {
      case Op::kAnd:
        return in_both;
      case Op::kOr:
        return in_a + in_b - in_both;
      case Op::kXor:
        return in_a + in_b - 2 * in_both;
      default:
        return in_a - in_both;
    }
  }
  PlanePtr sliced(Range q, Range k) const override {
    return combine(op_, a_->sliced(q, k), b_->sliced(q, k));
  }
  bool computed() const override { return true; }
  Index bytes() const override { return a_->bytes() + b_->bytes(); }

 private:
  Op op_;
  PlanePtr a_, b_;
};

/// A plane that is open where another plane, its base, is closed.
class Complement final : public Plane {
 public:
  explicit Complement(PlanePtr base)
      : Plane(base->queries(), base->keys()), base_(std::move(base)) {}

  void rows(Range q, const RowSink& sink) const override {
    const Run all{0, static_cast<std::int32_t>(keys())};
    std::vector<std::uint64_t> full(static_cast<std::size_t>(words_for(keys())));
    runs_to_words(keys() == 0 ? std::span<const Run>() : std::span(&all, 1), full);
    const Keys everything{keys() == 0 ? std::span<const Run>() : std::span(&all, 1), {}};
    RowOp subtract(Op::kSub, keys());
    base_->rows(q, [&](Range r, const Keys& k) {
      sink(r, subtract(k.is_words() ? Keys{{}, full} : everything, k));
    });
  }
  Index count(Range q, Range k) const override { return q.size() * k.size() - base_->count(q, k); }
  PlanePtr transposed() const override { return complement(base_->transposed()); }
  PlanePtr sliced(Range q, Range k) const override { return complement(base_->sliced(q, k)); }
  bool computed() const override { return base_->computed(); }
  Index bytes() const override { return base_->bytes(); }
  const PlanePtr& base() const { return base_; }

 private:
  PlanePtr base_;
};

PlanePtr combine_bits(Op op, const BitRows& a, const BitRows& b) {
  WordBuffer out(static_cast<Index>(a.words().size()));
  constexpr Index kWords = Index{1} << 16;
  const auto size = static_cast<Index>(a.words().size());
  parallel_for(ceil_div(size, kWords), [&](Index task) {
    const auto begin = static_cast<std::size_t>(task * kWords);
    const auto count = static_cast<std::size_t>(std::min(kWords, size - task * kWords));
    combine_words(op, a.words().subspan(begin, count), b.words().subspan(begin, count),
                  out.words().subspan(begin, count));
  });
  return std::make_shared<BitRows>(a.queries(), a.keys(), std::move(out));
}

/// Returns the rows of `plane` that part i of `stack` covers. A stack is planes on top of each
/// other; `plane` is a stack with equal parts, or any plane of the same extents.
PlanePtr rows_of_part(const PlanePtr& plane, const Stack& stack, std::size_t i) {
  if (const auto* own = as<Stack>(plane)) return own->parts()[i];
  return plane->sliced(stack.rows_of(i), {0, plane->keys()});
}

/// Combines part by part if one operand is a stack (planes on top of each other) and the other is
/// cheap to slice. Null otherwise.
PlanePtr combine_stack(Op op, const PlanePtr& a, const PlanePtr& b, Index budget_runs) {
  const auto* stack_a = as<Stack>(a);
  const auto* stack_b = as<Stack>(b);
  const auto* stack = stack_a ? stack_a : stack_b;
  if (!stack) return nullptr;
  const bool alike = stack_a && stack_b && stack_a->part_rows() == stack_b->part_rows();
  if (!alike && !as<BandsPlane>(stack_a ? b : a)) return nullptr;
  std::vector<PlanePtr> parts(stack->parts().size());
  const auto share = budget_runs / static_cast<Index>(parts.size());
  parallel_for(static_cast<Index>(parts.size()), [&](Index i) {
    const auto part = static_cast<std::size_t>(i);
    parts[part] = combine(op, rows_of_part(a, *stack, part), rows_of_part(b, *stack, part), share);
  });
  return stacked(stack->part_rows(), std::move(parts));
}

/// Estimates from a sample of rows whether all rows of a plane together have more than `most` runs.
bool has_too_many_runs(const Plane& plane, Index most) {
  constexpr Index kRowsAsked = 256;
  const Index step = std::max<Index>(1, plane.queries() / kRowsAsked);
  Index runs = 0;
  for (Index row = 0; row < plane.queries(); row += step) {
    plane.row_sizes({row, row + 1}, [&](Range, const Plane::RowSize& size) { runs += size.runs; });
  }
  return runs > most / step;
}

/// True if the plane is full, false if it is empty; nothing for all others, and for planes that are
/// not stored as bands.
std::optional<bool> constant_of(const PlanePtr& plane) {
  const auto* bands = as<BandsPlane>(plane);
  if (!bands) return std::nullopt;
  if (bands->slabs().empty()) return false;
  const Slab& slab = bands->slabs().front();
  const bool is_full = slab.q.size() == plane->queries() && slab.bands.size() == 1 &&
                       slab.bands.front() == Band{0, plane->keys(), 0, 0};
  return is_full ? std::optional(true) : std::nullopt;
}

/// If one operand is full or empty and the result is one of the operands, returns that; else null.
PlanePtr combine_constant(Op op, const PlanePtr& a, const PlanePtr& b) {
  const std::optional<bool> all_a = constant_of(a), all_b = constant_of(b);
  switch (op) {
    case Op::kAnd:
      if (all_a == true || all_b == false) return b;
      return all_b == true || all_a == false ? a : nullptr;
    case Op::kOr:
      if (all_a == false || all_b == true) return b;
      return all_b == false || all_a == true ? a : nullptr;
    case Op::kXor:
      if (all_a == false) return b;
      return all_b == false ? a : nullptr;
    case Op::kSub:
      break;
  }
  return all_a == false || all_b == false ? a : nullptr;
}

/// Combines two planes with a shortcut for the forms in which they are stored (bands, lists, bits,
/// stacks); null if there is none.
PlanePtr combine_tiers(Op op, const PlanePtr& a, const PlanePtr& b, Index budget_runs) {
  if (PlanePtr plane = combine_constant(op, a, b)) return plane;
  const auto* bands_a = as<BandsPlane>(a);
  const auto* bands_b = as<BandsPlane>(b);
  if (bands_a && bands_b) {
    if (PlanePtr plane = combine_bands(op, *bands_a, *bands_b, kBandBudget)) return plane;
  }
  if (PlanePtr plane = combine_lists(op, a, b)) return plane;
  const auto* bits_a = as<BitRows>(a);
  const auto* bits_b = as<BitRows>(b);
  if (bits_a && bits_b) return combine_bits(op, *bits_a, *bits_b);
  return combine_stack(op, a, b, budget_runs);
}

void check_extents(const Plane& a, const Plane& b) {
  if (a.queries() == b.queries() && a.keys() == b.keys()) return;
  throw Error(Errc::kShape,
              fmt::format("masks of {} x {} and {} x {} cannot be combined: expected equal shapes",
                          a.queries(), a.keys(), b.queries(), b.keys()));
}

}  // namespace

PlanePtr combine(Op op, const PlanePtr& a, const PlanePtr& b, Index budget_runs) {
  check_extents(*a, *b);
  if (PlanePtr plane = combine_tiers(op, a, b, budget_runs)) return plane;
  const auto lazy = std::make_shared<Combined>(op, a, b);
  if (a->computed() || b->computed()) return lazy;
  const Index most = kReadRuns + 16 * budget_runs;
  const auto is_too_large = [&](const Plane& plane) {
    return plane.has_row_index() && has_too_many_runs(plane, most);
  };
  if (is_too_large(*a) || is_too_large(*b)) return lazy;
  // What would be given up when the budget is used is not begun.
  const Index words = a->queries() * words_for(a->keys()) / 2;  // as runs of two words
  if (words > 2 * budget_runs && has_too_many_runs(*lazy, 2 * budget_runs)) return lazy;
  if (PlanePtr plane = stored(*lazy, budget_runs)) return plane;
  return lazy;
}

PlanePtr complement(const PlanePtr& plane) {
  if (as<BandsPlane>(plane)) {
    return combine(Op::kSub, full_plane(plane->queries(), plane->keys()), plane);
  }
  if (const auto* twice = as<Complement>(plane)) return twice->base();
  return std::make_shared<Complement>(plane);
}

Index differing_cells(const PlanePtr& a, const PlanePtr& b) {
  if (same_representation(*a, *b)) return 0;
  check_extents(*a, *b);
  if (const PlanePtr plane = combine_tiers(Op::kXor, a, b, kReadRuns)) return plane->count();
  const Combined lazy(Op::kXor, a, b);  // what is only counted need not be stored
  return lazy.Plane::count();
}

}  // namespace maskctl
