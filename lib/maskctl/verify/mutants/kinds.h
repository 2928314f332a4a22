// The kinds of mutants as rows: each changes the call of a right kernel; private to mutants.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "maskctl/verify/mutants/draw.h"
#include "maskctl/verify/mutants/kernel.h"
#include "maskctl/verify/mutants/mutants.h"

namespace maskctl::attention {

/// A call, and what kinds of mutants ask about its mask.
class DeclaredCall {
 public:
  explicit DeclaredCall(MutantCall call);

  const MutantCall& call() const { return call_; }
  const Mask& mask() const { return mask_; }
  Index queries() const { return mask_.queries(); }
  Index keys() const { return mask_.keys(); }
  /// A cell that is open, or closed, each with equal probability; nothing if there is none.
  std::optional<Cell> any_cell(bool open, Draw& draw) const;
  /// The mask that other steps make of the same base.
  Mask made_by(const Chain& steps) const { return maskctl::apply(call_.base, steps); }

 private:
  MutantCall call_;
  Mask mask_;
  std::vector<std::vector<Index>> open_before_;  // by distinct plane: open cells before each row
};

/// A row of the table of kinds.
struct MutantKind {
  MutantKindInfo info;
  /// Changes the call of a right kernel in one of the ways of this kind, and returns a sentence
  /// about it; "" if the declared call has nothing to change, or not in this draw.
  std::string (*change)(const DeclaredCall& declared, Draw& draw, KernelCall& call) = nullptr;
};

constexpr MutantKind kind_row(MutantGroup group, std::string_view name, std::string_view meaning,
                              decltype(MutantKind::change) change, std::string_view needs = "") {
  return {{name, group, meaning, needs}, change};
}

// The rows of each file.
std::span<const MutantKind> cell_kinds();    // of cells, whatever the steps are
std::span<const MutantKind> step_kinds();    // of arguments of steps
std::span<const MutantKind> call_kinds();    // of arguments beside the mask
std::span<const MutantKind> result_kinds();  // of rows and their lse
std::span<const MutantKind> right_kinds();
/// All rows, in the order of mutant_kinds().
std::span<const MutantKind> kind_rows();

/// The mask with the plane of one batch and head replaced; a mask of one head is repeated first.
Mask with_plane(const Mask& mask, Index batch, Index heads, Index b, Index h,
                const PlanePtr& plane);

}  // namespace maskctl::attention
