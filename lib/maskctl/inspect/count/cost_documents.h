// Whether segment ids or cumulative lengths hold a mask, alone or together with causal, and how
// large they are.
#pragma once

#include <optional>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// Private to the inspect layer.
struct DocumentForms {
  std::optional<Index> segments, cu_seqlens;  // bytes of int32 arrays; null: cannot hold it
  bool with_causal = false;                   // only together with causal (top-left)
};

/// Exact: a form that fits reproduces every cell. One array if it serves both sides.
DocumentForms document_forms(const Mask& mask);

}  // namespace maskctl
