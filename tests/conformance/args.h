// The arguments of one step, as Python passes them.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "conformance/suite.h"
#include "maskctl/ejkernel/mask_info/mask_info.h"
#include "maskctl/ejkernel/mask_info/sharding.h"

namespace conformance {

/// Reads arguments by name; an absent one has the default of the caller, null is None. Bad ones
/// throw Mismatch; None where Python needs a number is a TypeError, as there.
class Args {
 public:
  Args(const Suite& suite, const Inputs& inputs, const Value& args)
      : suite_(suite), inputs_(inputs), args_(args) {}

  /// Passed, be it as None.
  bool has(const std::string& name);
  /// Passed and not None.
  bool given(const std::string& name);
  /// Throws when it was not passed.
  const Value& value(const std::string& name);
  /// Throws Mismatch for arguments that nothing has read.
  void check_all_used() const;

  maskctl::Index integer(const std::string& name);
  maskctl::Index integer(const std::string& name, maskctl::Index absent);
  std::optional<maskctl::Index> optional_integer(const std::string& name);
  std::vector<maskctl::Index> integers(const std::string& name);
  double number(const std::string& name, double absent);
  bool flag(const std::string& name, bool absent = false);
  /// None is "None", as a message prints it.
  std::string text(const std::string& name, const std::string& absent);
  maskctl::DType dtype(const std::string& name, maskctl::DType absent);

  /// An input array, or a number or tuple of numbers as jnp.asarray makes it.
  maskctl::Tensor tensor(const std::string& name);
  /// None when absent.
  maskctl::Array array(const std::string& name);
  std::optional<maskctl::MaskArray> mask_array(const std::string& name);
  /// One array, or a tuple of two (one of them stands for both sides).
  maskctl::QkvArrays one_or_pair(const std::string& name);
  maskctl::PerBatch per_batch(const std::string& name);
  maskctl::AxisName axis_name(const std::string& name, const maskctl::AxisName& absent);
  maskctl::Mesh mesh(const std::string& name);
  maskctl::PartitionSpec partition_spec(const std::string& name);
  /// The array of {"in": ...} anywhere inside an argument, else a number or tuple.
  maskctl::Tensor tensor_of(const Value& value) const;

 private:
  const Suite& suite_;
  const Inputs& inputs_;
  const Value& args_;
  std::set<std::string> used_;
};

/// Null, a name or a list of names, and back.
maskctl::AxisName axis_name_of(const Value& value);
Value value_of(const maskctl::AxisName& name);
Value value_of(const maskctl::PartitionSpec& spec);

}  // namespace conformance
