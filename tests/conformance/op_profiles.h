// How the cases of each operation are called here: one table, never a rule for a single case.
#pragma once

#include <map>
#include <set>
#include <string>

namespace conformance {

struct OpProfile {
  std::string function;  // its name in operations()
  /// Parameters that describe a case and are no argument, beside those named *_effective.
  std::set<std::string> notes = {};
  /// Options that every case has: where the golden data settles what the library leaves open.
  std::map<std::string, std::string> fixed = {};
  /// Values that are called otherwise here.
  std::map<std::string, std::string> values = {};

  bool is_argument(const std::string& parameter) const;
};

/// By the name of the manifest's operation. Throws Mismatch for an unknown one.
const OpProfile& op_profile(const std::string& op);

}  // namespace conformance
