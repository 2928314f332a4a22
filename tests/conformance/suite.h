// One suite of golden data: its manifest and its arrays.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/value.h"
#include "maskctl/io/formats/npz/npz.h"

namespace conformance {

/// The names of a case's inputs, each with the name of its array.
using Inputs = std::map<std::string, std::string>;

struct Step {
  std::string op;
  Value args;  // arguments by name, as a dict
};

struct Case {
  std::string id;
  Inputs inputs;
  std::vector<Step> chain;
  Value::Dict expected;
};

class Suite {
 public:
  /// Reads a manifest and the .npz that it names. Throws Mismatch or maskctl::Error.
  explicit Suite(const std::string& manifest);

  const std::string& name() const { return name_; }
  const std::vector<Case>& cases() const { return cases_; }
  /// Returns an array of the .npz; one marked as bits of bfloat16 comes as bfloat16. Throws
  /// Mismatch if the array is not what the manifest declares.
  maskctl::Tensor array(const std::string& key) const;

 private:
  Suite(const std::string& manifest, const Value& content);

  std::string name_;
  std::map<std::string, Value> arrays_;  // dtype and shape in the manifest
  std::vector<Case> cases_;
  maskctl::NpzArchive archive_;
};

}  // namespace conformance
