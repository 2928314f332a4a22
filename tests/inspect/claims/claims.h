// The claims of all findings, by their ids.
#pragma once

#include <array>
#include <utility>

#include "inspect/claims/claims_of_arrays.h"
#include "inspect/claims/claims_of_descriptions.h"
#include "inspect/claims/claims_of_documents.h"
#include "inspect/claims/claims_of_heads.h"
#include "inspect/claims/claims_of_masks.h"
#include "inspect/claims/claims_of_steps.h"
#include "inspect/claims/claims_of_tokens.h"

namespace maskctl::test {

/// The claim of a finding that is chosen at run time.
struct AnyClaim {
  Example (*example)();
  bool (*holds)(const Claimed&);
  CheckedMask (*question)() = nullptr;  // null where drawn questions have it
};

template <FindingId id>
constexpr AnyClaim any_claim() {
  AnyClaim out{Claim<id>::example, Claim<id>::holds};
  if constexpr (requires { Claim<id>::question(); }) out.question = Claim<id>::question;
  return out;
}

inline const AnyClaim& claim_of(FindingId id) {
  static constexpr auto kClaims = []<std::size_t... ids>(std::index_sequence<ids...>) {
    return std::array{any_claim<static_cast<FindingId>(ids)>()...};
  }
  (std::make_index_sequence<static_cast<std::size_t>(FindingId::kCount)>());
  return kClaims[static_cast<std::size_t>(id)];
}

/// Whether a finding is true.
inline bool holds(const Claimed& claim) { return claim_of(claim.finding.rule->key).holds(claim); }

}  // namespace maskctl::test
