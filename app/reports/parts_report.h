// The result of `parts`, and its output formats.
#pragma once

#include <span>
#include <string>

#include "app/reports/json_value.h"
#include "maskctl/inspect/parts/parts.h"

namespace maskctl::app {

/// `once`: each pair belongs to one part; rollouts share theirs.
std::string parts_text(const Mask& mask, std::span<const ComputedPart> parts,
                       const PartsVerdict& verdict, bool once);
/// {"schema": "maskctl.parts/1", ...}
Json parts_json(const std::string& source, const Mask& mask, std::span<const ComputedPart> parts,
                const PartsVerdict& verdict, bool once);

}  // namespace maskctl::app
