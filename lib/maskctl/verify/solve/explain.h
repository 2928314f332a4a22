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

/// The units that the first query which differs read beside those of its declared mask, and those
/// of them that it left out.
struct UnitsRead {
  Index query = 0;
  std::vector<Index> beside, left_out;
};

struct SolvedVerdict {
  Mask declared;
  SolvedMask solved;
  MaskDiff diff;   // compares the declared mask (a) with the solved one (b)
  Mask undecided;  // all cells that are
  /// Rows of the mask, and those of which no cell is decided.
  Index rows = 0, untold_rows = 0;
  /// Why they differ, in the words of diff_cause(): the cause of the decided cells.
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

/// "applied the declared mask, as far as rounding tells".
std::string to_text(const SolvedVerdict& verdict);

/// Solves for the mask that the results obey: over the slots of pages or over blocks for operations
/// that read these, starting from the declared mask and its neighbours() elsewhere. Throws like
/// solve_mask().
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
  /// If a mask was solved that explains all rows, the judgement is kAnother, with its cause.
  GivenReport report = {};
  std::optional<SolvedVerdict> solved = {};
  /// True if nothing was tried before the mask was solved: the judgement then has the verdict on
  /// the solved mask, which is the one obeyed.
  bool only_solved = false;
  std::string not_solved = {};              // why the mask cannot be solved, where that was tried
  NextQuestion next = NextQuestion::kNone;
};

/// judge_results(); where nothing fits the output, solve_results() for the rows that are off,
/// within seconds. Throws like judge_results().
FullVerdict judge_fully(const JudgedCall& call, const NamedResults& given);

/// solve_results(); where no keys explain the results, but a mask or a call that judge_results()
/// tries does, that judgement. Throws like both.
FullVerdict solve_fully(const JudgedCall& call, const NamedResults& given);

}  // namespace maskctl::attention
