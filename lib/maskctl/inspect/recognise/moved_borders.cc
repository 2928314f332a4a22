#include "maskctl/inspect/recognise/moved_borders.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr Index kFarthest = 4;           // the farthest move, in tokens
constexpr std::size_t kMostBorders = 6;  // only the first borders near `queries` are moved

bool is_near(Index border, const std::set<Index>& queries) {
  const auto first = queries.lower_bound(border - kFarthest);
  return first != queries.end() && *first <= border + kFarthest;
}

/// The step with the border between documents n and n + 1 moved by `by` tokens in one of its lists
/// of lengths. Nothing if one of the two documents would get fewer than `least` tokens.
std::optional<Step> moved(Step step, const Field& lengths_of, std::size_t n, Index by,
                          Index least) {
  auto lengths = std::get<std::vector<Index>>(lengths_of.get(step));
  lengths[n] += by, lengths[n + 1] -= by;
  if (std::min(lengths[n], lengths[n + 1]) < least) return {};
  lengths_of.set(step, std::move(lengths));
  return step;
}

/// The step with the border before token `border` moved by `by` tokens in all rows of its ids.
std::optional<Step> moved(Step step, const Field& ids_of, Index border, Index by) {
  auto array = std::get<NamedArray>(ids_of.get(step));
  array.array = astype(array.array, DType::kInt32);
  const Index tokens = array.array.shape().back();
  if (border + by < 1 || border + by >= tokens) return {};
  const auto ids = array.array.as<std::int32_t>();
  for (Index row = 0; row < array.array.elements(); row += tokens) {
    const auto at = [&](Index token) -> std::int32_t& { return ids[as_size(row + token)]; };
    const std::int32_t before = at(border - 1), after = at(border);
    if (before == after) continue;
    for (Index token = border; token < border + by; ++token) at(token) = before;
    for (Index token = border + by; token < border; ++token) at(token) = after;
  }
  ids_of.set(step, std::move(array));
  return step;
}

/// The tokens at which an id differs from the one before, in any row of ids.
std::set<Index> borders_in(const Tensor& array) {
  std::set<Index> out;
  const std::vector<std::int32_t> ids = as_int32(array, "segment ids");
  const Index tokens = array.shape().back();
  for (Index n = 1; n < std::ssize(ids); ++n) {
    if (n % tokens != 0 && ids[as_size(n)] != ids[as_size(n - 1)]) out.insert(n % tokens);
  }
  return out;
}

/// The arguments whose values have this type: first that of the queries (or of both sides), then
/// that of the keys.
template <typename Value>
std::vector<const Field*> sides_of(const Step& step) {
  std::vector<const Field*> out;
  for (const Field& field : info_of(step).args) {
    if (std::holds_alternative<Value>(field.get(step))) out.push_back(&field);
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
    if (step.row().scope) {
      for (Step& inner : *info_of(step).chain(step)) visit(inner);
      return;
    }
    const Step before = step;
    const auto documents = documents_in(before);
    if (!documents) return;
    if (!documents->q_ids) return of_lengths(step, before, *documents);
    if (!documents->shared) return;
    const Field& ids = *sides_of<NamedArray>(before).front();
    for (const Index border : borders_in(*documents->q_ids)) {
      move(step, border, {"documents", border},
           [&](Index by) { return moved(before, ids, border, by); });
    }
  }
  /// Moves the borders of documents given by lengths. If queries and keys have lengths of their
  /// own, a document may also lose all its queries or all its keys.
  void of_lengths(Step& step, const Step& before, const StepDocuments& documents) {
    const auto sides = sides_of<std::vector<Index>>(before);
    const Index least = documents.shared ? 1 : 0;
    Index border = 0, key = 0;
    for (std::size_t n = 0; n + 1 < documents.q_lengths.size(); ++n) {
      border += documents.q_lengths[n];
      move(step, border, {"documents", border},
           [&](Index by) { return moved(before, *sides.front(), n, by, least); });
      if (documents.shared) continue;
      key += documents.k_lengths[n];
      move(step, border, {"the keys of documents", key},
           [&](Index by) { return moved(before, *sides.back(), n, by, least); });
    }
  }
  struct Border {
    const char* between;
    Index at;
  };
  /// Adds masks in which a border between documents has moved: those that the chain gives with
  /// `step`, one of its steps, replaced by f(by), for each number of tokens `by`. `query` is the
  /// row at which the two documents meet.
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
