// What is known of a mask beside its cells; of all drawings only pages show it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/mask/mask.h"

namespace maskctl {

/// One finding, and where it leads. Indices that do not apply are absent.
struct PageFinding {
  std::string severity, id, message;  // any bytes
  std::optional<Index> batch = {}, head = {}, query = {}, key = {};
};

/// A step as text, and the cells whose state it decided: no later step changed them. Absent: not
/// known, as for steps before one that moves cells.
struct StepCells {
  std::string text;
  std::optional<Mask> cells = {};
};

struct PageNotes {
  /// All steps in order; a cell is in the cells of at most one.
  std::vector<StepCells> steps = {};
  std::optional<std::vector<PageFinding>> findings = {};  // absent: nobody looked
  std::vector<std::string> not_looked_at = {};            // what nobody looked at: "documents"
  std::vector<std::string> remarks = {};                  // sentences, such as on what is left out
};

}  // namespace maskctl
