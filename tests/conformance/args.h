// The arguments of one step of a case, as Python passes them.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "conformance/suite.h"
#include "maskctl/ejkernel/mask_info/mask_info.h"
#include "maskctl/ejkernel/mask_info/sharding.h"

namespace conformance {

/// Reads arguments by name. An absent argument has the default that the caller gives; null is None.
/// Bad arguments throw Mismatch, but None where Python needs a number throws a TypeError, as Python
/// does.
class Args {
 public:
  Args(const Suite& suite, const Inputs& inputs, const Value& args)
      : suite_(suite), inputs_(inputs), args_(args) {}

  /// Whether the argument was passed, even as None.
  bool has(const std::string& name);
  /// Whether the argument was passed and is not None.
  bool given(const std::string& name);
  /// The argument; throws if it was not passed.
  const Value& value(const std::string& name);
  /// Throws Mismatch if an argument was passed that nothing has read.
  void check_all_used() const;

  maskctl::Index integer(const std::string& name);
  maskctl::Index integer(const std::string& name, maskctl::Index absent);
  std::optional<maskctl::Index> optional_integer(const std::string& name);
  std::vector<maskctl::Index> integers(const std::string& name);
  double number(const std::string& name, double absent);
  bool flag(const std::string& name, bool absent = false);
  /// The text of an argument; that of None is "None", as Python prints it.
  std::string text(const std::string& name, const std::string& absent);
  maskctl::DType dtype(const std::string& name, maskctl::DType absent);

  /// Returns an input array, or what jnp.asarray makes of a number or a tuple of numbers.
  maskctl::Tensor tensor(const std::string& name);
  /// Returns an input array; no value when the argument is absent or None.
  maskctl::Array array(const std::string& name);
  std::optional<maskctl::MaskArray> mask_array(const std::string& name);
  /// Reads a tuple of two arrays, or one array that stands for both sides.
  maskctl::QkvArrays one_or_pair(const std::string& name);
  maskctl::PerBatch per_batch(const std::string& name);
  maskctl::AxisName axis_name(const std::string& name, const maskctl::AxisName& absent);
  maskctl::Mesh mesh(const std::string& name);
  maskctl::PartitionSpec partition_spec(const std::string& name);
  /// Returns the array that {"in": NAME} names, or makes one of a number or tuple.
  maskctl::Tensor tensor_of(const Value& value) const;

 private:
  const Suite& suite_;
  const Inputs& inputs_;
  const Value& args_;
  std::set<std::string> used_;
};

/// Converts an axis, which is null, a name or a list of names, from and to a value of a manifest.
maskctl::AxisName axis_name_of(const Value& value);
Value value_of(const maskctl::AxisName& name);
Value value_of(const maskctl::PartitionSpec& spec);

}  // namespace conformance
