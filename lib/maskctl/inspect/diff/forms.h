// Words for differences of masks that no step says; private to inspect.
#pragma once

#include "maskctl/inspect/diff/change.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"

namespace maskctl {

/// What differs, in planes of which one is of documents with rules of their own, such as "documents
/// 1, 3 causal instead of seeing all of themselves, in documents of 6+9+5+12 tokens", or one is a
/// grid whose neighbourhoods end at its borders. `recognised_b`: recognise() of B. Nothing for
/// other planes.
MaybeReason forms_reason(const PlanePtr& a, const PlanePtr& b, const Recognised& recognised_b);

/// Where masks of one query and one head differ in several batch entries, and in each the first
/// open keys of A are closed in B: how many.
MaybeReason first_keys_reason(const Mask& a, const Mask& b, const MaskDiff& found);

}  // namespace maskctl
