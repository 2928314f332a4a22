// Words for the documents between which a cell lies; private to inspect.
#pragma once

#include <span>
#include <string>

#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/cell.h"
#include "maskctl/mask/documents.h"

namespace maskctl {

/// Says which document sees which other one at this cell, as " (document 1 sees document 2)", if
/// documents make its plane but for few cells; empty otherwise. `rules`: those known of the plane
/// in B and in A. The `listed` cells of a plane are told by one rule, as two may number documents
/// differently.
std::string crossing_words(const Cell& cell, std::span<const Cell> listed,
                           std::span<const Recognised* const> rules);
/// The same by the ids of documents that the user declared.
std::string crossing_words(const Cell& cell, const Documents& declared);

}  // namespace maskctl
