// The verdict of `maskctl verify --solve`: the mask that results obey, solved, beside the declared
// one, and why they differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/verify/solve/solve.h"
#include "maskctl/verify/verdict.h"

namespace maskctl::attention {

/// What a kernel reads as a unit: "pages" or "blocks" of `size` keys. 0: it reads single keys.
struct KeyUnit {
  std::string_view plural;
  Index size = 0;
};

/// For the first query that differs: the units that it read although its declared mask does not
/// open them, and the units that its declared mask opens and it left out.
struct UnitsRead {
  Index query = 0;
  std::vector<Index> beside, left_out;
};

struct SolvedVerdict {
  Mask declared;
  SolvedMask solved;
  MaskDiff diff;   // compares the declared mask (a) with the solved one (b)
  Mask undecided;  // all cells that are
  /// The number of rows of the mask, and of rows without any decided cell.
  Index rows = 0, untold_rows = 0;
  /// Why the masks differ, in the words of diff_cause(), judged by the decided cells.
  std::optional<DiffCause> cause;
  /// The mask that the cause makes of the declared one, where it agrees with every decided cell.
  std::optional<Mask> ruled;
  std::optional<Error> no_cause;  // why none is known, if the masks differ
  KeyUnit unit;
  std::optional<UnitsRead> units;  // if the masks differ and the kernel reads units

  /// kAnother: a decided cell differs from the declared mask. kUnclear: rows could not be solved,
  /// cells are ambiguous because another key explains the output as well, or no cell is decided in
  /// at least half of the rows. kObeys otherwise: other cells, whose weight is below the rounding,
  /// do not count.
  Verdict verdict() const;
};

/// The verdict as text, for example "applied the declared mask, as far as rounding tells".
std::string to_text(const SolvedVerdict& verdict);

/// Solves for the mask that the results obey. For operations that read pages, it is a mask over all
/// slots of the cache; for operations that read blocks of keys, over all keys; for others, the
/// search starts from the declared mask and its neighbours(). Throws like solve_mask().
SolvedVerdict solve_results(JudgedCall call, const NamedResults& given,
                            const SolveOptions& options = {});

/// What is worth asking after a judgement: nothing; solve_results() of the same results, for cells
/// that are lighter than Judgement::least_cell, down to the rounding, or for each cell; or, where
/// the mask cannot be solved, the outputs of a probe (probe.h).
enum class NextQuestion : std::uint8_t { kNone, kLighterCells, kCells, kProbe };
/// "none", "lighter-cells", "cells" or "probe".
std::string_view name(NextQuestion next);

/// All that `maskctl verify` says of results.
struct FullVerdict {
  /// The judgement is kAnother, with the cause, if the solved mask explains all rows.
  GivenReport report = {};
  std::optional<SolvedVerdict> solved = {};
  /// True if the mask was solved without trying candidates first: the judgement then has the
  /// verdict on the solved mask, and that mask in `obeyed`.
  bool only_solved = false;
  std::string not_solved = {};  // why the mask cannot be solved, where that was tried
  NextQuestion next = NextQuestion::kNone;
};

/// Calls judge_results() and, if nothing fits the output, solve_results() for the rows that are
/// off, for a few seconds at most. Throws like judge_results().
FullVerdict judge_fully(const JudgedCall& call, const NamedResults& given);

/// Calls solve_results(). If no keys explain the results, but a mask or a call that judge_results()
/// tries does, returns the judgement of judge_results(). Throws like both.
FullVerdict solve_fully(const JudgedCall& call, const NamedResults& given);

}  // namespace maskctl::attention
