// The results of the command mutants, and their output formats.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/reports/json_value.h"
#include "maskctl/verify/mutants/mutants.h"
#include "maskctl/verify/mutants/score.h"

namespace maskctl::app {

/// A declared mask, and the kinds that its mutants cannot have.
struct MutatedMask {
  std::string source;  // with its steps, as the user wrote them
  Index seed = 0;      // of its mutants
  attention::MutantCall call;
  std::array<Index, 4> shape{};
  std::vector<attention::KindLeftOut> left_out;
};

struct MutantsReport {
  std::vector<MutatedMask> masks;
  Index made = 0, wrong = 0, right = 0, coarse = 0;
  std::uint64_t seed = 0;
  double seconds = 0;  // spent in making mutants
  std::vector<attention::RuleScore> rules;
  std::string folder;  // where the arrays are; may be empty

  /// Counts one more mutant of this group.
  void count(attention::MutantGroup group) {
    ++made;
    ++(attention::of_wrong(group) ? wrong : attention::of_right(group) ? right : coarse);
  }
};

std::string mutants_text(const MutantsReport& report);
Json mutants_json(const MutantsReport& report);

/// The truth of a mutant, for reports and for the manifest of its file.
Json truth_json(const std::string& mask, Index number, const attention::MutantTruth& truth);
/// All kinds with their groups and meanings, a line each.
std::string mutant_kinds_text();

}  // namespace maskctl::app
