#include "maskctl/inspect/diff/whole.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "maskctl/inspect/recognise/cells.h"

namespace maskctl {
namespace {

/// Numbers the planes of several masks; planes with equal cells get equal numbers.
class PlaneNumbers {
 public:
  std::vector<std::size_t> of(const Mask& mask) {
    std::vector<std::size_t> number;
    for (const PlanePtr& plane : mask.distinct()) number.push_back(number_of(plane));
    std::vector<std::size_t> out;
    for (Index b = 0; b < mask.batch(); ++b) {
      for (Index h = 0; h < mask.heads(); ++h) out.push_back(number[mask.index_of(b, h)]);
    }
    return out;
  }

 private:
  std::size_t number_of(const PlanePtr& plane) {
    const Index open = plane->count();
    for (std::size_t i = 0; i < planes_.size(); ++i) {
      if (open_[i] == open && differing_cells(planes_[i], plane) == 0) return i;
    }
    planes_.push_back(plane);
    open_.push_back(open);
    return planes_.size() - 1;
  }
  std::vector<PlanePtr> planes_;
  std::vector<Index> open_;
};

/// For each batch, or for each head, the numbers of its planes.
using Lines = std::vector<std::vector<std::size_t>>;

Lines lines_of(const std::vector<std::size_t>& numbers, Index batch, Index heads, bool by_head) {
  Lines out(static_cast<std::size_t>(by_head ? heads : batch));
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < heads; ++h) {
      out[static_cast<std::size_t>(by_head ? h : b)].push_back(
          numbers[static_cast<std::size_t>(b * heads + h)]);
    }
  }
  return out;
}

/// Returns for each batch (or head) of `b` the equal one of `a`. Each is used once, and an unmoved
/// one is mapped to itself. Nothing if there is no such permutation.
std::optional<std::vector<std::size_t>> permutation(const Lines& a, const Lines& b) {
  std::vector<std::size_t> from(b.size(), b.size());
  std::vector<bool> used(a.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (a[i] != b[i]) continue;
    from[i] = i;
    used[i] = true;
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t j = 0; j < a.size() && from[i] == b.size(); ++j) {
      if (used[j] || a[j] != b[i]) continue;
      from[i] = j;
      used[j] = true;
    }
    if (from[i] == b.size()) return std::nullopt;
  }
  return from;
}

std::string permutation_words(const char* what, const std::vector<std::size_t>& from) {
  constexpr std::size_t kMost = 8;
  std::string list;
  std::size_t moved = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == i || ++moved > kMost) continue;
    list += fmt::format("{}{} is A's {}", moved > 1 ? ", " : "", i, from[i]);
  }
  if (moved > kMost) list += fmt::format(", and {} more", moved - kMost);
  return fmt::format("{} permuted: B's {}", what, list);
}

MaybeReason permuted(const Mask& a, const Mask& b) {
  if (a.batch() != b.batch() || a.heads() != b.heads()) return std::nullopt;
  PlaneNumbers numbers;
  const auto in_a = numbers.of(a), in_b = numbers.of(b);
  for (const bool by_head : {true, false}) {
    const auto from = permutation(lines_of(in_a, a.batch(), a.heads(), by_head),
                                  lines_of(in_b, a.batch(), a.heads(), by_head));
    if (from) return Reason{"heads", permutation_words(by_head ? "heads" : "batches", *from)};
  }
  return std::nullopt;
}

bool same_masks(const Mask& a, const Mask& b) { return diff(a, b).equal(); }

/// Words for a mask B that equals A after its heads were merged or only the first was kept, as some
/// libraries do.
MaybeReason merged_heads(const Mask& a, const Mask& b) {
  if (a.heads() < 2) return std::nullopt;
  const Range all_q{0, a.queries()}, all_k{0, a.keys()}, batches{0, a.batch()};
  if (same_masks(sliced(a, batches, {0, 1}, all_q, all_k), b)) {
    return Reason{"heads", "head 0 for all heads"};
  }
  if (same_masks(reduce_heads(Op::kAnd, a), b)) {
    return Reason{"heads", "what is open in all heads for each head"};
  }
  if (same_masks(reduce_heads(Op::kOr, a), b)) {
    return Reason{"heads", "what is open in any head for each head"};
  }
  return std::nullopt;
}

