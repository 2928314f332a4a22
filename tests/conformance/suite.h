// One suite of golden data: its manifest and its arrays.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/value.h"
#include "maskctl/io/formats/npz/npz.h"

namespace conformance {

/// "x" -> the array of a case's input x.
using Inputs = std::map<std::string, std::string>;

struct Step {
  std::string op;
  Value args;  // dict
};

struct Case {
  std::string id;
  Inputs inputs;
  std::vector<Step> chain;
  Value::Dict expected;
};

class Suite {
 public:
  /// Reads `manifest` and the .npz that it names. Throws Mismatch or maskctl::Error.
  explicit Suite(const std::string& manifest);

  const std::string& name() const { return name_; }
  const std::vector<Case>& cases() const { return cases_; }
  /// Arrays marked as bits of bfloat16 are bfloat16. Throws Mismatch when the array is not what the
  /// manifest declares.
  maskctl::Tensor array(const std::string& key) const;

 private:
  Suite(const std::string& manifest, const Value& content);

  std::string name_;
  std::map<std::string, Value> arrays_;  // as the manifest declares them
  std::vector<Case> cases_;
  maskctl::NpzArchive archive_;
};

}  // namespace conformance
