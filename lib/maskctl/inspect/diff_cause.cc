// Why two masks differ: whole masks first, then each pair of planes that differ.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "maskctl/inspect/diff.h"
#include "maskctl/inspect/diff_reason.h"
#include "maskctl/inspect/diff_whole.h"

namespace maskctl {
namespace {

/// Pairs of planes that are explained; of more, the first ones speak for all.
constexpr std::size_t kMostPairs = 16;

/// Bits that no runs can replace, and many: reading them for each rule would take longer than
/// reading the files did.
bool is_bulk(const PlanePtr& plane) {
  constexpr Index kManyCells = Index{1} << 26;
  const Index cells = plane->queries() * plane->keys();
  return cells > kManyCells && plane->bytes() >= cells / 16;
}

/// Rows of so many runs that only the numbers of their rules can be compared.
bool is_clipped(const PlanePtr& plane) {
  constexpr Index kManyCells = Index{1} << 30;
  return plane->knows_sizes() && plane->queries() * plane->keys() > kManyCells;
}

MaybeReason plane_reason(const PlanePtr& a, const PlanePtr& b, const PlaneDiff& found) {
  using Way = MaybeReason (*)(const PlanePair&);
  static constexpr Way kWays[] = {documents_reason, alignment_reason, chains_reason, cell_reason,
                                  rules_reason,     regions_reason,   shift_reason};
  static constexpr Way kBulkWays[] = {cell_reason, regions_reason};
  static constexpr Way kClippedWays[] = {chains_reason};
  const bool bulk = is_bulk(a) || is_bulk(b);
  // What is left for bulk fills a region or empties it: cells of both sides have no such reason.
  if (bulk && found.only_a > 0 && found.only_b > 0) return std::nullopt;
  const PlanePair pair = pair_of(a, b);
  const auto ways = bulk                             ? std::span<const Way>(kBulkWays)
                    : is_clipped(a) || is_clipped(b) ? std::span<const Way>(kClippedWays)
                                                     : std::span<const Way>(kWays);
  MaybeReason best;
  for (const Way way : ways) {
    auto reason = way(pair);
    if (reason && (!best || reason->changes < best->changes)) best = std::move(reason);
    if (best && best->changes == 1) break;
  }
  return best;
}

/// Planes with one explanation, and where they are.
struct Explained {
  Reason reason;
  std::vector<PlaneDiff> planes;
};

std::string where(const std::vector<PlaneDiff>& planes, Index batch, Index heads) {
  constexpr std::size_t kMost = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(planes.size(), kMost); ++i) {
    if (i > 0) out += "; ";
    if (batch > 1) out += fmt::format("batch {}", planes[i].batch);
    if (batch > 1 && heads > 1) out += ", ";
    if (heads > 1) out += fmt::format("head {}", planes[i].head);
  }
  if (planes.size() > kMost) out += fmt::format("; {} more", planes.size() - kMost);
  return out;
}

std::string sentence(const std::vector<Explained>& parts, Index batch, Index heads) {
  std::string out = "B = A with ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += "; ";
    out += parts[i].reason.words;
    const bool everywhere = parts.size() == 1 && std::ssize(parts[i].planes) == batch * heads;
    if (!everywhere) out += fmt::format(" ({})", where(parts[i].planes, batch, heads));
  }
  return out;
}

}  // namespace

std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b) {
  return diff_cause(a, b, diff(a, b));
}

std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b, const MaskDiff& found) {
  if (found.equal()) return std::nullopt;
  if (auto whole = whole_cause(a, b, found)) return whole;
  const Index batch = std::max(a.batch(), b.batch()), heads = std::max(a.heads(), b.heads());
  std::map<std::pair<std::uint32_t, std::uint32_t>, MaybeReason> by_pair;
  std::vector<Explained> parts;
  Index unexplained = 0;
  for (const PlaneDiff& plane : found.planes) {
    const std::pair key(a.index_of(plane.batch, plane.head), b.index_of(plane.batch, plane.head));
    const bool few = by_pair.size() < kMostPairs;
    const auto [at, is_new] = by_pair.try_emplace(key);
    if (is_new && few) {
      at->second = plane_reason(a.distinct()[key.first], b.distinct()[key.second], plane);
    }
    const MaybeReason& reason = at->second;
    if (!reason) {
      unexplained += plane.only_a + plane.only_b;
      continue;
    }
    const auto same = std::find_if(parts.begin(), parts.end(), [&](const Explained& part) {
      return part.reason.words == reason->words;
    });
    if (same != parts.end()) {
      same->planes.push_back(plane);
    } else {
      parts.push_back({*reason, {plane}});
    }
  }
  if (parts.empty()) return std::nullopt;
  const bool one_kind = std::all_of(parts.begin(), parts.end(), [&](const Explained& part) {
    return part.reason.kind == parts.front().reason.kind;
  });
  return DiffCause{one_kind ? parts.front().reason.kind : "other", sentence(parts, batch, heads),
                   unexplained};
}

}  // namespace maskctl
