// What a test has of each finding: when it is true, and calls of check with it and without it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "inspect/claims/claimed.h"
#include "maskctl/inspect/check/finding.h"
#include "support/tensors.h"

namespace maskctl::test {

/// Arguments of `maskctl check`.
struct Example {
  std::string has;                            // with these it says the finding
  std::string lacks;                          // with these, the nearest to them, it does not
  std::map<std::string, Tensor> arrays = {};  // the files that both read, without .npy
  bool nowhere = false;  // whether the finding is about a whole array or mask, and names no place
};

/// Of each finding: `Example example()`, and `bool holds(const Claimed&)`, whether it is true, a
/// predicate over plain cells, ids and numbers, which shares no code with what it judges. Where the
/// questions that claims_test.cc draws do not have it, `CheckedMask question()` is one that has.
/// The tests do not compile without the claim of a finding.
template <FindingId>
struct Claim;

// Arrays for examples.

/// An array [tokens,tokens] of bool, or of the shape given, which has as many elements.
inline Tensor bools(Index tokens, const std::function<bool(Index q, Index k)>& open,
                    std::vector<Index> shape = {}) {
  if (shape.empty()) shape = {tokens, tokens};
  Tensor out(DType::kBool, std::move(shape));
  const auto bytes = out.as<std::uint8_t>();
  for (Index q = 0; q < tokens; ++q)
    for (Index k = 0; k < tokens; ++k) bytes[static_cast<std::size_t>(q * tokens + k)] = open(q, k);
  return out;
}
inline Tensor causal(Index tokens, std::vector<Index> shape = {}) {
  return bools(
      tokens, [](Index q, Index k) { return k <= q; }, std::move(shape));
}

}  // namespace maskctl::test
