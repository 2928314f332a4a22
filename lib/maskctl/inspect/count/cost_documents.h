// Whether segment ids or cumulative lengths can hold a mask, alone or together with causal, and how
// many bytes they take.
#pragma once

#include <optional>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// The size of arrays of document ids or cumulative lengths that hold a mask, if they can. Private
/// to the inspect layer.
struct DocumentForms {
  std::optional<Index> segments, cu_seqlens;  // bytes of int32 arrays; absent: cannot hold the mask
  bool with_causal = false;                   // they hold it only together with causal (top-left)
};

/// The forms that reproduce every cell of the mask. If one array serves queries and keys, it is
/// counted once.
DocumentForms document_forms(const Mask& mask);

}  // namespace maskctl
