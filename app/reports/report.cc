// Describes how a mask is stored.
#include "app/reports/report.h"

#include <set>

#include "maskctl/mask/planes/bands.h"

namespace maskctl::app {
namespace {

constexpr Index kRowsLookedAt = 64;

std::string tier_of(const Plane& plane) {
  if (slabs_of(plane)) return "bands";
  if (plane.computed()) return "computed";
  bool words = false;
  const Index rows = std::min(plane.queries(), kRowsLookedAt);
  if (rows > 0) plane.rows({0, rows}, [&](Range, const Keys& keys) { words |= keys.is_words(); });
  return words ? "words" : "runs";
}

}  // namespace

std::string tier(const Mask& mask) {
  std::set<std::string> tiers;
  for (const PlanePtr& plane : mask.distinct()) tiers.insert(tier_of(*plane));
  std::string out;
  for (const std::string& name : tiers) out += (out.empty() ? "" : "+") + name;
  return out;
}

Index bytes_held(const Mask& mask) {
  Index bytes = 0;
  for (const PlanePtr& plane : mask.distinct()) bytes += plane->bytes();
  return bytes;
}

}  // namespace maskctl::app
