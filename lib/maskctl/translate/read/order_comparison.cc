// Reads order comparisons of arrays: trees by their numbering, and positions.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/printable.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/field.h"
#include "maskctl/mask/steps/take.h"
#include "maskctl/mask/steps/tree.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/translate/read/comparison.h"

namespace maskctl {

struct Comparisons::Order {
  const Python *less = nullptr, *more = nullptr;  // the arrays
  bool keys_less = false;                         // kv_idx indexes the array on the lesser side
  bool equal = false;                             // the sign is <=
};

std::optional<Comparisons::Order> Comparisons::order_of(const Python& given) const {
  if (given.kind != Python::Kind::kOperator || given.items.size() != 2) return std::nullopt;
  const bool less = given.text == "<" || given.text == "<=";
  if (!less && given.text != ">" && given.text != ">=") return std::nullopt;
  const Python &left = given.items[less ? 0 : 1], &right = given.items[less ? 1 : 0];
  Order out;
  out.equal = given.text.size() == 2;
  out.less = indexed(left, "kv_idx");
  out.more = indexed(right, "q_idx");
  out.keys_less = out.less && out.more;
  if (out.keys_less) return out;
  out.less = indexed(left, "q_idx");
  out.more = indexed(right, "kv_idx");
  return out.less && out.more ? std::optional(out) : std::nullopt;
}

namespace {

constexpr std::size_t kMostTokens = 8192;  // their parents are found in quadratic time

/// The numbers of an array; fails if they are not given.
std::vector<Index> values_of(const LibrarySource& source, const Python& array) {
  if (const auto out = numbers_in(source.text, array)) return *out;
  const std::string_view name = last_name(array.text);
  source.fail(array.position, fmt::format("the values of {} are needed, as numbers",
                                          printable(name.substr(0, name.find('#')))));
}

/// The parent of each token, of which tin and tout number the tree; -1 for a root. Nothing if a
/// parent comes after its child.
std::optional<std::vector<Index>> parents_of(const std::vector<Index>& tin,
                                             const std::vector<Index>& tout) {
  std::vector<Index> out(tin.size(), -1);
  for (std::size_t i = 0; i < tin.size(); ++i) {
    for (std::size_t j = 0; j < tin.size(); ++j) {
      if (j == i || tin[j] >= tin[i] || tin[i] >= tout[j]) continue;
      if (j > i) return std::nullopt;
      const auto at = static_cast<std::size_t>(out[i]);
      if (out[i] < 0 || tin[j] > tin[at]) out[i] = static_cast<Index>(j);
    }
  }
  return out;
}

/// A tree as stretches of tokens, each of which continues the end of an earlier one.
step::Tree stretches_of(const std::vector<Index>& parents) {
  const auto tokens = static_cast<Index>(parents.size());
  std::vector<bool> starts(parents.size() + 1, false);
  for (Index i = 0; i < tokens; ++i) {
    const Index parent = parents[static_cast<std::size_t>(i)];
    if (i > 0 && parent == i - 1) continue;
    starts[static_cast<std::size_t>(i)] = true;
    if (parent >= 0) starts[static_cast<std::size_t>(parent) + 1] = true;
  }
  step::Tree out;
  std::vector<Index> stretch(parents.size());
  for (Index i = 0; i < tokens; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i == 0 || starts[at]) {
      const auto number = static_cast<Index>(out.lens.size());
      out.lens.push_back(0);
      out.after.push_back(parents[at] < 0 ? number
                                          : stretch[static_cast<std::size_t>(parents[at])]);
    }
    ++out.lens.back();
    stretch[at] = static_cast<Index>(out.lens.size()) - 1;
  }
  return out;
}

}  // namespace

std::optional<Condition> Comparisons::tree(const Python& a, const Python& b) const {
  const auto first = order_of(a), second = order_of(b);
  if (!first || !second || first->keys_less == second->keys_less) return std::nullopt;
  const Order &from = first->keys_less ? *first : *second,
              &to = first->keys_less ? *second : *first;
  // tin[kv_idx] <= tin[q_idx] and tin[q_idx] < tout[kv_idx]
  const bool numbering = from.equal && !to.equal && from.less->text == from.more->text &&
                         to.less->text == from.less->text && to.more->text != to.less->text;
  if (!numbering) return std::nullopt;
  const std::vector<Index> tin = values_of(source_, *from.less),
                           tout = values_of(source_, *to.more);
  if (tin.size() != tout.size() || tin.size() > kMostTokens) {
    source_.fail(a.position, fmt::format("{} tokens begin and {} end: expected as many, {} at most",
                                         tin.size(), tout.size(), kMostTokens));
  }
  const auto parents = parents_of(tin, tout);
  if (!parents) source_.fail(a.position, "a parent that comes after its child is not read");
  return condition({{{stretches_of(*parents)}}});
}

std::optional<Condition> Comparisons::positions(const Python& given) const {
  const auto order = order_of(given);
  if (!order || order->less->text != order->more->text) return std::nullopt;
  const std::vector<Index> values = values_of(source_, *order->less);
  // Only the order counts: the ranks of positions are rows and columns of a causal mask.
  std::vector<Index> sorted = values;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  step::Take take;
  std::vector<Index> ranks;
  for (const Index value : values) {
    ranks.push_back(std::ranges::lower_bound(sorted, value) - sorted.begin());
  }
  take.q = take.kv = fields::numbers(ranks);
  const std::string_view name = last_name(order->less->text);
  take.q.text = take.kv.text = fmt::format("{}.npy", name.substr(0, name.find('#')));
  step::Causal causal{Align::kTopLeft, {}};
  // k <= q, k < q, q <= k or q < k: the last two are what the first two leave.
  const bool own = order->keys_less == order->equal;
  if (!own) causal.offsets = fields::numbers({-1});
  const Condition earlier = condition({{{std::move(causal)}, {std::move(take)}}, false, true});
  return order->keys_less ? earlier : negated(earlier);
}

Chain steps_of(std::string_view pipeline) { return bind(parse(pipeline), BindContext{}); }

}  // namespace maskctl
