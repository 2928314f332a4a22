// Says when findings about steps are true.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/claims/claim.h"
#include "inspect/claims/predicates.h"

namespace maskctl::test {

template <>
struct Claim<FindingId::kStepNoOp> {
  static Example example() {
    return {.has = "gen:causal:n=6 -t causal", .lacks = "gen:causal:n=6 -t window:keys=3"};
  }
  static bool holds(const Claimed& claim) {
    const twin::Dense before = claim.before(claim.step()), after = claim.after(claim.step());
    return twin::zip(Op::kXor, before, after) ==
           twin::Dense(after.b, after.h, after.q, after.k, false);
  }
};

template <>
struct Claim<FindingId::kStepReopens> {
  static Example example() {
    return {.has = "gen:full:n=6 -t 'doc:ids.npy | tokens:types.npy'",
            .lacks = "gen:full:n=6 -t 'tokens:types.npy | doc:ids.npy'",
            .arrays = {{"ids", i32({1, 6}, {0, 0, 1, 1, -1, -1})},
                       {"types", i32({1, 6}, {0, 1, 1, 0, 0, 1})}}};
  }
  static bool holds(const Claimed& claim) {
    const Finding& finding = claim.finding;
    return reopened(claim) == finding.count;
  }
};

template <>
struct Claim<FindingId::kStepReopensOrder> {
  static Example example() {
    return {.has = "gen:causal:n=8 -t 'window:keys=2 | sinks:n=2'",
            .lacks = "gen:causal:n=8 -t 'sinks:n=2 | window:keys=2'"};
  }
  static bool holds(const Claimed& claim) { return Claim<FindingId::kStepReopens>::holds(claim); }
};

template <>
struct Claim<FindingId::kWindowZero> {
  static Example example() {
    return {.has = "gen:causal:n=12 -t window:both=0", .lacks = "gen:causal:n=12 -t window:both=1"};
  }
  static CheckedMask question() {
    CheckedMask out;
    out.start = full_mask(1, 1, 4, 4);
    out.chain = {Step(step::Window(Index{0}, Index{0}))};
    return out;
  }
  static bool holds(const Claimed& claim) {
    const twin::Dense shape = claim.before(claim.step());
    const twin::Dense seen =
        twin::run_step(twin::Dense(shape.b, shape.h, shape.q, shape.k, true),
                       claim.given.chain[static_cast<std::size_t>(claim.step() - 1)]);
    for (Index b = 0; b < seen.b; ++b)
      for (Index h = 0; h < seen.h; ++h)
        for (Index q = 0; q < seen.q; ++q) {
          Index keys = 0;
          for (Index k = 0; k < seen.k; ++k) keys += seen.get(b, h, q, k);
          if (keys > 1) return false;
        }
    return true;
  }
};

}  // namespace maskctl::test
