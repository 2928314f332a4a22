// Whether segment ids or cumulative lengths hold a mask, alone or beside causal, and how large they
// are.
#pragma once

#include <optional>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// Private to the inspect layer.
struct DocumentForms {
  std::optional<Index> segments, cu_seqlens;  // bytes of int32 arrays; nothing: they cannot hold it
  bool with_causal = false;                   // they hold it together with causal, top-left
};

/// Exact: what fits reproduces every cell. One array where one serves both sides.
DocumentForms document_forms(const Mask& mask);

}  // namespace maskctl
