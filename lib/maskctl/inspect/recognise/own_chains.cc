#include "maskctl/inspect/recognise/own_chains.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "maskctl/inspect/recognise/description.h"
#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/inspect/recognise/names.h"
#include "maskctl/inspect/recognise/scopes.h"
#include "maskctl/inspect/recognise/search.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::recognition {
namespace {

constexpr std::size_t kMostOwn = 256, kMostModels = 2;
constexpr Index kMostOwnCells = Index{1} << 20, kMostOwnSteps = 3, kOwnTrials = 200;

/// One document as a mask, and the chains that give it.
struct Own {
  PlanePtr plane;
  std::vector<Chain> chains;
  Extent extent() const { return {plane->queries(), plane->keys()}; }
  bool is(const Chain& chain) const {
    const PlanePtr made = plane_of(chain, extent());
    return made && differing_cells(made, plane) == 0;
  }
};

std::optional<Own> recognised(const Plane& plane, const Hull& document) {
  Own out{compacted(plane.sliced(document.q, document.k), kMostOwnCells), {}};
  for (const Moves& moves : explain(out.plane, kMostOwnSteps, true).exact) {
    Chain chain = named(out.plane, moves, 0);
    if (!has_arrays(chain)) out.chains.push_back(std::move(chain));
  }
  return out.chains.empty() ? std::nullopt : std::optional(std::move(out));
}

bool same_rules(const Chain& a, const Chain& b) {
  return std::ranges::equal(
      a, b, [](const Step& x, const Step& y) { return &info_of(x) == &info_of(y); });
}

/// The chain with the alignment of `model`, which changes nothing in a square document.
Chain aligned(Chain chain, const Chain& model) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Field* align = find_field(chain[i], "align");
    if (align) align->set(chain[i], align->get(model[i]));
  }
  return chain;
}

/// The chain of a document by the steps of `model` where they give it, else by its own.
Chain chain_like(const Own& own, const Chain& model) {
  if (own.is(model)) return model;
  for (const Chain& chain : own.chains) {
    if (!same_rules(chain, model)) continue;
    const Chain same = own.extent().square() ? aligned(chain, model) : chain;
    if (own.is(same)) return same;
  }
  ChainTrials tried(own.plane);
  const Description description(own.extent());
  const Fit fit{tried,
                [&](const Fitted& one) { return description.of(one.chain); },
                {},
                std::min(kOwnTrials, affordable_trials(*own.plane))};
  for (const Fitted& one : fitted(fit, model)) {
    if (one.residue == 0 && same_rules(one.chain, model)) return one.chain;
  }
  return own.chains.front();
}

}  // namespace

std::vector<Chain> chains_of_own(const Plane& plane, const std::vector<Hull>& documents) {
  if (documents.size() < 2 || documents.size() > kMostOwn) return {};
  std::vector<Own> all;
  Extent largest{0, 0};
  for (const Hull& document : documents) {
    if (document.q.size() * document.k.size() > kMostOwnCells) return {};
    auto own = document.q.empty() || document.k.empty() ? Own{empty_plane(0, 0), {{}}}
                                                        : recognised(plane, document);
    if (!own) return {};
    largest = {std::max(largest.queries, document.q.size()),
               std::max(largest.keys, document.k.size())};
    all.push_back(std::move(*own));
  }
  std::vector<std::uint32_t> numbers(all.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::vector<std::uint32_t> by_size = numbers;
  std::ranges::stable_sort(by_size, std::greater<>(), [&](std::uint32_t i) {
    return all[i].plane->queries() * all[i].plane->keys();
  });
  std::vector<Chain> out;
  for (const std::uint32_t i : std::span(by_size).first(std::min(kMostModels, by_size.size()))) {
    for (const Chain& model : all[i].chains) {
      std::vector<Chain> chains;
      for (const Own& own : all) chains.push_back(chain_like(own, model));
      out.push_back(scoped(std::move(chains), numbers, std::ssize(all), 1, largest));
    }
  }
  return out;
}

}  // namespace maskctl::recognition
