#include "maskctl/inspect/recognise/scopes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "maskctl/base/text.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl::recognition {
namespace {

using ScopeAxis = step::Scoped::Axis;
/// Heads (or batches) with equal Keys have equal planes: the Key of a head is the number of its
/// plane, that of a batch the numbers of the planes of all its heads.
using Key = std::vector<std::uint32_t>;

std::vector<Range> ranges_among(const std::vector<Index>& members) {
  std::vector<Range> ranges;
  for (const Index i : members) {
    if (!ranges.empty() && ranges.back().end == i) {
      ranges.back().end = i + 1;
    } else {
      ranges.push_back({i, i + 1});
    }
  }
  return ranges;
}

struct Group {
  std::vector<Index> members;
  Chain chain;
};

/// One heads: or batch: step per group; groups with an empty chain need none. A single group needs
/// no such step, only its chain.
Chain scopes(ScopeAxis axis, const std::vector<Group>& groups) {
  if (groups.size() == 1) return groups.front().chain;
  Chain chain;
  for (const Group& group : groups) {
    if (group.chain.empty()) continue;
    chain.push_back({step::Scoped{axis, ranges_among(group.members), group.chain}});
  }
  return chain;
}

/// Groups the heads (or batches) with equal Keys, that is, equal planes, in order of first
/// appearance.
template <typename F>
std::vector<Group> groups_of(const std::vector<Key>& keys, F&& chain_of) {
  std::map<Key, std::size_t> seen;
  std::vector<Group> groups;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [at, is_new] = seen.emplace(keys[i], groups.size());
    if (is_new) groups.push_back({{}, chain_of(keys[i])});
    groups[at->second].members.push_back(static_cast<Index>(i));
  }
  return groups;
}

/// True if the argument has the same meaning in both steps.
bool same_value(const Field& field, const FieldValue& a, const FieldValue& b) {
  if (a.index() != b.index() || !same_content(a, b)) return false;
  const bool has_content =
      std::holds_alternative<NamedArray>(a) || std::holds_alternative<NamedMask>(a);
  return has_content || value_text(field, a) == value_text(field, b);
}

/// An argument as a single number, if it could also be given per batch; an absent one is its
/// default. Nothing for other values.
std::optional<Index> number_in(const Field& field, const FieldValue& value) {
  if (const auto* number = std::get_if<Index>(&value)) return *number;
  const auto* array = std::get_if<NamedArray>(&value);
  if (array && array->array.elements() == 1) return element(array->array, 0);
  if (!std::holds_alternative<std::monostate>(value)) return std::nullopt;
  return number_from<Index>(field.fallback);
}

/// The numbers as an array [B]; nothing if a value is not a single number.
std::optional<FieldValue> stacked_numbers(const Field& field,
                                          const std::vector<FieldValue>& values) {
  NamedArray out{Tensor(DType::kInt64, {std::ssize(values)}), ""};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto number = number_in(field, values[i]);
    if (!number) return std::nullopt;
    out.array.as<std::int64_t>()[i] = *number;
  }
  return out;
}

/// Stacks arrays of the same shape and type along a new first axis, the batch; nothing for others.
std::optional<FieldValue> stacked_arrays(const std::vector<FieldValue>& values) {
  const auto* first = std::get_if<NamedArray>(&values.front());
  if (!first) return std::nullopt;
  std::vector<Index> shape = first->array.shape();
  shape.insert(shape.begin(), std::ssize(values));
  NamedArray out{Tensor(first->array.dtype(), shape), ""};
  auto at = out.array.bytes().begin();
  for (const FieldValue& value : values) {
    const auto* one = std::get_if<NamedArray>(&value);
    if (!one || one->array.dtype() != first->array.dtype() ||
        one->array.shape() != first->array.shape()) {
      return std::nullopt;
    }
    at = std::ranges::copy(one->array.bytes(), at).out;
  }
  return out;
}

