#include "maskctl/inspect/recognise/scopes.h"

#include <algorithm>
#include <map>
#include <optional>

namespace maskctl::recognition {
namespace {

using Axis = step::Scoped::Axis;
/// The plane of each member of an axis; for a batch, the planes of all its heads.
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

/// One scope per group; groups whose chain is empty need none.
Chain scopes(Axis axis, const std::vector<Group>& groups) {
  if (groups.size() == 1) return groups.front().chain;
  Chain chain;
  for (const Group& group : groups) {
    if (group.chain.empty()) continue;
    chain.push_back({step::Scoped{axis, ranges_among(group.members), group.chain}});
  }
  return chain;
}

/// Groups the members of an axis by f, in order of first appearance.
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

bool same_array(const NamedArray& a, const NamedArray& b) {
  return a.array.dtype() == b.array.dtype() && a.array.shape() == b.array.shape() &&
         std::equal(a.array.bytes().begin(), a.array.bytes().end(), b.array.bytes().begin());
}

/// Stacks arrays of one value or one row each.
std::optional<NamedArray> stacked(const std::vector<const NamedArray*>& parts, bool rows) {
  const Tensor& first = parts.front()->array;
  for (const NamedArray* part : parts) {
    if (part->array.dtype() != first.dtype() || part->array.shape() != first.shape()) {
      return std::nullopt;
    }
  }
  const bool equal = std::all_of(parts.begin(), parts.end(), [&](const NamedArray* part) {
    return same_array(*part, *parts.front());
  });
  if (equal) return *parts.front();
  const auto count = static_cast<Index>(parts.size());
  NamedArray out{Tensor(first.dtype(), rows ? std::vector<Index>{count, first.elements()}
                                            : std::vector<Index>{count}),
                 ""};
  auto at = out.array.bytes().begin();
  for (const NamedArray* part : parts) {
    at = std::copy(part->array.bytes().begin(), part->array.bytes().end(), at);
  }
  return out;
}

template <typename Rule>
std::vector<const Rule*> rules_of(const std::vector<const Step*>& steps) {
  std::vector<const Rule*> rules;
  for (const Step* step : steps) {
    if (const auto* rule = std::get_if<Rule>(&step->rule)) rules.push_back(rule);
  }
  if (rules.size() != steps.size()) rules.clear();
  return rules;
}

template <typename Rule>
std::optional<NamedArray> stacked(const std::vector<const Rule*>& rules, NamedArray Rule::*member,
                                  bool rows) {
  std::vector<const NamedArray*> parts;
  parts.reserve(rules.size());
  for (const Rule* rule : rules) parts.push_back(&(rule->*member));
  return stacked(parts, rows);
}

bool alike(const step::Causal& a, const step::Causal& b) { return a.align == b.align; }
bool alike(const step::Pad& a, const step::Pad& b) {
  return a.is_lengths && b.is_lengths && a.left == b.left && a.both == b.both;
}
template <typename Rule>
bool alike_ids(const Rule& a, const Rule& b) {
  return a.shared == b.shared;
}
bool alike(const step::Document& a, const step::Document& b) {
  return alike_ids(a, b) && a.pad_id == b.pad_id;
}
bool alike(const step::Tokens& a, const step::Tokens& b) {
  return alike_ids(a, b) && a.join == b.join && a.zero == b.zero;
}
template <typename Rule>
bool all_alike(const std::vector<const Rule*>& rules) {
  return std::all_of(rules.begin(), rules.end(),
                     [&](const Rule* rule) { return alike(*rule, *rules.front()); });
}

template <typename Rule>
std::optional<Step> with_ids(const std::vector<const Rule*>& rules) {
  if (rules.empty() || !all_alike(rules)) return std::nullopt;
  Rule out = *rules.front();
  auto q = stacked(rules, &Rule::q, true);
  auto kv = out.shared ? NamedArray{} : stacked(rules, &Rule::kv, true);
  if (!q || !kv) return std::nullopt;
  out.q = std::move(*q);
  out.kv = std::move(*kv);
  return Step{std::move(out)};
}

/// Causal rules with one offset per batch; a rule without offsets has 0.
std::optional<Step> with_offsets(std::vector<const step::Causal*> rules) {
  if (rules.empty() || !all_alike(rules)) return std::nullopt;
  std::vector<step::Causal> spelled;
  for (const step::Causal* rule : rules) {
    spelled.push_back(*rule);
    if (spelled.back().offsets.array.elements() == 0) {
      spelled.back().offsets.array = Tensor(DType::kInt64, {1});
    }
  }
  for (std::size_t i = 0; i < rules.size(); ++i) rules[i] = &spelled[i];
  auto offsets = stacked(rules, &step::Causal::offsets, false);
  if (!offsets) return std::nullopt;
  if (offsets->array.elements() == 1 && offsets->array.as<std::int64_t>().front() == 0) {
    offsets = NamedArray{};
  }
  return Step{step::Causal{rules.front()->align, std::move(*offsets)}};
}

/// One number per batch.
template <typename Rule>
std::optional<Step> with_first_keys(const std::vector<const Rule*>& rules) {
  if (rules.empty()) return std::nullopt;
  Rule out;
  out.each.array = Tensor(DType::kInt64, {std::ssize(rules)});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i]->each.array.elements() > 0) return std::nullopt;
    out.each.array.template as<std::int64_t>()[i] = rules[i]->n;
  }
  return Step{std::move(out)};
}

