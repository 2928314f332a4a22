// Reads the parents of tokens off the rows of a tree.
#include <algorithm>

#include "maskctl/mask/planes/computed_rows.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/tree_rows.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl::step {
namespace {

/// The parents as stretches, which end where another token than the next one continues them.
Tree stretches_of(const TreeTokens& parents) {
  const auto tokens = std::ssize(parents);
  std::vector<bool> ends(parents.size() + 1);
  for (Index i = 0; i < tokens; ++i) {
    const std::int32_t parent = parents[as_size(i)];
    if (i > 0 && parent == i - 1) continue;
    if (i > 0) ends[as_size(i - 1)] = true;
    if (parent >= 0) ends[as_size(parent)] = true;
  }
  Tree out;
  std::vector<Index> stretch(parents.size());
  for (Index i = 0, first = 0; i < tokens && parents[as_size(i)] != kOutside; ++i) {
    const auto number = std::ssize(out.lens);
    stretch[as_size(i)] = number;
    if (!ends[as_size(i)] && i + 1 < tokens) continue;
    const std::int32_t parent = parents[as_size(first)];
    out.lens.push_back(i + 1 - first);
    out.after.push_back(parent == kRoot ? number : stretch[as_size(parent)]);
    first = i + 1;
  }
  return out;
}

/// The rows of a draft behind those of its context, each token of which sees the ones before it.
class BehindContext final : public ComputedRows {
 public:
  explicit BehindContext(const Plane& draft)
      : ComputedRows(draft.keys(), draft.keys()), draft_(draft) {}
  Index bytes() const override { return sizeof(*this); }

 private:
  void row(Index q, std::vector<Run>& runs) const override {
    const Index token = q - (draft_.keys() - draft_.queries());
    if (token < 0) return append_run({0, static_cast<std::int32_t>(q + 1)}, runs);
    draft_.rows({token, token + 1}, [&](Range, const Keys& keys) {
      std::vector<Run> scratch;
      for (const Run& run : as_runs(keys, scratch)) append_run(run, runs);
    });
  }

  const Plane& draft_;
};

/// Whether each token continues the one at a distance of more than one before it, which a dilation
/// says in one number.
bool is_dilated(const TreeTokens& parents) {
  Index distance = 0;
  for (Index i = 0; i < std::ssize(parents); ++i) {
    const std::int32_t parent = parents[as_size(i)];
    if (parent < 0) {
      if (distance > 0) return false;
      continue;
    }
    if (distance > 0 && i - parent != distance) return false;
    distance = i - parent;
  }
  return distance > 1;
}

}  // namespace

std::optional<Tree> forking_tree(const TreeTokens& parents) {
  if (is_dilated(parents)) return std::nullopt;
  Tree tree = stretches_of(parents);
  for (Index i = 0; i < std::ssize(tree.lens); ++i) {
    const Index after = tree.after[as_size(i)];
    if (after != i && after + 1 != i) return tree;
  }
  return std::nullopt;
}

namespace {

std::vector<Chain> chains_of(const Plane& plane, Align align) {
  constexpr Index kFewOdd = 2;
  const auto read = parents_of_rows(plane);
  if (!read) return {};
  std::vector<Chain> out;
  const auto add = [&](Chain chain, const TreeTokens& parents) {
    auto tree = forking_tree(parents);
    if (!tree) return;
    tree->align = align;
    chain.push_back({*std::move(tree)});
    out.push_back(std::move(chain));
  };
  add({}, read->parents);
  if (read->odd < kFewOdd) return out;
  const auto sight = sight_of(plane);
  const auto cut = sight ? parents_of_rows(plane, *sight) : std::nullopt;
  if (!cut || cut->odd >= read->odd) return out;
  Chain window{{Window{.left = sight->left, .align = align}}};
  if (sight->sinks > 0) window.push_back({Sinks{.n = sight->sinks}});
  add(std::move(window), cut->parents);
  return out;
}

}  // namespace

std::vector<Chain> guesses(const Tree*, const SampledRows& rows) {
  const Index context = rows.keys() - rows.queries();
  if (context < 0) return {};
  // If a path goes around another branch, its row has several runs.
  bool around = false;
  for (Index i = 0; i < rows.size() && !around; ++i) {
    around = rows[i].runs.size() > 1 && rows[i].runs.back().end == rows[i].query + context + 1;
  }
  if (!around) return {};
  return context == 0 ? chains_of(rows.plane(), Align::kUnset)
                      : chains_of(BehindContext(rows.plane()), Align::kBottomRight);
}

}  // namespace maskctl::step
