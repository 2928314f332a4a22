#include "maskctl/inspect/recognise/candidates.h"

#include <algorithm>
#include <span>

#include "maskctl/inspect/recognise/regions.h"
#include "maskctl/inspect/recognise/sharing.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::recognition {

bool has_long_lists(const Chain& chain) {
  return std::ranges::any_of(chain, [](const Step& step) {
    const auto* global = step.get_if<step::Global>();
    return global && global->tokens.size() > 2;
  });
}

namespace {

/// Writes documents of one length, the last of which may be shorter, as chunks.
void as_chunks(Chain& chain, const Extent& extent) {
  for (Step& step : chain) {
    const auto* documents = step.get_if<step::DocumentLengths>();
    if (!documents || documents->lengths.size() < 2 || !extent.square()) continue;
    const std::span<const Index> lengths = documents->lengths;
    const Index size = lengths.front();
    const bool equal =
        std::ranges::count(lengths.first(lengths.size() - 1), size) == std::ssize(lengths) - 1 &&
        lengths.back() <= size;
    if (equal && (std::ssize(lengths) - 1) * size + lengths.back() == extent.keys) {
      step = Step(step::Chunk{size, 0});
    }
  }
}

}  // namespace

namespace {

/// The chain with chunks of the length that most of its documents have; empty if none is that of
/// more than half.
Chain as_most_chunks(const Chain& chain, const Extent& extent) {
  for (std::size_t i = 0; i < chain.size() && extent.square(); ++i) {
    const auto* documents = chain[i].get_if<step::DocumentLengths>();
    if (!documents) continue;
    std::vector<Index> lengths = documents->lengths;
    const auto middle = lengths.begin() + std::ssize(lengths) / 2;
    std::ranges::nth_element(lengths, middle);
    const Index size = *middle;
    if (lengths.size() < 4 || 2 * std::ranges::count(lengths, size) <= std::ssize(lengths)) {
      return {};
    }
    Chain out = chain;
    out[i] = Step(step::Chunk{size, 0});
    return out;
  }
  return {};
}

/// Whether a chain leaves a lone cell, for which another one has two more steps, fitted to it, in a
/// plane of which the `few` open or closed cells are too many for that to be likely.
bool leaves_lone_cell(const Fitted& one, const Fitted& other, Index few) {
  constexpr Index kMany = 64, kManyForOneStep = 24;
  const bool plain = one.chain.size() == 1 && !chain_of(one.chain.front());
  return few >= (plain ? kManyForOneStep : kMany) && one.residue == 1 && !has_arrays(one.chain) &&
         one.chain.size() + 2 <= other.chain.size();
}

}  // namespace

Candidates::Candidates(const PlanePtr& plane)
    : plane_(plane),
      extent_{plane->queries(), plane->keys()},
      description_(extent_),
      open_(plane->count()) {}

void Candidates::add(Chain chain) {
  const PlanePtr given = plane_of(chain, extent_);
  if (given) add({std::move(chain), {}, 0, differing_cells(given, plane_)});
}

void Candidates::add_certain(Chain chain) {
  const PlanePtr given = plane_of(chain, extent_);
  if (!given || differing_cells(given, plane_) != 0) return;
  if (!exact() || has_arrays(best_.chain)) length_ = -1;
  add({std::move(chain), {}, 0, 0});
}

void Candidates::add_with_regions(Chain chain, Index most) {
  const PlanePtr given = plane_of(chain, extent_);
  if (!given) return;
  const Regions regions = regions_between(given, plane_);
  if (regions.chain.size() > kMostRegions || regions.residue > most) return;
  chain.insert(chain.end(), regions.chain.begin(), regions.chain.end());
  add({std::move(chain), {}, 0, regions.residue});
}

void Candidates::fit(const Chain& start) {
  if (!tried_) tried_.emplace(plane_);
  const Fit fit{*tried_,
                [this](const Fitted& one) { return description_.of(one.chain); },
                {},
                affordable_trials(*plane_)};
  std::vector<Fitted> found = fitted(fit, start);
  if (found.empty()) return;
  const Chain nearest = found.front().residue > 0 ? found.front().chain : Chain{};
  add(std::move(found.front()));
  if (!nearest.empty() && !exact() && !has_arrays(nearest)) add_with_regions(nearest, kLoneCells);
}

PlanePtr Candidates::left() const {
  return combine(Op::kXor, plane_of(best_.chain, extent_), plane_);
}

bool Candidates::is_nearly_short() const {
  constexpr Index kFewCells = 64;
  return length_ >= 0 && best_.residue <= kFewCells && !irregular() &&
         description_.of(best_.chain) <= description_.cell() + description_.step();
}

bool Candidates::is_plain_exact() const {
  return exact() && best_.chain.size() <= 2 && !has_arrays(best_.chain);
}

bool Candidates::is_plain() const {
  return length_ >= 0 && !has_arrays(best_.chain) && !has_long_lists(best_.chain) &&
         best_.residue <= kLoneCells && !irregular();
}

bool Candidates::irregular() const {
  const Index cells = extent_.queries * extent_.keys;
  const Index few = std::min(open_, cells - open_);
  const Index length = description_.of(best_.chain) + best_.residue * description_.cell();
  return best_.residue * 4 > few || (best_.residue > 0 && length > few * description_.cell());
}

void Candidates::add(Fitted one) {
  as_chunks(one.chain, extent_);
  const bool exact = one.residue == 0;
  // In planes with few open (or closed) cells, short chains fit by chance: cells left over must be
  // rare, else the chain gets such a high cost that any other is preferred.
  const Index few = std::min(open_, extent_.queries * extent_.keys - open_);
  const bool rare = one.residue * (one.residue <= kLoneCells ? 6 : 64) <= few;
  const Index doubt = exact ? 0 : rare ? description_.cell() / 2 : Index{1} << 40;
  const Index its = description_.of(one.chain) + one.residue * description_.cell() + doubt;
  // Of two exact chains with arrays, the one with fewer steps wins.
  const bool both = length_ >= 0 && exact && this->exact() && has_arrays(one.chain) &&
                    has_arrays(best_.chain) && one.chain.size() != best_.chain.size();
  const bool fitted = length_ >= 0 && leaves_lone_cell(one, best_, few);
  if (length_ >= 0 && leaves_lone_cell(best_, one, few)) return;
  if (both ? one.chain.size() > best_.chain.size() : !fitted && length_ >= 0 && its >= length_) {
    return;
  }
  length_ = its;
  best_ = std::move(one);
  if (Chain chunks = as_most_chunks(best_.chain, extent_); !chunks.empty()) add(std::move(chunks));
}

}  // namespace maskctl::recognition