Range within(Index from, Index extent, Index by) {
  return intersect({from, from + extent}, {by, by + extent});
}

/// True if b(q + down, k + right) = a(q, k) wherever both cells exist, all other cells of b are
/// closed, and b has open cells.
bool is_shifted(const PlanePtr& a, const PlanePtr& b, Index down, Index right) {
  const Range q = within(0, b->queries(), down), k = within(0, b->keys(), right);
  if (q.empty() || k.empty()) return false;
  const PlanePtr moved = b->sliced(q, k);
  const Index open = moved->count();
  return open > 0 && open == b->count() &&
         differing_cells(
             a->sliced({q.begin - down, q.end - down}, {k.begin - right, k.end - right}), moved) ==
             0;
}

/// True if b(q + down, k + right) = a(q, k) for all cells, where indices past the end start over.
bool is_rolled(const PlanePtr& a, const PlanePtr& b, Index down, Index right) {
  const auto parts = [](Index extent, Index by) {
    const Index head =
        (extent - by) % extent;  // so many tokens come before those moved past the end
    return std::array{std::pair(Range{0, head}, extent - head),
                      std::pair(Range{head, extent}, -head)};
  };
  for (const auto& [q, by_q] : parts(b->queries(), (down + b->queries()) % b->queries())) {
    for (const auto& [k, by_k] : parts(b->keys(), (right + b->keys()) % b->keys())) {
      if (q.empty() || k.empty()) continue;
      const PlanePtr moved =
          b->sliced({q.begin + by_q, q.end + by_q}, {k.begin + by_k, k.end + by_k});
      if (differing_cells(a->sliced(q, k), moved) != 0) return false;
    }
  }
  return true;
}

}  // namespace

MaybeReason shift_reason(const PlanePtr& a, const PlanePtr& b) {
  const recognition::Hull in_a = recognition::hull_of(*a), in_b = recognition::hull_of(*b);
  if (in_a.q.empty() || in_b.q.empty()) return std::nullopt;
  const auto words = [](const char* how, Index by, const char* what) {
    return Reason{"shift", fmt::format("all cells {} by {} {}", how, by, what)};
  };
  for (const Index by : {in_b.k.begin - in_a.k.begin, in_b.k.end - in_a.k.end}) {
    if (by == 0) continue;
    if (is_shifted(a, b, 0, by)) return words("moved", by, "keys");
    if (is_shifted(a, b, by, by)) return words("moved", by, "queries and keys");
  }
  for (const Index by : {in_b.q.begin - in_a.q.begin, in_b.q.end - in_a.q.end}) {
    if (by != 0 && is_shifted(a, b, by, 0)) return words("moved", by, "queries");
  }
  constexpr Index kReadCells = Index{1} << 22, kMostRolled = 2;
  if (a->queries() * a->keys() > kReadCells || a->count() != b->count()) return std::nullopt;
  for (const Index by : {Index{1}, Index{-1}, kMostRolled, -kMostRolled}) {
    if (std::abs(by) >= std::min(a->queries(), a->keys())) continue;
    if (is_rolled(a, b, 0, by)) return words("rolled", by, "keys");
    if (is_rolled(a, b, by, 0)) return words("rolled", by, "queries");
    if (is_rolled(a, b, by, by)) return words("rolled", by, "queries and keys");
  }
  return std::nullopt;
}

MaybeReason whole_reason(const Mask& a, const Mask& b, const MaskDiff& found) {
  const Index broadcast = std::max(a.batch(), b.batch()) * std::max(a.heads(), b.heads());
  const Index cells = broadcast * a.queries() * a.keys();
  const Index open_a = found.both + found.only_a, open_b = found.both + found.only_b;
  if (open_a + open_b == cells && same_masks(complement(a), b)) {
    return Reason{"polarity", "polarity inverted: B is open where A is closed"};
  }
  if (open_a == open_b && a.queries() == a.keys() && same_masks(transposed(a), b)) {
    return Reason{"transposed", "q and k swapped: B is A transposed"};
  }
  if (open_a == open_b) {
    if (auto order = permuted(a, b)) return order;
  }
  return merged_heads(a, b);
}

}  // namespace maskctl
