// Which rows of results these are, in words; private to verify.
#pragma once

#include <string>
#include <vector>

#include "maskctl/verify/residuals.h"

namespace maskctl::attention {

/// The batches, heads and queries of the rows, as in "heads 0-3, queries 5-9"; rows of gradients
/// are rows.
std::string where_text(const Residuals& residuals, const std::vector<Index>& rows);

}  // namespace maskctl::attention
