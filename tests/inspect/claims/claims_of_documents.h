// Says when findings are true that compare a mask with documents or with a bias.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/claims/claim.h"
#include "inspect/claims/predicates.h"

namespace maskctl::test {

template <>
struct Claim<FindingId::kBiasAndMask> {
  static Example example() {
    return {.has = "a.npy --as dense --bias b.npy",
            .lacks = "a.npy --as dense",
            .arrays = {{"a", causal(6)}, {"b", Tensor(DType::kFloat32, {6, 6})}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    const PlainCells& cells = claim.cells;
    const PlainCells bias(*claim.given.bias);
    Index lost = 0;
    for (Index b = 0; b < std::max(cells.batch(), bias.batch()); ++b)
      for (Index h = 0; h < std::max(cells.heads(), bias.heads()); ++h)
        for (Index q = 0; q < cells.queries(); ++q)
          for (Index k = 0; k < cells.keys(); ++k)
            lost += bias.open(b, h, q, k) && !cells.open(b, h, q, k);
    return lost == finding.count;
  }
};

template <>
struct Claim<FindingId::kDocumentLeak> {
  static Example example() {
    return {.has = "gen:causal:n=6 --segments ids.npy",
            .lacks = "gen:causal:n=6 -t doc:ids.npy --segments ids.npy",
            .arrays = {{"ids", i32({1, 6}, {0, 0, 1, 1, 2, 2})}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    return claim.cells_with([](auto q, auto k) { return q && k && *q != *k; }) == finding.count;
  }
};

template <>
struct Claim<FindingId::kPaddingAttended> {
  static Example example() {
    return {.has = "gen:full:n=6 --segments ids.npy",
            .lacks = "gen:full:n=6 -t doc:ids.npy --segments ids.npy",
            .arrays = {{"ids", i32({1, 6}, {0, 0, 1, 1, -1, -1})}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    return claim.cells_with([](auto q, auto k) { return q && !k; }) == finding.count;
  }
};

template <>
struct Claim<FindingId::kPaddingRowsOpen> {
  static Example example() {
    return {.has = "gen:causal:n=6 --segments ids.npy",
            .lacks = "gen:causal:n=6 -t doc:ids.npy --segments ids.npy",
            .arrays = {{"ids", i32({1, 6}, {0, 0, 1, 1, -1, -1})}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    return claim.cells_with([](auto q, auto) { return !q; }) == finding.count;
  }
};

template <>
struct Claim<FindingId::kRowsOnlyPadding> {
  static Example example() {
    return {
        .has = "a.npy --as dense --segments ids.npy",
        .lacks = "gen:causal:n=6 --segments ids.npy",
        .arrays = {{"a", bools(6, [](Index q, Index k) { return q / 2 == 1 ? k == 4 : k <= q; })},
                   {"ids", i32({1, 6}, {0, 0, 1, 1, -1, -1})}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    return rows_of_padding_keys(claim) == finding.count;
  }
};

}  // namespace maskctl::test
