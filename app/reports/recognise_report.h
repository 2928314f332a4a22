// The result of recognise, and its JSON form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/reports/documents_report.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/mask.h"

namespace maskctl::app {

struct RecogniseReport {
  std::string source;
  Mask mask;
  Index open = 0;
  Recognised found;
  std::string pipeline;             // empty if there is no step
  std::vector<std::string> arrays;  // SOURCEs that the pipeline reads
  bool written = false;             // the arrays are in files
  std::optional<Leaks> leaks;       // between documents that were given
  MaskDiff differs;                 // between the mask (a) and the pipeline's (b)
};

/// {"schema": "maskctl.recognise/1", ...}, ended by a line feed.
std::string recognise_json(const RecogniseReport& report);

}  // namespace maskctl::app
