// Which mask an output obeys: the declared one, another one, or none, as far as the precision of
// the output can tell.
#pragma once

#include <compare>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maskctl/inspect/recognise/neighbours.h"
#include "maskctl/verify/verify.h"

namespace maskctl::attention {

/// kObeys: up to rounding, the results are those of the declared mask and of no other mask that was
/// tried. kAnother: they are those of another mask and not of the declared one. kOtherCall: they
/// are those of the declared mask in another call, such as one without its sinks. kPartly: rows of
/// zeros or NaN, which tell no mask, and all other rows, if there are any, obey the declared mask.
/// kNone: they fit nothing that was tried. kUnclear: they fit the declared mask and also others,
/// whose results differ from its results by less than rounding, or in most of their rows no single
/// cell would show, whatever its weight.
enum class Verdict : std::uint8_t { kObeys, kAnother, kNone, kUnclear, kOtherCall, kPartly };
/// The name of a verdict: "obeys", "another", "none", "unclear", "other-call" or "partly".
std::string_view name(Verdict verdict);

/// A row of the output: a query of one batch entry and head.
struct QueryRow {
  Index batch = 0, head = 0, query = 0;
  friend auto operator<=>(const QueryRow&, const QueryRow&) = default;
};

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

struct ArrayJudgement;

struct Judgement {
  Verdict verdict = Verdict::kObeys;
  /// kAnother, kOtherCall: how the mask or the call that fits differs. kUnclear: the masks that fit
  /// as well as the declared one. kNone: that no mask fits, and which rows are off.
  std::string text;
  /// kAnother, kOtherCall: the rows in which the results differ from the declared ones. kNone: the
  /// rows that are off. For example "heads 0-3, queries 31-63".
  std::string where;
  bool in_part = false;  // kAnother, kOtherCall: all other rows obey the declared mask
  /// Rows of zeros, and rows with NaN, where the declared mask gives numbers; the verdict is about
  /// the others. Empty if there are none.
  std::string zero_rows, nan_rows;
  std::string nan_keys;  // the keys that hold NaN, where there are such rows: "keys 0-30"
  std::vector<Comparison> comparisons;  // those with the given `alternatives` come first
  /// kObeys: the least share of a row's weight from which a single wrongly open or closed cell
  /// would have been found in every row; infinite if single cells cannot be found.
  double least_cell = 0;
  /// The squared error of most rows under the mask or call that fits best, in units of the rounding
  /// that is expected.
  double noise = 0;
  /// The queries (or keys) of the rows that are off: for kNone, and for `in_part`.
  std::set<Index> off;
  /// For kNone: of the masks tried, the one under which the fewest rows of the output and its lse
  /// are off, and these rows. Absent if that is the declared mask.
  std::optional<Mask> nearest;
  std::set<QueryRow> off_nearest;
  /// The index of the candidate that fits all rows; absent if it fits only some, or others fit as
  /// well.
  std::optional<std::size_t> fit;
  /// The mask that the results obey: set for kObeys, and for kAnother if all heads obey the same
  /// mask.
  std::optional<Mask> obeyed;
  /// Where nothing fits all arrays, such as out and lse, together: the judgement of each array, by
  /// its name.
  std::vector<ArrayJudgement> parts;
};
struct ArrayJudgement {
  std::string array;  // "out", "lse", "grad_query"
  Judgement judgement;
};

std::string_view name(Comparison::State state);  // "rejected", "fits", "undecided"

struct GivenReport {
  std::vector<VerifyCheck> checks;  // "forward" and "gradients", each if `given` has such results
  Judgement judgement;
};

/// Checks results that were made elsewhere, such as "out", "lse" or "grad_query", against those of
/// `request.against`: whether they are within the tolerance, and whether they are those of the
/// declared mask or of one of the `alternatives`, or of a call with another policy for rows without
/// keys, or of one in which query head h reads key head h mod Hkv. judge_results() (verdict.h)
/// tries more. Gradients are for the cotangents in the arguments, or for random cotangents from the
/// seed.
///
/// For each alternative, the residual of each row is projected on the difference between the
/// results under the two masks. Both are in units of the rounding expected from the precision of
/// the arrays; the actual noise is estimated from the rows of the mask that fits best. Many rows
/// together can tell two masks apart even if each row differs by less than rounding.
/// docs/developers/verdicts.md has the model.
///
/// Costs one run of `request.against`, and one run of the fast path for each alternative. Throws
/// Error(kInvalidArgument) for a result that the operation does not have, and Error(kShape) for a
/// result of another shape.
GivenReport verify_given(const VerifyRequest& request, const NamedResults& given,
                         std::span<const Neighbour> alternatives = {});

}  // namespace maskctl::attention
