#include "maskctl/verify/solve/parts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"

namespace maskctl::attention::solving {
namespace {

std::vector<Run> runs_of(std::size_t keys, const std::vector<Index>& cells) {
  std::vector<std::uint8_t> marked(keys);
  for (const Index j : cells) marked[as_size(j)] = 1;
  return byte_runs(marked);
}

using Cells = std::vector<Run> RowPart::*;

class Assembly {
 public:
  Assembly(const Mask& supposed, const Dims& dims, const std::vector<RowPart>& parts)
      : supposed_(supposed) {
    const bool apart =
        std::ranges::any_of(parts, [](const RowPart& p) { return !p.heads.empty(); });
    batch_ = apart ? dims.batch : supposed.batch();
    heads_ = apart ? dims.q_heads : supposed.heads();
    at_.resize(as_size(batch_ * heads_));
    for (const RowPart& part : parts) add(part);
  }

  /// Returns a mask that opens the cells of one kind, such as RowPart::light, in the answers for
  /// all rows.
  Mask mask_of(Cells cells) const {
    return Mask::make(batch_, heads_, supposed_.queries(), supposed_.keys(), [&](Index b, Index h) {
      return plane_of(at_[as_size(b * heads_ + h)], cells);
    });
  }
  Index unsolved_rows() const {
    Index out = 0;
    for (const auto& place : at_) {
      out +=
          std::ranges::count_if(place, [](const RowPart* part) { return !part->unsolved.empty(); });
    }
    return out;
  }

 private:
  void add(const RowPart& part) {
    for (Index b = 0; b < batch_; ++b) {
      for (Index h = 0; h < heads_; ++h) {
        const bool place =
            (supposed_.batch() == 1 || b == part.b) && (supposed_.heads() == 1 || h == part.h);
        const bool head =
            part.heads.empty() || std::ranges::find(part.heads, Head{b, h}) != part.heads.end();
        if (place && head) at_[as_size(b * heads_ + h)].push_back(&part);
      }
    }
  }

  PlanePtr plane_of(const std::vector<const RowPart*>& rows, Cells cells) const {
    std::vector<Run> runs;
    // Offsets of list 0, which is empty: rows without cells of this kind refer to it.
    std::vector<Index> offsets{0, 0};
    std::vector<RowRef> refs(as_size(supposed_.queries()));
    const auto keys = static_cast<std::int32_t>(supposed_.keys());
    for (const RowPart* part : rows) {
      const std::vector<Run>& row = part->*cells;
      if (row.empty()) continue;
      runs.insert(runs.end(), row.begin(), row.end());
      refs[as_size(part->row)] = {static_cast<std::uint32_t>(offsets.size() - 1), 0, keys};
      offsets.push_back(std::ssize(runs));
    }
    return row_lists(supposed_.keys(), std::move(runs), std::move(offsets), std::move(refs));
  }

  const Mask& supposed_;
  Index batch_ = 1, heads_ = 1;
  std::vector<std::vector<const RowPart*>> at_;
};

}  // namespace

void RowPart::take(const OpenKeys& supposed, const std::optional<RowAnswer>& answer) {
  if (!answer) {
    unsolved = {{0, static_cast<std::int32_t>(supposed.size())}};
    return;
  }
  OpenKeys differ(supposed.size()), guess(supposed.size());
  std::ranges::transform(answer->open, supposed, differ.begin(), std::not_equal_to());
  for (const std::vector<Index>* some : {&answer->light, &answer->alike}) {
    for (const Index j : *some) guess[as_size(j)] |= std::exchange(differ[as_size(j)], 0);
  }
  flipped = byte_runs(differ);
  guessed = byte_runs(guess);
  light = runs_of(supposed.size(), answer->light);
  alike = runs_of(supposed.size(), answer->alike);
}

SolvedMask assembled(const Mask& supposed, const Dims& dims, std::vector<RowPart>& parts) {
  std::ranges::sort(parts, {}, &RowPart::row);
  const Assembly assembly(supposed, dims, parts);
  SolvedMask out;
  out.mask = zip(Op::kXor, supposed, assembly.mask_of(&RowPart::flipped));
  out.likeliest = zip(Op::kXor, out.mask, assembly.mask_of(&RowPart::guessed));
  out.light = assembly.mask_of(&RowPart::light);
  out.alike = assembly.mask_of(&RowPart::alike);
  out.unsolved = assembly.mask_of(&RowPart::unsolved);
  out.unsolved_rows = assembly.unsolved_rows();
  return out;
}

}  // namespace maskctl::attention::solving
