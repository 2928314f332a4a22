// Which mask an output obeys: the declared one, another one, or none, as far as its precision
// tells.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention {

/// A mask that a kernel may have applied instead of the declared one.
struct Alternative {
  std::string text;  // "window left 32 instead of 31"
  Mask mask;         // broadcasts; another one than the declared
};

/// kObeys: up to rounding, the results are those of the declared mask and of no other one that was
/// tried. kAnother: they are those of another mask and not of the declared one. kNone: they fit no
/// mask that was tried. kUnclear: they fit the declared mask and others too, whose results differ
/// from its own by less than rounding can show.
enum class Verdict : std::uint8_t { kObeys, kAnother, kNone, kUnclear };
/// "obeys", "another", "none", "unclear".
std::string_view name(Verdict verdict);

/// The declared mask beside one alternative.
struct Comparison {
  enum class State : std::uint8_t { kRejected, kFits, kUndecided };

  std::string text;
  State state = State::kRejected;
  /// How far the results lie on the way from those under the declared mask (0) to those under the
  /// alternative (1), in units of rounding, and the standard error of that.
  double share = 0, error = 0;
  Index rows = 0;  // rows whose results differ under the two masks
};

struct Judgement {
  Verdict verdict = Verdict::kObeys;
  /// kAnother: how the mask that fits differs. kUnclear: the masks that fit as well.
  /// kNone: what is known.
  std::string text;
  /// kAnother: the rows in which the two masks differ; kNone: the rows out of the tolerance.
  /// "heads 0-3, queries 31-63".
  std::string where;
  std::vector<Comparison> comparisons;  // first those of `alternatives`
  /// kObeys: the least weight at which a single cell that is wrongly open or closed would have been
  /// found, in every row; infinite where single cells cannot be found.
  double least_cell = 0;
  /// kNone: the queries (or keys) of the rows out of the tolerance.
  std::set<Index> off;
  /// kAnother: which alternative fits all heads; absent where only a part of the heads obeys it.
  std::optional<std::size_t> fit;
  /// The mask that the results obey: set for kObeys, and for kAnother where all heads obey one.
  std::optional<Mask> obeyed;
};
std::string_view name(Comparison::State state);  // "rejected", "fits", "undecided"

struct GivenReport {
  std::vector<VerifyCheck> checks;  // "forward" and "gradients", as far as something is given
  Judgement judgement;
};

/// Judges results that were made elsewhere, "out", "lse" or "grad_query", against those of
/// `request.against`: within the tolerance, and which mask they obey. Beside `alternatives` the
/// other policies for rows without keys are tried, and key heads taken in turn. Gradients are of
/// the cotangents in the arguments, or of the seed's.
///
/// The residual of each row is projected on the difference between what the two masks give, both
/// measured in the rounding that the precision of the arrays makes; the noise itself is estimated
/// from the rows of the mask that fits best. So many rows with a difference below rounding each
/// still tell. docs/numerics.md has the model.
///
/// Costs a run of `request.against`, and one of the fast path for each alternative. Throws
/// Error(kInvalidArgument) for a result that the operation does not give, Error(kShape) for another
/// shape.
GivenReport verify_given(const VerifyRequest& request, const NamedResults& given,
                         std::span<const Alternative> alternatives = {});

}  // namespace maskctl::attention
