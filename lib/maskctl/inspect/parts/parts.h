// Whether the parts of a mask, as ranks, rollouts or the steps of a sampler compute it, are the
// mask.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/planes/taken.h"

namespace maskctl {

/// The tokens of a part's queries, or of its keys: token i is at place i. Rows and columns of the
/// part that hold no token are at no place.
struct PartSide {
  Indices tokens;  // of the whole, in the order of their places
  Indices places;  // rows, or columns, of the part's mask
};
/// What one rank computes in one step, such as "rank 1, step 2".
struct ComputedPart {
  std::string name;
  PartSide q, kv;
  Mask mask;
};
/// The side whose place i holds tokens[i].
PartSide side_of(Indices tokens);

/// Pairs of tokens that are wrong in the same parts.
struct PartsFault {
  /// kLost: open in the mask, computed by none of `parts`, which hold both tokens. kTwice: computed
  /// by several of them. kExtra: closed in the mask, computed by one of them. kNoToken: open in a
  /// part in a row or column that holds no token; `first` is a cell of the part then.
  enum class Kind : std::uint8_t { kLost, kTwice, kExtra, kNoToken };
  Kind kind = Kind::kLost;
  std::vector<std::size_t> parts;
  Index pairs = 0;  // kTwice: how often too many
  Cell first;
};

struct PartsVerdict {
  Index declared = 0;  // open cells of the mask
  Index computed = 0;  // open cells of all parts
  Index lost = 0, twice = 0, extra = 0, no_token = 0;
  std::vector<PartsFault> faults;  // in the order of kinds, then of their first cells

  /// The parts together are the mask; `once`: and compute each pair once.
  bool ok(bool once) const { return lost + extra + no_token == 0 && (!once || twice == 0); }
};

/// Compares the parts with the mask, batch entries and heads broadcast; unless `once`, pairs that
/// several parts compute are counted, but are no faults to be listed where all else is right.
/// Tokens that the same parts hold are compared at once, as planes, so that a million tokens over
/// 16 x 16 parts take less than a second where ranks have ranges or strides. Throws
/// Error(kInvalidArgument) for tokens that the mask does not have.
PartsVerdict judge_parts(const Mask& mask, std::span<const ComputedPart> parts, bool once);

}  // namespace maskctl
