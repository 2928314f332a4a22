// Which mask an output obeys: the declared one, another one, or none, as far as the precision of
// the output can tell.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/inspect/recognise/neighbours.h"
#include "maskctl/verify/verify.h"

namespace maskctl::attention {

/// kObeys: up to rounding, the results are those of the declared mask and of no other mask that was
/// tried. kAnother: they are those of another mask and not of the declared one. kNone: they fit no
/// mask that was tried. kUnclear: they fit the declared mask and also others, whose results differ
/// from its results by less than rounding, or in most of their rows no single cell would show,
/// whatever its weight.
enum class Verdict : std::uint8_t { kObeys, kAnother, kNone, kUnclear };
/// The name of a verdict: "obeys", "another", "none" or "unclear".
std::string_view name(Verdict verdict);

/// How one alternative compares with the declared mask.
struct Comparison {
  enum class State : std::uint8_t { kRejected, kFits, kUndecided };

  std::string text;
  State state = State::kRejected;
  /// Where the results are between those of the declared mask (share 0) and those of the
  /// alternative (share 1), and the standard error of this share.
  double share = 0, error = 0;
  Index rows = 0;  // rows whose results differ under the two masks
};

struct Judgement {
  Verdict verdict = Verdict::kObeys;
  /// kAnother: how the mask that fits differs. kUnclear: the masks that fit as well as the declared
  /// one. kNone: that no mask fits, and which rows are off.
  std::string text;
  /// kAnother: the rows in which the two masks differ. kNone: the rows outside the tolerance. For
  /// example "heads 0-3, queries 31-63".
  std::string where;
  std::vector<Comparison> comparisons;  // those with the given `alternatives` come first
  /// kObeys: the least share of a row's weight from which a single wrongly open or closed cell
  /// would have been found in every row; infinite if single cells cannot be found.
  double least_cell = 0;
  /// kNone: the queries (or keys) of the rows outside the tolerance.
  std::set<Index> off;
  /// kAnother: the index of the alternative that fits all heads; absent if only some heads obey it.
  std::optional<std::size_t> fit;
  /// The mask that the results obey: set for kObeys, and for kAnother if all heads obey the same
  /// mask.
  std::optional<Mask> obeyed;
};
std::string_view name(Comparison::State state);  // "rejected", "fits", "undecided"

struct GivenReport {
  std::vector<VerifyCheck> checks;  // "forward" and "gradients", each if `given` has such results
  Judgement judgement;
};

/// Checks results that were made elsewhere, such as "out", "lse" or "grad_query", against those of
/// `request.against`: whether they are within the tolerance, and which mask they obey. Besides
/// `alternatives` it tries the other policies for rows without keys, and query head h with key head
/// h mod Hkv. Gradients are for the cotangents in the arguments, or for random cotangents from the
/// seed.
///
/// For each alternative, the residual of each row is projected on the difference between the
/// results under the two masks. Both are in units of the rounding expected from the precision of
/// the arrays; the actual noise is estimated from the rows of the mask that fits best. Many rows
/// together can tell two masks apart even if each row differs by less than rounding.
/// docs/numerics.md has the model.
///
/// Costs one run of `request.against`, and one run of the fast path for each alternative. Throws
/// Error(kInvalidArgument) for a result that the operation does not have, and Error(kShape) for a
/// result of another shape.
GivenReport verify_given(const VerifyRequest& request, const NamedResults& given,
                         std::span<const Neighbour> alternatives = {});

}  // namespace maskctl::attention
