#include "maskctl/inspect/count/stats_parts.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

constexpr Index kReadableRuns = Index{1} << 24;

}  // namespace

void check_blocks(std::span<const BlockSize> blocks) {
  for (const BlockSize& size : blocks) {
    if (size.q >= 1 && size.k >= 1) continue;
    throw Error(Errc::kInvalidArgument,
                fmt::format("block size {}x{}: both sides must be at least 1", size.q, size.k));
  }
}

PlanePtr readable(const PlanePtr& plane) {
  if (!plane->computed()) return plane;
  PlanePtr kept = stored(*plane, kReadableRuns);
  return kept ? kept : plane;
}

std::vector<Index> plane_uses(const Mask& mask) {
  std::vector<Index> uses(mask.distinct().size());
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) ++uses[mask.index_of(b, h)];
  }
  return uses;
}

void for_each_plane(const Mask& mask, const std::function<void(std::size_t i)>& f) {
  const auto planes = std::ssize(mask.distinct());
  const auto one = [&](Index i) { f(static_cast<std::size_t>(i)); };
  if (planes >= 2 * Index{threads()}) return parallel_for(planes, one);
  for (Index i = 0; i < planes; ++i) one(i);
}

}  // namespace maskctl
