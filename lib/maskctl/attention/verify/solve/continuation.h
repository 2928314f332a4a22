// What the open keys of one row say of others; private to solve.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/verify/judge.h"
#include "maskctl/attention/verify/solve/rows.h"
#include "maskctl/attention/verify/solve/units.h"

namespace maskctl::attention::solving {

/// A row whose open keys differ from those that were supposed.
struct Found {
  OpenKeys open, supposed;
};

OpenKeys row_keys(const Plane& plane, Index row);

/// How a mask may go on from one row to others: as the alternative that is most like it; with the
/// same keys, or the same difference from what was supposed, in place or moved along with the rows.
enum class Way : std::uint8_t { kAlternative, kMovedKeys, kSameKeys, kMovedFlips, kSameFlips };
inline constexpr std::size_t kWays = 5;

/// The open keys [rows, Tk] of some rows of a unit if the mask goes on from `found`, which is
/// number `from` of these rows. `supposed`: [rows, Tk]. Absent where no alternative is nearer to
/// `found` than what was supposed.
std::optional<OpenKeys> continued(const Found& found, Index from, Way way, const Unit& unit,
                                  Range rows, const OpenKeys& supposed,
                                  std::span<const Alternative> alternatives);

/// Guesses of the open keys of a row after rows that were found: their keys, or their difference
/// from what was supposed, each also moved by one; no keys; and the alternatives.
std::vector<OpenKeys> starts(const Unit& unit, Index row, const OpenKeys& supposed,
                             std::span<const Found* const> before,
                             std::span<const Alternative> alternatives);

}  // namespace maskctl::attention::solving