/// Writes windows of the same width as the first one, with another offset; leaves other steps as
/// they are.
std::vector<Step> as_moved(const std::vector<const Step*>& steps) {
  std::vector<Step> out;
  for (const Step* step : steps) {
    out.push_back(*step);
    const auto* first = steps.front()->get_if<step::Window>();
    auto* window = out.back().get_if<step::Window>();
    const auto is_closed = [](const step::Window* rule) {
      return rule && rule->left && rule->right && !rule->is_per_batch();
    };
    if (!is_closed(first) || !is_closed(window)) continue;
    if (*window->left + *window->right != *first->left + *first->right) continue;
    window->offset += *first->left - *window->left;
    window->left = first->left;
    window->right = first->right;
    window->spelling = first->spelling;
  }
  return out;
}

/// Merges the steps of the batches into one step with an array for each argument that differs.
/// Nothing if the steps are of different rules or an argument cannot be an array.
std::optional<Step> merged(const std::vector<const Step*>& each) {
  const std::vector<Step> steps = as_moved(each);
  Step out = steps.front();
  const StepInfo& info = info_of(out);
  const bool alike = std::ranges::all_of(steps, [&](const Step& step) {
    return &step.row() == &out.row() && &info_of(step) == &info;
  });
  if (!alike) return std::nullopt;
  if (info.chain) {
    const bool equal = std::ranges::all_of(steps, [&](const Step& step) { return step == out; });
    return equal ? std::optional(out) : std::nullopt;
  }
  for (const Field& field : info.args) {
    std::vector<FieldValue> values;
    values.reserve(steps.size());
    for (const Step& step : steps) values.push_back(field.get(step));
    const bool equal = std::ranges::all_of(
        values, [&](const FieldValue& value) { return same_value(field, value, values.front()); });
    if (equal) continue;
    std::optional<FieldValue> all;
    if (takes_list(field)) {
      all = stacked_numbers(field, values);
    } else if (field.type == FieldType::kSource) {
      all = stacked_arrays(values);
    }
    if (!all) return std::nullopt;
    field.set(out, std::move(*all));
  }
  return out;
}

/// The chain with all steps of `longest`: those that it lacks are added with numbers that change
/// nothing. Nothing if that is impossible.
std::optional<Chain> filled(const Chain& chain, const Chain& longest, const Extent& extent) {
  Chain out;
  std::size_t at = 0;
  for (const Step& step : longest) {
    if (at < chain.size() && &chain[at].row() == &step.row()) {
      out.push_back(chain[at++]);
      continue;
    }
    const auto idle = step.row().idle;
    const auto nothing =
        idle ? idle(step, {1, 1, extent.queries, extent.keys}) : std::optional<Step>();
    if (!nothing) return std::nullopt;
    out.push_back(*nothing);
  }
  if (at < chain.size()) return std::nullopt;
  return out;
}

/// Merges the chains of the batches step by step; nothing if one of the steps cannot be merged.
std::optional<Chain> merged(const std::vector<Chain>& chains, const Extent& extent) {
  const Chain& longest = *std::ranges::max_element(
      chains, [](const Chain& a, const Chain& b) { return a.size() < b.size(); });
  std::vector<Chain> equal;
  for (const Chain& chain : chains) {
    auto whole = filled(chain, longest, extent);
    if (!whole) return std::nullopt;
    equal.push_back(std::move(*whole));
  }
  Chain out;
  for (std::size_t i = 0; i < longest.size(); ++i) {
    std::vector<const Step*> steps;
    steps.reserve(equal.size());
    for (const Chain& chain : equal) steps.push_back(&chain[i]);
    auto step = merged(steps);
    if (!step) return std::nullopt;
    out.push_back(std::move(*step));
  }
  return out;
}

/// Numbers the planes such that planes with equal chains get equal numbers.
std::vector<std::uint32_t> numbered(const std::vector<Chain>& chains,
                                    const std::vector<std::uint32_t>& of) {
  std::vector<std::uint32_t> first;
  first.reserve(chains.size());
  for (const Chain& chain : chains) {
    first.push_back(static_cast<std::uint32_t>(std::ranges::find(chains, chain) - chains.begin()));
  }
  std::vector<std::uint32_t> out;
  out.reserve(of.size());
  for (const std::uint32_t i : of) out.push_back(first[i]);
  return out;
}

