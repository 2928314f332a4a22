// The results of the command kit, and their output formats.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/reports/json_value.h"
#include "maskctl/kit/baseline.h"
#include "maskctl/kit/judge.h"

namespace maskctl::app {

/// A case that was chosen: a rule, and the number of its case from 0.
struct KitChoice {
  const kit::Rule* rule = nullptr;
  std::size_t number = 0;

  std::string id() const { return kit::case_id(*rule, number); }
};

/// The verdicts of an earlier run, by the ids of its cases.
struct KitBaseline {
  std::string file;
  std::map<std::string, kit::CaseVerdict, std::less<>> cases;
  std::vector<std::string> notes = {};  // why it may not be what is wanted
};

struct JudgedCase {
  std::string id;  // "causal.square-1"
  const kit::Rule* rule = nullptr;
  const kit::Case* source = nullptr;
  kit::CaseVerdict verdict;
  double seconds = 0;  // in which it was run, if it was, and judged
};

struct KitReport {
  std::string library;  // who was asked, as the user names it
  DType dtype = DType::kFloat32;
  std::vector<JudgedCase> cases;  // in the order of the rules
  std::optional<KitBaseline> baseline;
  double seconds = 0;

  Index count(kit::Outcome outcome) const;
  /// The verdict on a case in the baseline, if it has one.
  std::optional<kit::CaseVerdict> before(const JudgedCase& one) const;
  /// Without a baseline every case should have obeyed before.
  kit::Change change(const JudgedCase& one) const;
  Index count(kit::Change change) const;
  /// 0: every case obeys, or is as before or better where there is a baseline. 2: the others are
  /// undecided. 1: any other.
  int status() const;
};

std::string kit_text(const KitReport& report);
Json kit_json(const KitReport& report);
std::string kit_junit(const KitReport& report);

/// The rules of some cases, with their sentences and how many cases each has.
std::string kit_rules_text(std::span<const KitChoice> cases);
/// A case in a manifest: its rule, its call and the tolerance of its dtype.
Json kit_case_json(const kit::MadeCase& made);
/// A manifest without its "cases".
Json kit_manifest_json(DType dtype);

}  // namespace maskctl::app
