// Makes packed masks of which one plane has a fault: some cells, a rectangle, a row, a column or
// the whole plane are opened or closed. Judges whether an answer names the fault and nothing else.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"

namespace maskctl::twin {

struct OddMask {
  Mask sound, odd;
  // The most steps that may describe the mask without its fault, over all distinct planes.
  Index base_steps = 0;
  Index odd_parts = 0;  // how many regions or cells describe the fault
  bool differs = false;
  std::string text;
};

/// Counts the steps of a chain, including those inside documents and scopes, but not the scopes
/// themselves.
inline Index leaf_steps(const Chain& chain) {
  Index out = 0;
  for (const Step& step : chain) {
    if (const auto* scoped = step.get_if<step::Scoped>()) {
      out += leaf_steps(scoped->chain);
    } else {
      const auto* within = step.get_if<step::Within>();
      out += 1 + (within ? leaf_steps(within->chain) : 0);
    }
  }
  return out;
}

inline Chain without_regions(const Chain& chain) {
  Chain out;
  for (const Step& step : chain) {
    if (step.is<step::Region>()) continue;
    out.push_back(step);
    if (auto* scoped = out.back().get_if<step::Scoped>()) {
      scoped->chain = without_regions(scoped->chain);
    }
  }
  return out;
}

inline bool reads_arrays(const Chain& chain) {
  return std::ranges::any_of(chain, [](const Step& step) {
    const auto* scoped = step.get_if<step::Scoped>();
    return scoped ? reads_arrays(scoped->chain)
                  : step.is<step::Document>() || step.is<step::Tokens>() || step.is<step::Block>();
  });
}

class OddMaskMaker {
 public:
  /// Makes masks of at most `most` tokens.
  explicit OddMaskMaker(std::uint64_t seed, Index most = 512) : random_(seed), most_(most) {}

  OddMask draw() {
    OddMask out;
    do {
      out = make();
    } while (!out.differs);
    return out;
  }

