// The result of recognise, and its JSON form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/reports/documents_report.h"
#include "app/reports/json_value.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/mask.h"

namespace maskctl::app {

struct RecogniseReport {
  std::string source;
  Mask mask;
  Index open = 0;
  Recognised found;
  std::string pipeline;             // empty: no steps, all cells open
  std::vector<std::string> arrays;  // SOURCEs that the pipeline reads
  bool written = false;             // the arrays were written to a file
  std::vector<std::string> forms;   // what it is, if no pipeline says it
  std::optional<Leaks> leaks;       // leaks between documents that the user gave
  MaskDiff differs;                 // compares the mask (a) with the result of the pipeline (b)
};

/// {"schema": "maskctl.recognise/1", ...} and a newline.
Json recognise_json(const RecogniseReport& report);

}  // namespace maskctl::app
