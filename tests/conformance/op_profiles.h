// A table of how cases of each operation of the golden data are called in this library; it has no
// rule for a single case.
#pragma once

#include <map>
#include <set>
#include <string>

namespace conformance {

struct OpProfile {
  std::string function;  // the operation's name in operations()
  /// Names in the parameters of a case that are not arguments of the operation, besides those that
  /// end with _effective.
  std::set<std::string> notes = {};
  /// Options added to every case, where ejkernel's behaviour is not our default.
  std::map<std::string, std::string> fixed = {};
  /// Our names for values that the golden data names differently.
  std::map<std::string, std::string> values = {};

  bool is_argument(const std::string& parameter) const;
};

/// The profile of an operation, by the manifest's name. Throws Mismatch for an unknown one.
const OpProfile& op_profile(const std::string& op);

}  // namespace conformance
