// The results of the command kit, and their output formats.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/reports/json_value.h"
#include "maskctl/kit/judge.h"

namespace maskctl::app {

struct JudgedCase {
  std::string id;  // "causal.square-1"
  const kit::Rule* rule = nullptr;
  const kit::Case* source = nullptr;
  kit::CaseVerdict verdict;
};

struct KitReport {
  std::string library;  // who was asked, as the user names it
  DType dtype = DType::kFloat32;
  std::vector<JudgedCase> cases;  // in the order of the rules
  double seconds = 0;

  Index count(kit::Outcome outcome) const;
  /// 0: every case obeys. 1: a case does not, or was skipped. 2: all do but some are undecided.
  int status() const;
};

std::string kit_text(const KitReport& report);
Json kit_json(const KitReport& report);
std::string kit_junit(const KitReport& report);

/// Rules with their sentences and how many cases each has.
std::string kit_rules_text(std::span<const kit::Rule* const> rules);
/// A case in a manifest: its rule, its call and the tolerance of its dtype.
Json kit_case_json(const kit::MadeCase& made);
/// A manifest without its "cases".
Json kit_manifest_json(DType dtype);

}  // namespace maskctl::app
