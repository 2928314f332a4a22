// A call whose arguments are bound by name. Only for code that calls operations by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/attention/calls/effects.h"
#include "maskctl/attention/calls/named_arguments.h"

namespace maskctl::attention {

inline constexpr std::string_view kCotangent = "cotangent_";

/// Whether the operation has a backward pass that takes a gradient with respect to this output.
bool takes_cotangent(const Operation& operation, std::string_view output);

[[noreturn]] void refuse_name(const Operation& operation, std::string_view name);
[[noreturn]] void refuse_missing(const Field& field);

/// The inputs and options of one call, set from named arguments. Keeps references to the operation
/// and to the arrays.
class BoundCall {
 public:
  BoundCall(const Operation& operation, const NamedArguments& arguments);

  void* get() const { return values_.get(); }
  const std::vector<const Field*>& given() const { return given_; }
  /// Throws Error(kInvalidArgument) if a required array is missing.
  void check_required() const;
  /// The given arguments that have no effect in this call. Throws Error(kInvalidArgument) if one of
  /// them has the role kStrict.
  std::vector<IdleArgument> idle(bool over_mesh) const;
  /// Moves the arrays that the operation updated in place, such as a KV cache, into `results`.
  void move_updated(NamedResults& results);

 private:
  void set(const std::string& name, const Tensor& array);
  void set_option(const std::string& name, const std::string& text);
  void set_masks(const NamedArguments& arguments);

  const Operation& operation_;
  AnyValue values_;
  std::vector<const Field*> given_;
  NamedResults updated_;
};

}  // namespace maskctl::attention