/// Removes the steps that all chains have in common at their beginning or, with `at_end`, at their
/// end, and returns them.
Chain taken_off(std::vector<Chain>& chains, bool at_end) {
  Chain out;
  const auto edge = [at_end](Chain& chain) { return at_end ? chain.end() - 1 : chain.begin(); };
  while (std::ranges::none_of(chains, &Chain::empty) &&
         std::ranges::all_of(chains,
                             [&](Chain& chain) { return *edge(chain) == *edge(chains.front()); })) {
    out.insert(at_end ? out.begin() : out.end(), *edge(chains.front()));
    for (Chain& chain : chains) chain.erase(edge(chain));
  }
  return out;
}

/// The chains of groups of heads (or batch entries), in which steps with which all of them begin or
/// end appear once. Chains of batch entries that differ only in numbers become one.
Chain joined_groups(ScopeAxis axis, std::vector<Group> groups, const Extent& extent) {
  std::vector<Chain> chains;
  for (Group& group : groups) chains.push_back(std::move(group.chain));
  Chain out = taken_off(chains, false);
  const Chain end = taken_off(chains, true);
  std::size_t members = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].chain = chains[i];
    members += groups[i].members.size();
  }
  std::optional<Chain> middle;
  if (axis == ScopeAxis::kBatch && groups.size() > 1) {
    std::vector<Chain> each(members);
    for (const Group& group : groups) {
      for (const Index i : group.members) each[as_size(i)] = group.chain;
    }
    middle = merged(each, extent);
  }
  if (!middle) middle = scopes(axis, groups);
  out.insert(out.end(), middle->begin(), middle->end());
  out.insert(out.end(), end.begin(), end.end());
  return out;
}

Chain scopes_of(const std::vector<Chain>& chains, const std::vector<std::uint32_t>& of, Index batch,
                Index heads, const Extent& extent) {
  std::vector<Key> by_batch(static_cast<std::size_t>(batch));
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < heads; ++h) {
      by_batch[static_cast<std::size_t>(b)].push_back(of[static_cast<std::size_t>(b * heads + h)]);
    }
  }
  const auto chain_of_batch = [&](const Key& key) {
    std::vector<Key> planes;
    for (const std::uint32_t i : key) planes.push_back({i});
    return joined_groups(ScopeAxis::kHeads,
                         groups_of(planes, [&](const Key& one) { return chains[one[0]]; }), extent);
  };
  return joined_groups(ScopeAxis::kBatch, groups_of(by_batch, chain_of_batch), extent);
}

Chain joined(std::vector<Chain> chains, const std::vector<std::uint32_t>& of, Index batch,
             Index heads, const Extent& extent) {
  const std::vector<std::uint32_t> numbers = numbered(chains, of);
  Chain out = taken_off(chains, false);
  const Chain end = taken_off(chains, true);
  const Chain middle = scopes_of(chains, numbers, batch, heads, extent);
  out.insert(out.end(), middle.begin(), middle.end());
  out.insert(out.end(), end.begin(), end.end());
  return out;
}

/// Removes and returns the open: and close: steps at the end of each chain.
std::vector<Chain> regions_taken_off(std::vector<Chain>& chains) {
  std::vector<Chain> out;
  for (Chain& chain : chains) {
    auto first = chain.end();
    while (first != chain.begin() && (first - 1)->is<step::Region>()) --first;
    out.emplace_back(first, chain.end());
    chain.erase(first, chain.end());
  }
  return out;
}

}  // namespace

Chain scoped(std::vector<Chain> chains, const std::vector<std::uint32_t>& of, Index batch,
             Index heads, const Extent& extent) {
  if (chains.empty()) return {};
  // Regions are joined separately, so that exceptions in one plane do not prevent the other steps
  // from being shared.
  std::vector<Chain> regions = regions_taken_off(chains);
  Chain out = joined(std::move(chains), of, batch, heads, extent);
  const Chain odd = joined(std::move(regions), of, batch, heads, extent);
  out.insert(out.end(), odd.begin(), odd.end());
  return out;
}

}  // namespace maskctl::recognition
