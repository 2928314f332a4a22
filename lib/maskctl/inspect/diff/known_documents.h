// The chain of a plane that is known to be documents followed by some steps; private to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/documents.h"
#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// Documents of one batch, as lengths where they follow each other from token 0 on and the plane is
/// square, then the steps. Nothing if these do not make the plane exactly, or have other numbers
/// for each batch.
std::optional<Chain> documents_chain(const Documents& documents, Index batch, const Chain& steps,
                                     const PlanePtr& plane);
/// The same where both may be unknown.
std::optional<Chain> documents_chain(const std::optional<Documents>& documents,
                                     const std::optional<Chain>& steps, Index batch,
                                     const PlanePtr& plane);

}  // namespace maskctl
