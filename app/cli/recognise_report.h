// What recognise found out, and its JSON form.
#pragma once

#include <string>
#include <vector>

#include "maskctl/inspect/diff.h"
#include "maskctl/inspect/recognise.h"
#include "maskctl/mask/mask.h"

namespace maskctl::app {

struct RecogniseReport {
  std::string source;
  Mask mask;
  Index open = 0;
  Recognised found;
  std::string pipeline;             // empty: no step
  std::vector<std::string> arrays;  // SOURCEs that the pipeline reads
  bool written = false;             // they are in files
  MaskDiff differs;                 // of the mask (a) and what the pipeline gives (b)
};

/// {"schema": "maskctl.recognise/1", ...}, ended by a line feed.
std::string recognise_json(const RecogniseReport& report);

}  // namespace maskctl::app
