// Documents as pairs of ranges, for the step that applies a chain inside each document.
#pragma once

#include <vector>

#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The queries and the keys of one document; either may be empty.
struct DocumentRanges {
  Range q, k;
};
/// The documents of batch b in the order of their queries. Throws Error(kInvalidArgument) for
/// lengths that reach past the mask and for ids that recur after another id.
std::vector<DocumentRanges> document_ranges(const step::Within& rule, const Mask& mask, Index b);
/// True when all batches have the same documents.
bool shares_documents(const step::Within& rule);

}  // namespace maskctl