/// Chunks of one size with one origin per batch.
std::optional<Step> with_origins(const std::vector<const step::Chunk*>& rules) {
  if (rules.empty()) return std::nullopt;
  step::Chunk out = *rules.front();
  out.origins = {Tensor(DType::kInt64, {std::ssize(rules)}), ""};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const step::Chunk& rule = *rules[i];
    if (rule.size != out.size || rule.offset != out.offset || rule.align != out.align ||
        rule.origins.array.elements() > 1) {
      return std::nullopt;
    }
    if (rule.origins.array.elements() == 1) {
      out.origins.array.as<std::int64_t>()[i] = rule.origins.array.as<std::int64_t>().front();
    }
  }
  return Step{std::move(out)};
}

/// Merges one step per batch into one for all; nothing if the rule has no such form.
std::optional<Step> merged(const std::vector<const Step*>& steps) {
  const bool equal =
      std::ranges::all_of(steps, [&](const Step* step) { return *step == *steps.front(); });
  if (equal) return *steps.front();
  if (auto step = with_offsets(rules_of<step::Causal>(steps))) return step;
  if (auto step = with_origins(rules_of<step::Chunk>(steps))) return step;
  if (auto step = with_ids(rules_of<step::Document>(steps))) return step;
  if (auto step = with_ids(rules_of<step::Tokens>(steps))) return step;
  if (const auto pads = rules_of<step::Pad>(steps); !pads.empty() && all_alike(pads)) {
    step::Pad out = *pads.front();
    auto valid = stacked(pads, &step::Pad::valid, false);
    if (valid) {
      out.valid = std::move(*valid);
      return Step{std::move(out)};
    }
  }
  if (auto step = with_first_keys<step::Prefix>(rules_of<step::Prefix>(steps))) return step;
  return with_first_keys<step::Sinks>(rules_of<step::Sinks>(steps));
}

/// A step of the same rule that changes nothing, for a batch that lacks it; nothing if no number
/// achieves that.
std::optional<Step> neutral(const Step& step, const Extent& extent) {
  if (const auto* rule = std::get_if<step::Pad>(&step.rule); rule && rule->is_lengths) {
    return pad(extent.keys, rule->left, rule->both);
  }
  if (std::holds_alternative<step::Prefix>(step.rule)) return Step{step::Prefix{0}};
  if (std::holds_alternative<step::Sinks>(step.rule)) return Step{step::Sinks{0}};
  return std::nullopt;
}

/// The chain, with the steps of `longest` that it lacks added as steps that change nothing.
std::optional<Chain> filled(const Chain& chain, const Chain& longest, const Extent& extent) {
  Chain out;
  std::size_t at = 0;
  for (const Step& step : longest) {
    if (at < chain.size() && chain[at].rule.index() == step.rule.index()) {
      out.push_back(chain[at++]);
      continue;
    }
    const auto nothing = neutral(step, extent);
    if (!nothing) return std::nullopt;
    out.push_back(*nothing);
  }
  if (at < chain.size()) return std::nullopt;
  return out;
}

/// Merges chains step by step; nothing if a step does not merge.
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

/// Numbers the chains such that equal ones have equal numbers.
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

/// Removes and returns the steps that all chains begin with; with `at_end`, end with.
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

Chain scopes_of(const std::vector<Chain>& chains, const std::vector<std::uint32_t>& of, Index batch,
                Index heads, const Extent& extent) {
  std::vector<Key> by_batch(static_cast<std::size_t>(batch));
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < heads; ++h) {
      by_batch[static_cast<std::size_t>(b)].push_back(of[static_cast<std::size_t>(b * heads + h)]);
    }
  }
  const auto single = [&](std::uint32_t i) { return chains[i]; };
  const bool heads_alike = std::all_of(by_batch.begin(), by_batch.end(), [](const Key& key) {
    return std::all_of(key.begin(), key.end(), [&](auto i) { return i == key.front(); });
  });
  if (heads_alike) {
    std::vector<Chain> each;
    each.reserve(by_batch.size());
    for (const Key& key : by_batch) each.push_back(single(key.front()));
    if (!each.empty() && groups_of(by_batch, [](const Key&) { return Chain{}; }).size() > 1) {
      if (auto chain = merged(each, extent)) return *chain;
    }
  }
  const auto chain_of_batch = [&](const Key& key) {
    std::vector<Key> planes;
    for (const std::uint32_t i : key) planes.push_back({i});
    return scopes(Axis::kHeads, groups_of(planes, [&](const Key& one) { return single(one[0]); }));
  };
  return scopes(Axis::kBatch, groups_of(by_batch, chain_of_batch));
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

/// Removes and returns the regions at the end of each chain.
std::vector<Chain> regions_taken_off(std::vector<Chain>& chains) {
  std::vector<Chain> out;
  for (Chain& chain : chains) {
    auto first = chain.end();
    while (first != chain.begin() && std::holds_alternative<step::Region>((first - 1)->rule))
      --first;
    out.emplace_back(first, chain.end());
    chain.erase(first, chain.end());
  }
  return out;
}

}  // namespace

Chain scoped(std::vector<Chain> chains, const std::vector<std::uint32_t>& of, Index batch,
             Index heads, const Extent& extent) {
  if (chains.empty()) return {};
  // What is odd in one plane does not keep the others from sharing their steps with it.
  std::vector<Chain> regions = regions_taken_off(chains);
  Chain out = joined(std::move(chains), of, batch, heads, extent);
  const Chain odd = joined(std::move(regions), of, batch, heads, extent);
  out.insert(out.end(), odd.begin(), odd.end());
  return out;
}

}  // namespace maskctl::recognition
