// Makes small masks as libraries make them: image tokens that see each other, packed windows,
// padding on either side of the keys or of both axes, and padding rows opened to avoid NaN.
#pragma once

#include <random>
#include <string>

#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/window.h"
#include "odd_masks.h"

namespace maskctl::twin {

struct SmallMask {
  Mask mask;
  Index steps = 0;  // how many steps describe the mask
  std::string text;
};

enum class SmallKind { kImages, kPackedWindow, kRightPadded, kLeftPadded, kOpenedRows };
inline constexpr const char* kSmallKinds[] = {"image blocks", "packed sliding", "right-padded",
                                              "left-padded", "opened padding rows"};

class SmallMaker {
 public:
  explicit SmallMaker(std::uint64_t seed) : random_(seed) {}

  SmallMask draw(SmallKind kind) {
    size_ = number(9, 40);
    const bool padded = kind != SmallKind::kImages && kind != SmallKind::kPackedWindow;
    const Index batch = padded ? number(1, 3) : 1;
    std::vector<Chain> chains;
    const Step shared = band(kind);
    for (Index b = 0; b < batch; ++b) chains.push_back(chain(kind, shared));
    SmallMask out;
    for (Index b = 0; b < batch; ++b) {
      out.steps = std::max(out.steps, std::ssize(chains[as_size(b)]));
      out.text += (b > 0 ? " ; " : "") + to_text(chains[as_size(b)]);
    }
    // The number of opened rows differs by batch entry, so each entry may need a step of its own.
    if (kind == SmallKind::kOpenedRows) out.steps += batch - 1;
    out.mask = Mask::make(batch, 1, size_, size_, [&](Index b, Index) {
      return maskctl::apply(Mask(full_plane(size_, size_)), chains[as_size(b)]).plane(0, 0);
    });
    out.text += ", " + std::to_string(size_) + " tokens";
    return out;
  }

 private:
  Index number(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }

  Step band(SmallKind kind) {
    if (kind == SmallKind::kPackedWindow || (kind != SmallKind::kImages && number(0, 2) == 0)) {
      step::Window rule;
      rule.left = number(1, std::max<Index>(size_ / 3, 2));
      rule.right = 0;
      return {rule};
    }
    return {step::Causal{}};
  }
  Chain chain(SmallKind kind, const Step& shared) {
    switch (kind) {
      case SmallKind::kImages:
        return images(shared);
      case SmallKind::kPackedWindow:
        return packed(shared);
      case SmallKind::kRightPadded:
        return {padding(number(size_ / 3, size_), false, both_), shared};
      case SmallKind::kLeftPadded:
        return {padding(number(size_ / 3, size_), true, both_), shared};
      case SmallKind::kOpenedRows:
        break;
    }
    const Index length = number(size_ / 3, size_ - 1);
    return {padding(length, true, false), shared, {step::Region{true, {{0, size_ - length}}, {}}}};
  }
  static Step padding(Index length, bool left, bool both) {
    step::Pad rule;
    rule.is_lengths = true;
    rule.left = left;
    rule.both = both;
    rule.valid.array = Tensor(DType::kInt64, {1});
    rule.valid.array.as<std::int64_t>().front() = length;
    return {std::move(rule)};
  }
  Chain images(const Step& shared) {
    Chain out{shared};
    Index at = number(0, 3);
    for (Index left = number(1, 3); left > 0 && at + 3 < size_; --left) {
      const Range tokens{at, std::min(at + number(3, 8), size_)};
      out.push_back({step::Region{true, {tokens}, {tokens}}});
      at = tokens.end + number(1, 5);
    }
    return out;
  }
  Chain packed(const Step& shared) {
    step::DocumentLengths rule;
    for (Index left = size_; left > 0; left -= rule.lengths.back()) {
      rule.lengths.push_back(std::min(left, number(3, std::max<Index>(size_ / 2, 4))));
    }
    return {{std::move(rule)}, shared};
  }

  std::mt19937_64 random_;
  Index size_ = 0;
  bool both_ = number(0, 1) == 1;
};

/// True if the answer is correct, reads no arrays, and uses no more steps and single cells than the
/// mask has steps.
inline bool names_small(const SmallMask& made, const Recognised& found) {
  const Mask again = maskctl::apply(full_like(made.mask), found.chain);
  return zip(Op::kXor, again, made.mask).count() == found.residue.cells &&
         !reads_arrays(found.chain) && leaf_steps(found.chain) + found.residue.cells <= made.steps;
}

}  // namespace maskctl::twin
