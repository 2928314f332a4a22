#include "maskctl/mask/steps/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/planes/computed_rows.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::step {
namespace {

/// Computed when read: each row costs O(ascents * log K). An ascent is a range of keys whose
/// positions never decrease, for example one packed sequence.
class PositionPlane final : public ComputedRows {
 public:
  PositionPlane(std::span<const std::int32_t> q, std::span<const std::int32_t> kv,
                std::optional<Index> left, std::optional<Index> right)
      : ComputedRows(std::ssize(q), std::ssize(kv)),
        q_(q.begin(), q.end()),
        kv_(kv.begin(), kv.end()),
        left_(left),
        right_(right) {
    for (Iterator first = kv_.cbegin(); first != kv_.cend(); first = ascents_.back()) {
      ascents_.push_back(std::is_sorted_until(first, kv_.cend()));
    }
  }

  Index bytes() const override {
    return static_cast<Index>(sizeof(*this) + (q_.size() + kv_.size()) * sizeof(std::int32_t) +
                              ascents_.size() * sizeof(Iterator));
  }

 private:
  using Iterator = std::vector<std::int32_t>::const_iterator;

  void row(Index q, std::vector<Run>& runs) const override {
    Iterator first = kv_.begin();
    for (const Iterator last : ascents_) {
      add(q_[as_size(q)], first, last, runs);
      first = last;
    }
  }

  /// Appends the keys in [first, last), one ascent, that a query at `position` sees.
  void add(Index position, Iterator first, Iterator last, std::vector<Run>& runs) const {
    const auto too_low = [&](Index key) { return left_ && key - position < -*left_; };
    const auto in_reach = [&](Index key) { return !right_ || key - position <= *right_; };
    const Iterator begin = std::partition_point(first, last, too_low);
    const Iterator end = std::partition_point(begin, last, in_reach);
    append_run({static_cast<std::int32_t>(begin - kv_.begin()),
                static_cast<std::int32_t>(end - kv_.begin())},
               runs);
  }

  std::vector<std::int32_t> q_, kv_;
  std::vector<Iterator> ascents_;  // the end of each ascent
  std::optional<Index> left_, right_;
};

Index batches_of(const Tensor& tokens) { return tokens.rank() == 2 ? tokens.extent(0) : 1; }

}  // namespace

Meets meets(const Positions&) { return Meets::kKeeps; }

Mask cells(const Positions& rule, const MaskShape& shape) {
  for (const auto& side : {rule.left, rule.right}) {
    if (side && *side < 0) {
      refuse("positions", fmt::format("a side of {}: expected at least 0, or none", *side));
    }
  }
  const Tensor &q = rule.q.array, &kv = rule.kv.array;
  check_batched(shape, q, shape.queries, "positions", "queries");
  check_batched(shape, kv, shape.keys, "positions", "keys");
  const auto all_q = as_int32(q, "positions of queries"), all_kv = as_int32(kv, "of keys");
  const auto row = [](std::span<const std::int32_t> all, const Tensor& array, Index b,
                      Index length) {
    return all.subspan(as_size(token_index(array, b, 0)), as_size(length));
  };
  const Index batch = std::max(batches_of(q), batches_of(kv));
  return Mask::make(batch, 1, shape.queries, shape.keys, [&](Index b, Index) {
    return std::make_shared<PositionPlane>(row(all_q, q, b, shape.queries),
                                           row(all_kv, kv, b, shape.keys), rule.left, rule.right);
  });
}

PairReason reason(const Positions& rule, const MaskShape&, const Cell& cell) {
  const Index q = element(rule.q.array, token_index(rule.q.array, cell.batch, cell.query));
  const Index k = element(rule.kv.array, token_index(rule.kv.array, cell.batch, cell.key));
  const auto side = k < q ? rule.left : rule.right;
  const char* name = k < q ? "left" : "right";
  return {k == q || !side || std::abs(k - q) <= *side,
          fmt::format("query {} is at position {}, key {} at {}, {}={}", cell.query, q, cell.key, k,
                      name, side ? std::to_string(*side) : "none")};
}

Expr formula(const Positions& rule) {
  const Expr q = expr::element("q_position", rule.q.array, {expr::query()});
  const Expr k = expr::element("kv_position", rule.kv.array, {expr::key()});
  Expr out = expr::truth(true);
  if (rule.left) out = q - k <= expr::number(*rule.left);
  if (rule.right) out = out && k - q <= expr::number(*rule.right);
  return out;
}

namespace {

constexpr std::array kPositionsFields = {
    fields::of<&Positions::q>({.name = "q",
                               .type = FieldType::kSource,
                               .help = "positions [S] or [B,S] of the queries",
                               .required = true,
                               .stem = "positions"}),
    fields::of<&Positions::kv>({.name = "kv",
                                .type = FieldType::kSource,
                                .help = "positions of the keys",
                                .required = true,
                                .stem = "positions"}),
    fields::of<&Positions::left>({.name = "left",
                                  .type = FieldType::kSide,
                                  .help = "how far a key may be before the query, or none",
                                  .fallback = "none"}),
    fields::of<&Positions::right>({.name = "right",
                                   .type = FieldType::kSide,
                                   .help = "how far a key may be after the query, or none",
                                   .fallback = "none"})};

constexpr std::array kPositionsNames = {
    StepInfo{.name = "positions",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys whose position is near the query's",
             .formula = "-left <= kv[k] - q[q] <= right",
             .example = "positions:q=q.npy,kv=kv.npy,right=0",
             .args = kPositionsFields,
             .make = blank<Positions>,
             .for_calls = true}};
constexpr RuleInfo kPositionsRow =
    describe<Positions>(kPositionsNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Positions*) { return kPositionsRow; }

}  // namespace maskctl::step
