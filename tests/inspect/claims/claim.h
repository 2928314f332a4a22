// For each finding: a predicate that says whether it is true, and calls of check that provoke it or
// just miss it.
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
  std::map<std::string, Tensor> arrays = {};  // the files that both read, without .npy, or FILE:KEY
  bool nowhere = false;  // whether the finding is about a whole array or mask, and names no place
};

/// A specialization for each finding has `Example example()` and `bool holds(const Claimed&)`,
/// which says whether the finding is true. It reads plain cells, ids and numbers, and shares no
/// code with check. If the questions that claims_test.cc draws do not have the finding,
/// `CheckedMask question()` returns one that has. Without a specialization the tests do not
/// compile.
template <FindingId>
struct Claim;

// Arrays for examples.

/// Makes a bool array [tokens,tokens], or reshapes it to `shape`, which must have as many elements.
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
