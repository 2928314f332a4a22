#include "maskctl/inspect/recognise_scopes.h"

#include <algorithm>
#include <map>
#include <optional>

namespace maskctl::recognising {
namespace {

using Axis = step::Scoped::Axis;
/// Which plane each member of an axis has; for batches, those of all heads.
using Key = std::vector<std::uint32_t>;

std::vector<Range> ranges_of(const std::vector<Index>& members) {
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

/// One scope for each group; a group that does nothing needs none.
Chain scopes(Axis axis, const std::vector<Group>& groups) {
  if (groups.size() == 1) return groups.front().chain;
  Chain chain;
  for (const Group& group : groups) {
    if (group.chain.empty()) continue;
    chain.push_back({step::Scoped{axis, ranges_of(group.members), group.chain}});
  }
  return chain;
}

/// The members of an axis by what they hold, in order of first appearance.
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

/// Arrays of one value or one row each, below each other.
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

/// A causal without offsets has those of 0.
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

/// One step for all batches, from that of each; nothing where the rule has no such form.
std::optional<Step> merged(const std::vector<const Step*>& steps) {
  if (auto step = with_offsets(rules_of<step::Causal>(steps))) return step;
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
  const auto windows = rules_of<step::Window>(steps);
  const auto same_window = [&](const step::Window* rule) {
    const step::Window& first = *windows.front();
    return rule->left == first.left && rule->right == first.right && rule->align == first.align &&
           rule->offset == first.offset;
  };
  if (!windows.empty() && std::all_of(windows.begin(), windows.end(), same_window)) {
    return *steps.front();
  }
  const auto chunks = rules_of<step::Chunk>(steps);
  const auto same_chunk = [&](const step::Chunk* rule) {
    return rule->size == chunks.front()->size && rule->offset == chunks.front()->offset;
  };
  if (!chunks.empty() && std::all_of(chunks.begin(), chunks.end(), same_chunk)) {
    return *steps.front();
  }
  const auto same_first = [](const auto& rules) {
    return !rules.empty() && std::all_of(rules.begin(), rules.end(), [&](const auto* rule) {
      return rule->n == rules.front()->n;
    });
  };
  if (same_first(rules_of<step::Prefix>(steps)) || same_first(rules_of<step::Sinks>(steps))) {
    return *steps.front();
  }
  return std::nullopt;
}

/// Chains of equal length whose steps all merge.
std::optional<Chain> merged(const std::vector<Chain>& chains) {
  const bool equal = std::all_of(chains.begin(), chains.end(), [&](const Chain& chain) {
    return chain.size() == chains.front().size();
  });
  if (!equal) return std::nullopt;
  Chain out;
  for (std::size_t i = 0; i < chains.front().size(); ++i) {
    std::vector<const Step*> steps;
    for (const Chain& chain : chains) steps.push_back(&chain[i]);
    auto step = merged(steps);
    if (!step) return std::nullopt;
    out.push_back(std::move(*step));
  }
  return out;
}

}  // namespace

Chain scoped(const std::vector<Chain>& chains, const std::vector<std::uint32_t>& of, Index batch,
             Index heads) {
  const auto plane = [&](Index b, Index h) { return of[static_cast<std::size_t>(b * heads + h)]; };
  std::vector<Key> by_batch(static_cast<std::size_t>(batch));
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < heads; ++h) {
      by_batch[static_cast<std::size_t>(b)].push_back(plane(b, h));
    }
  }
  const auto single = [&](std::uint32_t i) { return chains[i]; };
  const bool heads_alike = std::all_of(by_batch.begin(), by_batch.end(), [](const Key& key) {
    return std::all_of(key.begin(), key.end(), [&](auto i) { return i == key.front(); });
  });
  if (heads_alike) {
    std::vector<Chain> each;
    for (const Key& key : by_batch) each.push_back(single(key.front()));
    if (!each.empty() && groups_of(by_batch, [](const Key&) { return Chain{}; }).size() > 1) {
      if (auto chain = merged(each)) return *chain;
    }
  }
  const auto chain_of_batch = [&](const Key& key) {
    std::vector<Key> planes;
    for (const std::uint32_t i : key) planes.push_back({i});
    return scopes(Axis::kHeads, groups_of(planes, [&](const Key& one) { return single(one[0]); }));
  };
  return scopes(Axis::kBatch, groups_of(by_batch, chain_of_batch));
}

}  // namespace maskctl::recognising
