#include "maskctl/mask/steps/tree_parents.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "maskctl/base/text.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::step {
namespace {

using View = std::span<const std::int32_t>;

/// Refuses parents outside the tokens and circles; a token that is its own parent becomes a root.
TreeTokens checked_parents(View given) {
  TreeTokens out(given.begin(), given.end());
  const auto tokens = std::ssize(out);
  for (Index i = 0; i < tokens; ++i) {
    std::int32_t& parent = out[as_size(i)];
    if (parent == i) parent = kRoot;
    if (parent < kRoot || parent >= tokens) {
      refuse("tree", fmt::format("the parent of token {} is {}: expected a token, 0 to {}, or -1 "
                                 "for a root",
                                 i, parent, tokens - 1));
    }
  }
  // For each token, the number of the walk that met it; a walk that meets its own number goes round
  // a circle.
  std::vector<std::int32_t> walk(out.size(), -1);
  for (Index i = 0; i < tokens; ++i) {
    auto at = static_cast<std::int32_t>(i);
    for (; at != kRoot && walk[as_size(at)] < 0; at = out[as_size(at)]) {
      walk[as_size(at)] = static_cast<std::int32_t>(i);
    }
    if (at != kRoot && walk[as_size(at)] == i) {
      refuse("tree",
             fmt::format("token {} is its own ancestor: parents must end in a root, -1", at));
    }
  }
  return out;
}

/// The nearest token before with less depth, and -1 where there is none.
TreeTokens parents_of_depths(View depth) {
  TreeTokens out(depth.size()), path;
  for (std::size_t i = 0; i < depth.size(); ++i) {
    if (depth[i] < 0) {
      refuse("tree", fmt::format("the depth of token {} is {}: expected 0 or more", i, depth[i]));
    }
    while (!path.empty() && depth[as_size(path.back())] >= depth[i]) path.pop_back();
    out[i] = path.empty() ? kRoot : path.back();
    path.push_back(static_cast<std::int32_t>(i));
  }
  return out;
}

/// For each token, the token whose interval is the innermost one around its own.
TreeTokens parents_of_intervals(View tin, View tout) {
  TreeTokens order(tin.size()), out(tin.size()), path;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int32_t i) { return tin[as_size(i)]; });
  for (const std::int32_t token : order) {
    const std::int32_t begin = tin[as_size(token)], end = tout[as_size(token)];
    while (!path.empty() && tout[as_size(path.back())] <= begin) path.pop_back();
    const std::int32_t parent = path.empty() ? kRoot : path.back();
    const bool same = parent != kRoot && tin[as_size(parent)] == begin;
    if (end <= begin || same || (parent != kRoot && tout[as_size(parent)] < end)) {
      refuse("tree", fmt::format("token {} has tin {} and tout {}{}: intervals must not be empty, "
                                 "must begin apart, and lie inside each other or beside",
                                 token, begin, end,
                                 parent == kRoot
                                     ? std::string()
                                     : fmt::format(", token {} has {} and {}", parent,
                                                   tin[as_size(parent)], tout[as_size(parent)])));
    }
    out[as_size(token)] = parent;
    path.push_back(token);
  }
  return out;
}

TreeTokens parents_of_stretches(const Tree& rule, Index tokens) {
  TreeTokens out(as_size(tokens), kOutside), ends;
  std::int32_t start = 0;
  for (std::size_t i = 0; i < rule.lens.size(); ++i) {
    const Index length = rule.lens[i], after = rule.after[i], self = static_cast<Index>(i);
    if (length < 1 || length > tokens - start) {
      refuse("tree", fmt::format("stretch {} has {} at token {} of {}: expected 1 or more, within "
                                 "the mask",
                                 i, counted(length, "token"), start, tokens));
    }
    if (after < 0 || after > self) {
      refuse("tree", fmt::format("stretch {} continues stretch {}: expected an earlier one, or its "
                                 "own number for a root",
                                 i, after));
    }
    out[as_size(start)] = after == self ? kRoot : ends[as_size(after)];
    const auto end = start + static_cast<std::int32_t>(length);
    for (std::int32_t token = start + 1; token < end; ++token) out[as_size(token)] = token - 1;
    ends.push_back(end - 1);
    start = end;
  }
  return out;
}

/// The numbers of one batch entry in an array [K] or [B,K] whose elements are `all`.
View of_entry(const NamedArray& array, View all, Index batch) {
  return array.empty() ? View()
                       : all.subspan(as_size(token_index(array.array, batch, 0)),
                                     as_size(array.array.extent(array.array.rank() - 1)));
}

Index batches_of(const NamedArray& array) {
  return array.array.rank() == 2 ? array.array.extent(0) : 1;
}

}  // namespace

std::vector<TreeTokens> parents_of(const Tree& rule, Index tokens) {
  if (!rule.lens.empty()) return {parents_of_stretches(rule, tokens)};
  const auto numbers = [](const NamedArray& array, const char* what) {
    return array.empty() ? decltype(as_int32(array.array, what))() : as_int32(array.array, what);
  };
  const auto parents = numbers(rule.parents, "parents"), depth = numbers(rule.depth, "depths"),
             tin = numbers(rule.tin, "tin"), tout = numbers(rule.tout, "tout");
  Index batches = 1;
  for (const NamedArray* array : {&rule.parents, &rule.depth, &rule.tin, &rule.tout}) {
    batches = std::max(batches, batches_of(*array));
  }
  std::vector<TreeTokens> out;
  for (Index b = 0; b < batches; ++b) {
    out.push_back(!rule.parents.empty() ? checked_parents(of_entry(rule.parents, parents, b))
                  : !rule.depth.empty() ? parents_of_depths(of_entry(rule.depth, depth, b))
                                        : parents_of_intervals(of_entry(rule.tin, tin, b),
                                                               of_entry(rule.tout, tout, b)));
  }
  return out;
}

Tour tour_of(const TreeTokens& parents) {
  // Sizes of subtrees from the leaves up, whatever the order of the tokens is.
  const std::size_t n = parents.size();
  TreeTokens children(n), size(n, 1), order;
  for (const std::int32_t parent : parents) {
    if (parent >= 0) ++children[as_size(parent)];
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (children[i] == 0) order.push_back(static_cast<std::int32_t>(i));
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t parent = parents[as_size(order[i])];
    if (parent < 0) continue;
    size[as_size(parent)] += size[as_size(order[i])];
    if (--children[as_size(parent)] == 0) order.push_back(parent);
  }
  // In `order`, parents come after their children. From its end, each token gets its interval
  // inside that of its parent.
  Tour out{.tin = TreeTokens(n), .tout = TreeTokens(n)};
  TreeTokens next(n);
  std::int32_t roots = 0;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const std::size_t token = as_size(*at);
    std::int32_t& begin = parents[token] < 0 ? roots : next[as_size(parents[token])];
    out.tin[token] = begin;
    out.tout[token] = parents[token] == kOutside ? begin : begin + size[token];
    next[token] = begin + 1;
    begin += size[token];
  }
  return out;
}

}  // namespace maskctl::step
