// The chains found for planes, so that several questions about masks of the same planes search each
// once; private to inspect.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/recognise/sharing.h"

namespace maskctl {
namespace recognition {

class Candidates;

/// What recognise() found for planes, always with the same options but for `guess`.
struct KnownPlanes {
  struct Known {
    std::shared_ptr<Candidates> plain;  // found without guesses, from which a search goes on
    std::optional<PlaneChain> chain, guessed;
  };
  std::map<PlanePtr, PlanePtr> searched;  // by the plane of a mask: the form that is searched
  std::map<PlanePtr, Known> found;        // by that form
};

}  // namespace recognition

/// recognise() with what is known of the planes of the mask; adds what it finds.
Recognised recognise(const Mask& mask, const RecogniseOptions& options,
                     recognition::KnownPlanes& known);

}  // namespace maskctl
