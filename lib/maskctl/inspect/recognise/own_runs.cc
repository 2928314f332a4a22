#include "maskctl/inspect/recognise/own_runs.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/document.h"

namespace maskctl::recognition {
namespace {

constexpr Index kMostSteps = Index{1} << 24;  // bands of rows that are read

/// For each query its own run of keys, which contains its own token; empty where there is none.
/// Nothing if they take too many steps.
std::optional<std::vector<Range>> own_runs(std::span<const Slab> slabs, Index tokens) {
  Index steps = 0;
  for (const Slab& slab : slabs) steps += slab.q.size() * std::ssize(slab.bands);
  if (steps > kMostSteps) return std::nullopt;
  std::vector<Range> out(static_cast<std::size_t>(tokens));
  for (const Slab& slab : slabs) {
    for (Index q = slab.q.begin; q < slab.q.end; ++q) {
      for (const Band& band : slab.bands) {
        const Range run{band.begin_at(q), band.end_at(q)};
        if (run.begin <= q && q < run.end) out[static_cast<std::size_t>(q)] = run;
      }
    }
  }
  return out;
}

/// The lengths of documents, of which the first token sees none before it in its own run; with
/// `all`, no later token's run may reach before it either. What else queries see moves no border.
/// Tokens past the last query with a run are in no document.
std::vector<Index> lengths_by(std::span<const Range> runs, bool all) {
  while (!runs.empty() && runs.back().empty()) runs = runs.first(runs.size() - 1);
  std::vector<Index> out;
  Index least = std::ssize(runs), end = least;
  for (Index q = end - 1; q >= 0; --q) {
    const Range& run = runs[static_cast<std::size_t>(q)];
    const Index begin = run.empty() ? q : run.begin;
    least = std::min(least, begin);
    if ((all ? least : begin) < q) continue;
    out.push_back(end - q);
    end = q;
  }
  std::ranges::reverse(out);
  return out;
}

/// How far the runs reach from the own tokens, if a band bounds them: without one, as many runs
/// reach as far as there are longer documents.
template <typename Reach>
std::optional<Index> usual_reach(std::span<const Range> runs, Index documents, const Reach& reach) {
  std::vector<Index> times(runs.size());
  for (Index q = 0; q < std::ssize(runs); ++q) {
    const Range& run = runs[static_cast<std::size_t>(q)];
    if (!run.empty()) ++times[static_cast<std::size_t>(reach(run, q))];
  }
  const auto most = std::ranges::max_element(times);
  if (most == times.end() || *most <= 2 * documents) return std::nullopt;
  return most - times.begin();
}

}  // namespace

std::vector<Chain> chains_by_own_runs(const Plane& plane) {
  constexpr Index kLeastOnAverage = 4;  // shorter documents may only stand for single cells
  const Extent extent{plane.queries(), plane.keys()};
  const auto* slabs = slabs_of(plane);
  const auto runs = slabs ? own_runs(*slabs, extent.keys) : std::nullopt;
  if (!runs) return {};
  std::vector<Chain> out;
  for (const bool all : {false, true}) {
    const std::vector<Index> lengths = lengths_by(*runs, all);
    const Index documents = std::ssize(lengths);
    if (documents < 2 || extent.keys < kLeastOnAverage * documents) continue;
    const auto before =
        usual_reach(*runs, documents, [](Range run, Index q) { return q - run.begin; });
    const auto after =
        usual_reach(*runs, documents, [](Range run, Index q) { return run.end - 1 - q; });
    Chain chain{step::DocumentLengths{lengths}};
    if (before) {
      chain.push_back(window(extent, -*before, after));
    } else if (after) {
      chain.push_back(causal(extent, *after));
    }
    if (out.empty() || out.back() != chain) out.push_back(std::move(chain));
  }
  return out;
}

}  // namespace maskctl::recognition
