#include "maskctl/verify/solve/continuation.h"

#include <utility>

#include "maskctl/mask/arrays/dense.h"

namespace maskctl::attention::solving {
namespace {

Index distance(const OpenKeys& a, const OpenKeys& b) {
  Index out = 0;
  for (std::size_t j = 0; j < a.size(); ++j) out += a[j] != b[j];
  return out;
}

/// Returns the plane of the alternative whose row is nearest to the row `found`; null if no
/// alternative is nearer than the supposed keys.
const Plane* nearest_to(const Found& found, const Unit& unit, Index row,
                        std::span<const Neighbour> alternatives) {
  const Plane* out = nullptr;
  Index least = distance(found.supposed, found.open);
  for (const Neighbour& other : alternatives) {
    const Plane* const plane = other.mask.plane(unit.b, unit.h).get();
    const Index now = distance(row_keys(*plane, row), found.open);
    if (now < least) out = plane, least = now;
  }
  return out;
}

}  // namespace

OpenKeys row_keys(const Plane& plane, Index row) {
  OpenKeys out(as_size(plane.keys()));
  dense_rows(plane, {row, row + 1}, out);
  return out;
}

std::optional<OpenKeys> continued(const Found& found, Index from, Way way, const Unit& unit,
                                  Range rows, const OpenKeys& supposed,
                                  std::span<const Neighbour> alternatives) {
  OpenKeys out = supposed;
  if (way == Way::kAlternative) {
    const Plane* nearest = nearest_to(found, unit, rows.begin + from, alternatives);
    if (!nearest) return {};
    dense_rows(*nearest, rows, out);
    return out;
  }
  const Index keys = std::ssize(found.open);
  const bool moves = way == Way::kMovedKeys || way == Way::kMovedFlips;
  const bool differs = way == Way::kMovedFlips || way == Way::kSameFlips;
  for (Index r = 0; r < rows.size(); ++r) {
    for (Index j = 0; j < keys; ++j) {
      const Index at = moves ? j - (r - from) : j;
      if (at < 0 || at >= keys) continue;
      const std::uint8_t was = found.open[as_size(at)];
      const bool flip = was != found.supposed[as_size(at)];
      std::uint8_t& open = out[as_size(r * keys + j)];
      open = differs ? static_cast<std::uint8_t>(open ^ static_cast<std::uint8_t>(flip)) : was;
    }
  }
  return out;
}

std::vector<OpenKeys> starts(const Unit& unit, Index row, const OpenKeys& supposed,
                             std::span<const Found* const> before,
                             std::span<const Neighbour> alternatives) {
  std::vector<OpenKeys> out;
  for (const Found* found : before) {
    out.push_back(found->open);
    OpenKeys same = supposed, moved = supposed, shifted(supposed.size());
    for (std::size_t j = 0; j < supposed.size(); ++j) {
      const bool flip = found->open[j] != found->supposed[j];
      same[j] ^= static_cast<std::uint8_t>(flip);
      if (j + 1 == supposed.size()) continue;
      moved[j + 1] ^= static_cast<std::uint8_t>(flip);
      shifted[j + 1] = found->open[j];
    }
    out.push_back(std::move(same)), out.push_back(std::move(moved));
    out.push_back(std::move(shifted));
  }
  out.emplace_back(supposed.size());
  for (const Neighbour& other : alternatives) {
    out.push_back(row_keys(*other.mask.plane(unit.b, unit.h), row));
  }
  return out;
}

}  // namespace maskctl::attention::solving
