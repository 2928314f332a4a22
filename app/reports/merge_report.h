// The result of `verify-merge`, and its output formats.
#pragma once

#include <string>

#include "app/reports/json_value.h"
#include "maskctl/verify/merge_verdict.h"

namespace maskctl::app {

struct MergeReport {
  Index parts = 0;
  bool base_2 = false;  // what the lse were taken to be
  attention::MergeJudgement judgement;
};

std::string merge_text(const MergeReport& report);
Json merge_json(const MergeReport& report);

}  // namespace maskctl::app
