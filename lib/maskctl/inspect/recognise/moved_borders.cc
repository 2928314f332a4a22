#include "maskctl/inspect/recognise/moved_borders.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr Index kFarthest = 4;           // tokens
constexpr std::size_t kMostBorders = 6;  // borders that are near enough, in order

bool is_near(Index border, const std::set<Index>& queries) {
  const auto first = queries.lower_bound(border - kFarthest);
  return first != queries.end() && *first <= border + kFarthest;
}

/// The lengths with border n, between documents n and n + 1, moved; none if one vanishes.
std::optional<Step> moved(const step::DocumentLengths& rule, std::size_t n, Index by) {
  step::DocumentLengths copy = rule;
  copy.lengths[n] += by, copy.lengths[n + 1] -= by;
  if (std::min(copy.lengths[n], copy.lengths[n + 1]) < 1) return {};
  return Step{copy};
}

/// The documents of `rule` with border n moved, on one side or, where both sides are equal, on
/// both.
std::optional<Step> moved(step::Within rule, std::vector<Index> step::Within::*side, std::size_t n,
                          Index by) {
  std::vector<Index>& lengths = rule.*side;
  lengths[n] += by, lengths[n + 1] -= by;
  if (std::min(lengths[n], lengths[n + 1]) < 0) return {};
  return Step{std::move(rule)};
}

/// The ids of all rows with the border before token `border` moved.
std::optional<Step> moved(const step::Document& rule, Index border, Index by) {
  step::Document copy = rule;
  copy.q.array = astype(rule.q.array, DType::kInt32);
  const Index tokens = copy.q.array.shape().back();
  if (border + by < 1 || border + by >= tokens) return {};
  const auto ids = copy.q.array.as<std::int32_t>();
  for (Index row = 0; row < copy.q.array.elements(); row += tokens) {
    const auto at = [&](Index token) -> std::int32_t& { return ids[as_size(row + token)]; };
    const std::int32_t before = at(border - 1), after = at(border);
    if (before == after) continue;
    for (Index token = border; token < border + by; ++token) at(token) = before;
    for (Index token = border + by; token < border; ++token) at(token) = after;
  }
  return Step{copy};
}

std::set<Index> borders_of(const step::Document& rule) {
  std::set<Index> out;
  if (rule.kv.array.elements() > 0 && !rule.shared) return out;
  const std::vector<std::int32_t> ids = as_int32(rule.q.array, "segment ids");
  const Index tokens = rule.q.array.shape().back();
  for (Index n = 1; n < std::ssize(ids); ++n) {
    if (n % tokens != 0 && ids[as_size(n)] != ids[as_size(n - 1)]) out.insert(n % tokens);
  }
  return out;
}

class Mover {
 public:
  Mover(const Mask& mask, const std::set<Index>& queries)
      : mask_(mask), queries_(queries), full_(full_like(mask)), found_(recognise(mask)) {
    if (found_.residue.cells > 0) {
      residue_ = zip(Op::kXor, mask_, maskctl::apply(full_, found_.chain));
    }
  }

  std::vector<Neighbour> run() {
    for (Step& step : found_.chain) visit(step);
    return std::move(out_);
  }

 private:
  void visit(Step& step) {
    if (auto* scoped = step.get_if<step::Scoped>()) {
      for (Step& inner : scoped->chain) visit(inner);
    } else if (const auto* lengths = step.get_if<step::DocumentLengths>()) {
      const step::DocumentLengths rule = *lengths;
      Index border = 0;
      for (std::size_t n = 0; n + 1 < rule.lengths.size(); ++n) {
        border += rule.lengths[n];
        move(step, border, {"documents", border}, [&](Index by) { return moved(rule, n, by); });
      }
    } else if (const auto* within = step.get_if<step::Within>()) {
      visit(step, step::Within(*within));
    } else if (const auto* ids = step.get_if<step::Document>()) {
      const step::Document rule = *ids;
      for (const Index border : borders_of(rule)) {
        move(step, border, {"documents", border},
             [&](Index by) { return moved(rule, border, by); });
      }
    }
  }
  void visit(Step& step, const step::Within& rule) {
    Index border = 0, key = 0;
    for (std::size_t n = 0; n + 1 < rule.lengths.size(); ++n) {
      border += rule.lengths[n];
      move(step, border, {"documents", border},
           [&](Index by) { return moved(rule, &step::Within::lengths, n, by); });
      if (rule.kv_lengths.empty()) continue;
      key += rule.kv_lengths[n];
      move(step, border, {"the keys of documents", key},
           [&](Index by) { return moved(rule, &step::Within::kv_lengths, n, by); });
    }
  }
  struct Border {
    const char* between;
    Index at;
  };
  /// Adds the masks in which f(by) replaces `step`, one step of the chain. `query` is the row at
  /// which the two documents meet.
  template <class F>
  void move(Step& step, Index query, const Border& border, F&& f) {
    if (borders_ == kMostBorders || !is_near(query, queries_)) return;
    ++borders_;
    const Step before = step;
    for (Index by = -kFarthest; by <= kFarthest; ++by) {
      std::optional<Step> other = by == 0 ? std::nullopt : f(by);
      if (!other) continue;
      step = std::move(*other);
      const Mask made = maskctl::apply(full_, found_.chain);
      out_.push_back(
          {fmt::format("border {} between {} at {}", border.at, border.between, border.at + by),
           residue_ ? zip(Op::kXor, made, *residue_) : made});
    }
    step = before;
  }

  const Mask& mask_;
  const std::set<Index>& queries_;
  const Mask full_;
  Recognised found_;
  std::optional<Mask> residue_;
  std::size_t borders_ = 0;
  std::vector<Neighbour> out_;
};

}  // namespace

std::vector<Neighbour> moved_borders(const Mask& mask, const std::set<Index>& queries) {
  if (mask.cells() == 0 || queries.empty()) return {};
  try {
    return Mover(mask, queries).run();
  } catch (const Error& error) {
    if (error.code() != Errc::kLimit) throw;
    return {};
  }
}

}  // namespace maskctl