 private:
  Index number(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  Range part(Index most) {
    const Index begin = number(0, size_ - 1);
    return {begin, std::min(begin + number(1, most), size_)};
  }

  Step documents() {
    const Index count = number(2, std::min<Index>(40, size_ / 4));
    std::vector<Index> borders{0, size_};
    while (std::ssize(borders) <= count) {
      const Index at = number(1, size_ - 1);
      if (std::ranges::find(borders, at) == borders.end()) borders.push_back(at);
    }
    std::ranges::sort(borders);
    step::DocumentLengths rule;
    for (std::size_t i = 1; i < borders.size(); ++i) {
      rule.lengths.push_back(borders[i] - borders[i - 1]);
    }
    return {rule};
  }
  Chain shared_steps() {
    Chain out;
    const Index kind = number(0, 5);
    if (kind >= 3) {
      step::Window rule;
      rule.left = number(1, std::max<Index>(size_ / 3, 2));
      rule.right = kind == 3 ? 0 : kind == 4 ? *rule.left : number(0, 6);
      out.push_back({rule});
    } else if (kind > 0) {
      out.push_back({step::Causal{}});
    }
    return out;
  }

  OddMask make() {
    OddMask out;
    size_ = number(8, number(0, 1) == 0 ? 64 : most_);
    const Index batch = number(0, 2) == 0 ? number(1, 3) : 1;
    const Index heads = number(0, 2) == 0 ? number(1, 4) : 1;
    const bool alike = batch == 1 || number(0, 1) == 0;
    const Chain shared = shared_steps();
    std::vector<PlanePtr> planes;
    std::string base;
    for (Index b = 0; b < batch; ++b) {
      if (b > 0 && alike) {
        planes.push_back(planes.front());
        continue;
      }
      Chain chain{documents()};
      chain.insert(chain.end(), shared.begin(), shared.end());
      planes.push_back(maskctl::apply(Mask(full_plane(size_, size_)), chain).plane(0, 0));
      base += (b > 0 ? " ; " : "") + to_text(chain);
      out.base_steps += b == 0 ? std::ssize(chain) : 1;
    }
    const auto at = [](Index i) { return static_cast<std::size_t>(i); };
    const Index batch_at = number(0, batch - 1), head_at = number(0, heads - 1);
    const PlanePtr sound = planes[at(batch_at)];
    std::string what;
    const PlanePtr odd = edited(sound, out, what);
    out.differs = combine(Op::kXor, sound, odd)->count() > 0;
    out.sound =
        Mask::make(batch, heads, size_, size_, [&](Index b, Index) { return planes[at(b)]; });
    out.odd = Mask::make(batch, heads, size_, size_, [&](Index b, Index h) {
      return b == batch_at && h == head_at ? odd : planes[at(b)];
    });
    out.text = base + " with batch " + std::to_string(batch_at) + " of " + std::to_string(batch) +
               ", head " + std::to_string(head_at) + " of " + std::to_string(heads) + ", " +
               std::to_string(size_) + " tokens: " + what;
    return out;
  }

  PlanePtr edited(const PlanePtr& sound, OddMask& out, std::string& what) {
    const Index kind = number(0, 7);
    if (kind < 4) return with_cells(sound, out, what);
    step::Region rule{number(0, 1) == 0, {}, {}};
    const Index line = number(0, size_ - 1);
    if (kind == 4) rule.q = {{line, line + 1}};
    if (kind == 5) rule.k = {{line, line + 1}};
    if (kind == 6)
      rule.q = {part(std::max<Index>(size_ / 4, 2))},
      rule.k = {part(std::max<Index>(size_ / 4, 2))};
    if (kind == 7) rule.q = {{0, size_}};
    what = to_text(Chain{{rule}});
    const PlanePtr odd = maskctl::apply(Mask(sound), Step{rule}).plane(0, 0);
    // A region of few cells may also be described cell by cell.
    const Index cells = combine(Op::kXor, sound, odd)->count();
    out.odd_parts = cells <= 4 ? std::max<Index>(cells, 1) : 1;
    return odd;
  }
  PlanePtr with_cells(PlanePtr plane, OddMask& out, std::string& what) {
    const PlanePtr sound = plane;
    for (Index n = number(1, 4); n > 0; --n) {
      const Index q = number(0, size_ - 1), k = number(0, size_ - 1);
      plane = combine(Op::kXor, plane, rectangle(size_, size_, {q, q + 1}, {k, k + 1}));
      what += std::to_string(q) + "," + std::to_string(k) + " ";
    }
    out.odd_parts = combine(Op::kXor, sound, plane)->count();
    return plane;
  }

  std::mt19937_64 random_;
  Index most_, size_ = 0;
};

/// True if the answer describes the mask correctly in no more steps and cells than the sound mask
/// and the fault need.
inline bool names_odd(const OddMask& made, const Recognised& found) {
  const Mask full = full_like(made.odd);
  const Mask again = maskctl::apply(full, found.chain);
  if (zip(Op::kXor, again, made.odd).count() != found.residue.cells) return false;
  if (reads_arrays(found.chain) || found.irregular) return false;
  return leaf_steps(found.chain) + found.residue.cells <= made.base_steps + made.odd_parts;
}

/// Returns how many steps of one chain the other does not have; of both directions, the larger
/// number.
inline Index changed_steps(const Chain& a, const Chain& b) {
  const auto leaves = [](const Chain& chain) {
    Chain out;
    const auto add = [&out](const auto& self, const Chain& some) -> void {
      for (const Step& step : some) {
        if (const auto* scoped = step.get_if<step::Scoped>()) {
          self(self, scoped->chain);
        } else {
          out.push_back(step);
        }
      }
    };
    add(add, chain);
    return out;
  };
  Chain in_a = leaves(a), in_b = leaves(b);
  Index out = 0;
  const auto missing = [](const Chain& some, const Chain& other) {
    return std::ranges::count_if(
        some, [&](const Step& step) { return std::ranges::find(other, step) == other.end(); });
  };
  out = std::max<Index>(missing(in_a, in_b), missing(in_b, in_a));
  return out;
}

/// True if a cause explains correctly how the sound mask and the faulty one differ, whichever is a,
/// and says no more than the fault needs.
inline bool names_odd(const OddMask& made, const Mask& a, const Mask& b, const DiffCause& cause) {
  if (zip(Op::kXor, b, maskctl::apply(a, cause.edit)).count() != cause.edit_residue.cells) {
    return false;
  }
  if (!cause.by_pipelines) {
    return leaf_steps(cause.edit) + cause.edit_residue.cells <= made.odd_parts;
  }
  const Mask full = full_like(made.odd);
  if (zip(Op::kXor, a, maskctl::apply(full, cause.pipeline_a)).count() != cause.residue_a.cells ||
      zip(Op::kXor, b, maskctl::apply(full, cause.pipeline_b)).count() != cause.residue_b.cells) {
    return false;
  }
  if (reads_arrays(cause.pipeline_a) || reads_arrays(cause.pipeline_b)) return false;
  return changed_steps(cause.pipeline_a, cause.pipeline_b) + cause.residue_a.cells +
             cause.residue_b.cells <=
         made.odd_parts;
}

}  // namespace maskctl::twin
