// The verdict of `maskctl verify --solve`: the mask that results obey, solved, beside the declared
// one, and why they differ.
#pragma once

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

/// A judgement, and, where nothing that was tried fits, what solving adds to it.
struct FullVerdict {
  /// If a mask was solved that explains all rows, the judgement is kAnother, with its cause.
  GivenReport report;
  std::optional<SolvedVerdict> solved;
  std::string not_solved;  // why the mask cannot be solved, where it was tried
};

/// judge_results(); where nothing fits the output, solve_results() for the rows that are off,
/// within seconds. Throws like judge_results().
FullVerdict judge_fully(const JudgedCall& call, const NamedResults& given);

/// True if solve_results() could decide more than a judgement did, from the same results.
bool solving_tells_more(const JudgedCall& call, const Judgement& judgement);

}  // namespace maskctl::attention
