// The JSON forms of why and translate.
#pragma once

#include <string>
#include <vector>

#include "maskctl/inspect/translate.h"
#include "maskctl/inspect/why.h"

namespace maskctl::app {

/// {"schema": "maskctl.why/1", ...}, ended by a line feed.
std::string why_json(const std::string& source, const Why& why);

/// One mask and what to write for it in each library. `layers`: those of a model, else empty.
struct TranslateReport {
  std::string layers;
  std::string pipeline;
  std::string meaning;
  std::vector<Translation> translations;
};
/// {"schema": "maskctl.translate/1", ...}
std::string translate_json(const std::vector<TranslateReport>& reports);

}  // namespace maskctl::app
