// Says when findings about arrays are true: cumulative lengths, ids, positions, elements.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/claims/claim.h"
#include "inspect/claims/predicates.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/index_lists.h"
#include "maskctl/mask/arrays/slices.h"

namespace maskctl::test {

using Row = std::vector<std::int64_t>;
inline std::int64_t row_at(const Row& row, Index i) { return row[static_cast<std::size_t>(i)]; }

inline DocumentSource ends(const Tensor& array) {
  return {.form = DocumentForm::kCuSeqlens, .q = array};
}
/// A causal bias of six tokens. For query 0 and key 5 it holds `last`, for all other later keys
/// -inf.
inline Tensor causal_bias(float last) {
  Tensor out(DType::kFloat32, {6, 6});
  for (Index q = 0; q < 6; ++q)
    for (Index k = q + 1; k < 6; ++k) {
      out.as<float>()[static_cast<std::size_t>(q * 6 + k)] =
          q == 0 && k == 5 ? last : -std::numeric_limits<float>::infinity();
    }
  return out;
}
inline Tensor with_odd_byte(Tensor bools) {
  bools.as<std::uint8_t>().back() = 2;
  return bools;
}

/// Lists of keys in which the fact of the finding can be read off plain numbers.
inline CheckedMask listed(const Tensor& lists) {
  CheckedMask out;
  ArrayFacts facts;
  out.start = mask_from_index_lists(lists, {}, lists.extent(0), {1, 1}, 1 << 20, facts);
  out.reading.arrays = facts;
  return out;
}
/// True if the mask was made from lists with so many of this fact, first at that place.
inline bool is_noticed(const Claimed& claim, ArrayFact fact) {
  const auto& facts = claim.given.reading.arrays;
  const auto seen = std::ranges::find(facts, fact, &FactSeen::fact);
  return seen != facts.end() && seen->count == claim.count() &&
         seen->first == Cell{claim.b(), claim.h(), claim.q(), claim.k()} &&
         claim.cells.open(claim.b(), claim.h(), claim.q(), claim.k());
}

template <>
struct Claim<FindingId::kCuShape> {
  static Example example() {
    return {.has = "a.npy --as cu_seqlens",
            .lacks = "b.npy --as cu_seqlens",
            .arrays = {{"a", i32({2, 2}, {0, 3, 0, 4})}, {"b", i32({0, 3})}},
            .nowhere = true};
  }
  static CheckedMask question() {
    return {.start = {}, .own_documents = ends(i32({2, 2}, {0, 3, 0, 4}))};
  }
  static bool holds(const Claimed& claim) {
    for (const DocumentSource* cu : claim.arrays(DocumentForm::kCuSeqlens)) {
      if (cu->q.rank() != 1 || cu->q.elements() < 2 || !is_integer(cu->q.dtype())) return true;
    }
    return false;
  }
};

template <>
struct Claim<FindingId::kCuStart> {
  static Example example() {
    return {.has = "a.npy --as cu_seqlens",
            .lacks = "b.npy --as cu_seqlens",
            .arrays = {{"a", i32({3, 6, 9})}, {"b", i32({0, 6, 9})}}};
  }
  static bool holds(const Claimed& claim) {
    return claim.any_row(DocumentForm::kCuSeqlens,
                         [&](const Row& row, Index, std::int32_t) { return row[0] != 0; });
  }
};

template <>
struct Claim<FindingId::kCuFalls> {
  static Example example() {
    return {.has = "a.npy --as cu_seqlens",
            .lacks = "b.npy --as cu_seqlens",
            .arrays = {{"a", i32({0, 6, 4, 9})}, {"b", i32({0, 4, 6, 9})}}};
  }
  static bool holds(const Claimed& claim) {
    return claim.any_row(DocumentForm::kCuSeqlens, [&](const Row& row, Index i, std::int32_t) {
      return i > 0 && row_at(row, i) < row_at(row, i - 1);
    });
  }
};

template <>
struct Claim<FindingId::kCuTotal> {
  static Example example() {
    return {.has = "a.npy --as cu_seqlens --shape 1+1+12+12",
            .lacks = "a.npy --as cu_seqlens --shape 1+1+9+9",
            .arrays = {{"a", i32({0, 3, 9})}}};
  }
  static bool holds(const Claimed& claim) {
    return claim.any_row(DocumentForm::kCuSeqlens, [&](const Row& row, Index, std::int32_t) {
      return !claim.result.mask || row.back() != claim.result.mask->queries() ||
             (claim.given.own_tokens && row.back() != *claim.given.own_tokens);
    });
  }
};

template <>
struct Claim<FindingId::kCuDtype> {
  static Example example() {
    return {.has = "a.npy --as cu_seqlens",
            .lacks = "b.npy --as cu_seqlens",
            .arrays = {{"a", astype(i32({0, 3, 9}), DType::kInt64)}, {"b", i32({0, 3, 9})}},
            .nowhere = true};
  }
  static CheckedMask question() {
    return {.start = {}, .own_documents = ends(astype(i32({0, 3, 9}), DType::kInt64))};
  }
  static bool holds(const Claimed& claim) {
    for (const DocumentSource* cu : claim.arrays(DocumentForm::kCuSeqlens)) {
      if (cu->q.dtype() != DType::kInt32) return true;
    }
    return false;
  }
};

template <>
struct Claim<FindingId::kCuEmptyDocument> {
  static Example example() {
    return {.has = "a.npy --as cu_seqlens",
            .lacks = "b.npy --as cu_seqlens",
            .arrays = {{"a", i32({0, 3, 3, 9})}, {"b", i32({0, 3, 4, 9})}}};
  }
  static bool holds(const Claimed& claim) {
    return claim.any_row(DocumentForm::kCuSeqlens, [&](const Row& row, Index i, std::int32_t) {
      return i > 0 && row_at(row, i) == row_at(row, i - 1);
    });
  }
};

template <>
struct Claim<FindingId::kSegmentsReturn> {
  static Example example() {
    return {
        .has = "a.npy --as segments",
        .lacks = "b.npy --as segments",
        .arrays = {{"a", i32({1, 6}, {0, 0, 1, 1, 0, 0})}, {"b", i32({1, 6}, {0, 0, 1, 1, 2, 2})}}};
  }
  static bool holds(const Claimed& claim) {
    return claim.any_row(DocumentForm::kSegments, [&](const Row& row, Index i, std::int32_t pad) {
      bool before = false, between = false;
      for (Index j = 0; j < i; ++j) {
        if (row_at(row, j) == row_at(row, i))
          before = true;
        else if (before)
          between = true;
      }
      return row_at(row, i) != pad && before && between && row_at(row, i - 1) != row_at(row, i);
    });
  }
};

template <>
struct Claim<FindingId::kSegmentsZeroTail> {
  static Example example() {
    return {.has = "a.npy --as segments",
            .lacks = "a.npy --as segments --pad-id 0",
            .arrays = {{"a", i32({1, 6}, {1, 1, 2, 2, 0, 0})}}};
  }
  static bool holds(const Claimed& claim) {
    return claim.any_row(DocumentForm::kSegments, [&](const Row& row, Index i, std::int32_t pad) {
      for (Index j = 0; j < std::ssize(row); ++j) {
        if (j < i ? row_at(row, j) <= 0 : row_at(row, j) != 0) return false;
      }
      return pad != 0 && i > 0;
    });
  }
};

template <>
struct Claim<FindingId::kPositionsOffset> {
  static Example example() {
    return {
        .has = "a.npy --as positions",
        .lacks = "b.npy --as positions",
        .arrays = {{"a", i32({1, 6}, {3, 4, 5, 0, 1, 2})}, {"b", i32({1, 6}, {0, 1, 2, 0, 1, 2})}}};
  }
  static bool holds(const Claimed& claim) {
    return claim.any_row(DocumentForm::kPositions, [&](const Row& row, Index i, std::int32_t) {
      for (Index j = 0; j < i; ++j) {  // before it are negative positions, or equal ones
        if (row_at(row, j) >= 0 && row_at(row, j) != row_at(row, 0)) return false;
      }
      return row_at(row, i) > 0;
    });
  }
};

template <>
struct Claim<FindingId::kPositionsStart> {
  static Example example() {
    return {.has = "a.npy --as positions",
            .lacks = "b.npy --as positions",
            .arrays = {{"a", i32({1, 6}, {0, 1, 2, -1, 3, 4})},
                       {"b", i32({1, 6}, {0, 1, 2, -1, 0, 1})}}};
  }
  static bool holds(const Claimed& claim) {
    return claim.any_row(DocumentForm::kPositions, [&](const Row& row, Index i, std::int32_t) {
      return i > 0 && row_at(row, i) > 0 &&
             (row_at(row, i - 1) < 0 || row_at(row, i) < row_at(row, i - 1));
    });
  }
};

template <>
struct Claim<FindingId::kPositionsJump> {
  static Example example() {
    return {
        .has = "a.npy --as positions",
        .lacks = "b.npy --as positions",
        .arrays = {{"a", i32({1, 6}, {0, 1, 5, 6, 6, 7})}, {"b", i32({1, 6}, {0, 1, 2, 3, 4, 5})}}};
  }
  static bool holds(const Claimed& claim) {
    return claim.any_row(DocumentForm::kPositions, [&](const Row& row, Index i, std::int32_t) {
      return i > 0 && row_at(row, i) > 0 && row_at(row, i) >= row_at(row, i - 1) &&
             row_at(row, i) != row_at(row, i - 1) + 1;
    });
  }
};

template <>
struct Claim<FindingId::kNoncanonicalBool> {
  static Example example() {
    return {.has = "a.npy",
            .lacks = "b.npy",
            .arrays = {{"a", with_odd_byte(causal(6))}, {"b", causal(6)}},
            .nowhere = true};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    return finding.count > 0 && finding.count == claim.given.reading.odd_bools;
  }
};

template <>
struct Claim<FindingId::kBiasMixed> {
  static Example example() {
    return {.has = "a.npy --as bias",
            .lacks = "b.npy --as bias",
            .arrays = {{"a", causal_bias(std::numeric_limits<float>::lowest())},
                       {"b", causal_bias(-std::numeric_limits<float>::infinity())}},
            .nowhere = true};
  }
  static bool holds(const Claimed& claim) {
    return claim.given.reading.inf_closed && claim.given.reading.min_closed;
  }
};

template <>
struct Claim<FindingId::kListRepeats> {
  static Example example() {
    return {.has = "a.npy --as index-lists",
            .lacks = "b.npy --as index-lists",
            .arrays = {{"a", i32({3, 2}, {0, -1, 1, 1, 0, 2})},
                       {"b", i32({3, 2}, {0, -1, 0, 1, 0, 2})}}};
  }
  static CheckedMask question() { return listed(i32({3, 2}, {0, -1, 1, 1, 0, 2})); }
  static bool holds(const Claimed& claim) { return is_noticed(claim, ArrayFact::kListRepeats); }
};

template <>
struct Claim<FindingId::kListGaps> {
  static Example example() {
    return {.has = "a.npy --as index-lists",
            .lacks = "b.npy --as index-lists",
            .arrays = {{"a", i32({3, 2}, {0, -1, -1, 1, 0, 2})},
                       {"b", i32({3, 2}, {0, -1, 0, 1, 0, 2})}}};
  }
  static CheckedMask question() { return listed(i32({3, 2}, {0, -1, -1, 1, 0, 2})); }
  static bool holds(const Claimed& claim) { return is_noticed(claim, ArrayFact::kListGaps); }
};

template <>
struct Claim<FindingId::kListOrder> {
  static Example example() {
    return {.has = "a.npy --as index-lists",
            .lacks = "b.npy --as index-lists",
            .arrays = {{"a", i32({3, 2}, {0, -1, 1, 0, 0, 2})},
                       {"b", i32({3, 2}, {0, -1, 0, 1, 0, 2})}}};
  }
  static CheckedMask question() { return listed(i32({3, 2}, {0, -1, 1, 0, 0, 2})); }
  static bool holds(const Claimed& claim) { return is_noticed(claim, ArrayFact::kListOrder); }
};

template <>
struct Claim<FindingId::kSlicesOverlap> {
  static Example example() {
    return {.has = "a.npz",
            .lacks = "b.npz",
            .arrays = {{"a.npz:q_ranges", i32({2, 2}, {0, 4, 2, 4})},
                       {"a.npz:k_ranges", i32({2, 2}, {0, 4, 2, 4})},
                       {"b.npz:q_ranges", i32({2, 2}, {0, 2, 2, 4})},
                       {"b.npz:k_ranges", i32({2, 2}, {0, 4, 2, 4})}}};
  }
  static CheckedMask question() {
    CheckedMask out;
    const SliceArrays slices{i32({2, 2}, {0, 4, 2, 4}), i32({2, 2}, {0, 4, 2, 4}), {}};
    out.start = mask_from_slices(slices, {}, {}, 1 << 20, out.reading.arrays);
    return out;
  }
  static bool holds(const Claimed& claim) { return is_noticed(claim, ArrayFact::kSlicesOverlap); }
};

}  // namespace maskctl::test
