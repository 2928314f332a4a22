// Guesses the open keys of other rows from those of a row that was found; private to solve.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/verify/judge.h"
#include "maskctl/verify/solve/rows.h"
#include "maskctl/verify/solve/units.h"

namespace maskctl::attention::solving {

/// A row whose open keys turned out to differ from the supposed ones.
struct Found {
  OpenKeys open, supposed;
};

OpenKeys row_keys(const Plane& plane, Index row);

/// How a mask may continue from one row to others: as the alternative that is most like it; or with
/// the same open keys, or the same differences from the supposed keys, either at the same positions
/// or shifted along with the rows.
enum class Way : std::uint8_t { kAlternative, kMovedKeys, kSameKeys, kMovedFlips, kSameFlips };
inline constexpr std::size_t kWays = 5;

/// Guesses the open keys [rows, Tk] of some rows of a unit, if the mask continues in this way from
/// `found`, which is row number `from` of them. `supposed`: [rows, Tk]. Absent for kAlternative if
/// no alternative is nearer to `found` than the supposed keys.
std::optional<OpenKeys> continued(const Found& found, Index from, Way way, const Unit& unit,
                                  Range rows, const OpenKeys& supposed,
                                  std::span<const Neighbour> alternatives);

/// Guesses of the open keys of a row, given rows that were found before: their keys, and their
/// differences from the supposed keys, each also shifted by one key; no keys; and the alternatives.
std::vector<OpenKeys> starts(const Unit& unit, Index row, const OpenKeys& supposed,
                             std::span<const Found* const> before,
                             std::span<const Neighbour> alternatives);

}  // namespace maskctl::attention::solving
