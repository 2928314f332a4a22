#include "maskctl/inspect/diff/where.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "maskctl/base/ranges.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostPlanes = 4;

std::string numbers_words(const std::set<Index>& numbers, Index all, std::string_view one,
                          std::string_view many) {
  if (std::ssize(numbers) == all) return fmt::format("all {}", many);
  const std::vector<Index> ascending(numbers.begin(), numbers.end());
  return range_words(ranges_of(ascending), one, many);
}

}  // namespace

std::string plane_words(Index batch, Index head, Index batches, Index heads) {
  std::string out;
  if (batches > 1) out += fmt::format("batch {}", batch);
  if (batches > 1 && heads > 1) out += ", ";
  if (heads > 1) out += fmt::format("head {}", head);
  return out;
}

std::string where_words(const std::vector<PlaneDiff>& planes, Index batches, Index heads) {
  std::set<Index> of_batches, of_heads;
  for (const PlaneDiff& plane : planes) {
    of_batches.insert(plane.batch);
    of_heads.insert(plane.head);
  }
  if (planes.size() > kMostPlanes && of_batches.size() * of_heads.size() == planes.size()) {
    std::string out = batches > 1 ? numbers_words(of_batches, batches, "batch", "batches") : "";
    if (batches > 1 && heads > 1) out += ", ";
    return heads > 1 ? out + numbers_words(of_heads, heads, "head", "heads") : out;
  }
  std::string out;
  for (std::size_t n = 0; n < std::min(planes.size(), kMostPlanes); ++n) {
    out += (n > 0 ? "; " : "") + plane_words(planes[n].batch, planes[n].head, batches, heads);
  }
  if (planes.size() > kMostPlanes) out += fmt::format("; {} more", planes.size() - kMostPlanes);
  return out;
}

}  // namespace maskctl
